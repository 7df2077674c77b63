import type { KubernetesListObject, KubernetesObject, V1Node, V1Pod } from "@kubernetes/client-node";
import { type Connection, mergePatch, settled, statusOf } from "./kube.ts";
import { Hopeless } from "./patience.ts";
import type { MachineOrder, VirtualMachine } from "./virtual_machine.ts";

const group = "kubevirt.io";
const version = "v1";

/** Namespace machine-controller orders its machines in. */
export const machineNamespace = "kube-system";
/** API path of the ordered machines. */
export const ordersPath = `/apis/${group}/${version}/namespaces/${machineNamespace}/virtualmachines`;

interface VirtualMachineInstance extends KubernetesObject {
  status?: { interfaces?: { ipAddress?: string }[] };
}

/** The cloud's own hands: orders, instances, user-data and what is left of dead machines, under the cloud's identity. */
export class Hypervisor {
  readonly #connection: Connection;
  #addressesGiven = 0;
  #addressesUsed = new Set<string>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Learns which addresses are taken, so that a cloud started again gives none twice. */
  async reserveAddresses(): Promise<void> {
    const list: KubernetesListObject<VirtualMachineInstance> = await this.#connection.custom
      .listNamespacedCustomObject({ group, version, namespace: machineNamespace, plural: "virtualmachineinstances" });
    for (const instance of list.items) {
      const address = addressOf(instance);
      if (address !== undefined) this.#addressesUsed.add(address);
    }
  }

  /** Lists the ordered machines. */
  listOrders(): Promise<KubernetesListObject<VirtualMachine>> {
    return this.#connection.custom
      .listNamespacedCustomObject({ group, version, namespace: machineNamespace, plural: "virtualmachines" });
  }

  /** Creates the instance of an order unless it is there; an instance that runs keeps its address. */
  async ensureInstance(order: MachineOrder): Promise<void> {
    const owner = { apiVersion: `${group}/${version}`, kind: "VirtualMachine", name: order.name, uid: order.uid };
    const body = {
      apiVersion: `${group}/${version}`,
      kind: "VirtualMachineInstance",
      metadata: { name: order.name, namespace: order.namespace, ownerReferences: [{ ...owner, controller: true }] },
      spec: order.template,
    };
    await settled(this.#connection.custom.createNamespacedCustomObject({ ...collection(order), body }), [409]);
  }

  /** Shows the instance's address to all, one made up for it where the machine has none, and reports it running. */
  async ensureAddress(order: MachineOrder, own?: string): Promise<string> {
    const { custom } = this.#connection;
    const instance: VirtualMachineInstance = await custom.getNamespacedCustomObject(object(order));
    const ipAddress = own ?? addressOf(instance) ?? this.#nextAddress();
    const body = { status: { phase: "Running", interfaces: [{ name: "default", ipAddress }] } };
    await custom.patchNamespacedCustomObjectStatus({ ...object(order), body }, mergePatch);
    return ipAddress;
  }

  /** Reads the user-data attached to the machine; it is written just after the order, so it may be late. */
  async readUserData(order: MachineOrder): Promise<string> {
    const { userDataSecret: name, namespace } = order;
    if (name === undefined) throw new Hopeless(`Cannot boot machine "${order.name}": it has no user-data volume`);
    const secret = await this.#connection.core.readNamespacedSecret({ name, namespace });
    const data = secret.data?.["userdata"];
    if (!data) throw new Hopeless(`Cannot boot machine "${order.name}": secret "${name}" holds no user-data`);
    return Buffer.from(data, "base64").toString("utf8");
  }

  /** Reads a Node; undefined when there is none. */
  async readNode(name: string): Promise<V1Node | undefined> {
    try {
      return await this.#connection.core.readNode({ name });
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  /** Removes a Node whose instance is no more; absent is success. */
  async deleteNode(name: string): Promise<void> {
    await settled(this.#connection.core.deleteNode({ name }));
  }

  /** Removes the instance; absent is success. */
  async deleteInstance(order: MachineOrder): Promise<void> {
    await settled(this.#connection.custom.deleteNamespacedCustomObject(object(order)));
  }

  /** Force-deletes what was bound to a node whose machine no longer exists. */
  async deletePods(nodeName: string): Promise<number> {
    const { core } = this.#connection;
    const pods = await core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${nodeName}` });
    for (const pod of pods.items) await deletePod(this.#connection, pod);
    return pods.items.length;
  }

  #nextAddress(): string {
    let address: string;
    do {
      const host = this.#addressesGiven++;
      address = `10.${100 + Math.floor(host / 62_500) % 100}.${Math.floor(host / 250) % 250}.${1 + host % 250}`;
    } while (this.#addressesUsed.has(address));
    return address;
  }
}

/** Deletes exactly this pod without grace; gone or replaced is success. */
export async function deletePod(connection: Connection, pod: V1Pod): Promise<void> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const body = { gracePeriodSeconds: 0, preconditions: { uid } };
  try {
    await connection.core.deleteNamespacedPod({ name, namespace, body });
  } catch (error) {
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
  }
}

function collection(order: MachineOrder): { group: string; version: string; namespace: string; plural: string } {
  return { group, version, namespace: order.namespace, plural: "virtualmachineinstances" };
}

function object(order: MachineOrder): ReturnType<typeof collection> & { name: string } {
  return { ...collection(order), name: order.name };
}

function addressOf(instance: VirtualMachineInstance): string | undefined {
  return instance.status?.interfaces?.[0]?.ipAddress;
}
