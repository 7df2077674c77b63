import type { KubernetesListObject, KubernetesObject, V1Node, V1Pod } from "@kubernetes/client-node";
import { asMergePatch } from "../../../activities/kube/client.ts";
import { statusOf } from "../../../activities/kube/status.ts";
import { type Connection, settled } from "./kube.ts";
import { Hopeless } from "./patience.ts";
import type { MachineOrder, VirtualMachine } from "./virtual_machine.ts";

const group = "kubevirt.io";
const version = "v1";

/** The namespace in which machine-controller creates VirtualMachines. */
const machineNamespace = "kube-system";
/** API path of the VirtualMachines. */
export const ordersPath = `/apis/${group}/${version}/namespaces/${machineNamespace}/virtualmachines`;

interface VirtualMachineInstance extends KubernetesObject {
  status?: { interfaces?: { ipAddress?: string }[] };
}

/**
 * The API calls that the cloud makes under its own identity: for VirtualMachines, instances and user-data, and to clean
 * up after deleted machines.
 */
export class Hypervisor {
  readonly #connection: Connection;
  #addressesGiven = 0;
  #addressesUsed = new Set<string>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Reads which addresses are in use, so that a restarted cloud assigns none twice. */
  async reserveAddresses(): Promise<void> {
    const list: KubernetesListObject<VirtualMachineInstance> = await this.#connection.custom
      .listNamespacedCustomObject({ group, version, namespace: machineNamespace, plural: "virtualmachineinstances" });
    for (const instance of list.items) {
      const address = addressOf(instance);
      if (address !== undefined) this.#addressesUsed.add(address);
    }
  }

  /** Lists the VirtualMachines. */
  listOrders(): Promise<KubernetesListObject<VirtualMachine>> {
    return this.#connection.custom
      .listNamespacedCustomObject({ group, version, namespace: machineNamespace, plural: "virtualmachines" });
  }

  /** Creates the instance of a VirtualMachine unless it exists; a running instance keeps its address. */
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

  /**
   * Reports that the instance runs, and returns the reported address: `own` if given, else the address that the
   * instance has, else a new one.
   */
  async ensureAddress(order: MachineOrder, own?: string): Promise<string> {
    const { custom } = this.#connection;
    const instance: VirtualMachineInstance = await custom.getNamespacedCustomObject(object(order));
    const ipAddress = own ?? addressOf(instance) ?? this.#nextAddress();
    const body = { status: { phase: "Running", interfaces: [{ name: "default", ipAddress }] } };
    await custom.patchNamespacedCustomObjectStatus({ ...object(order), body }, asMergePatch);
    return ipAddress;
  }

  /**
   * Reads the user-data of a machine; callers retry, because its Secret is written shortly after the VirtualMachine.
   */
  async readUserData(order: MachineOrder): Promise<string> {
    const { userDataSecret: name, namespace } = order;
    if (name === undefined) throw new Hopeless(`Failed to boot machine "${order.name}": it has no user-data volume`);
    const secret = await this.#connection.core.readNamespacedSecret({ name, namespace });
    const data = secret.data?.["userdata"];
    if (!data) throw new Hopeless(`Failed to boot machine "${order.name}": Secret "${name}" has no user-data`);
    return Buffer.from(data, "base64").toString("utf8");
  }

  /** Returns a Node; undefined if it does not exist. */
  async readNode(name: string): Promise<V1Node | undefined> {
    try {
      return await this.#connection.core.readNode({ name });
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  /** Deletes the Node of a deleted instance; an absent Node counts as success. */
  async deleteNode(name: string): Promise<void> {
    await settled(this.#connection.core.deleteNode({ name }));
  }

  /** Deletes the instance of a VirtualMachine; an absent instance counts as success. */
  async deleteInstance(order: MachineOrder): Promise<void> {
    await settled(this.#connection.custom.deleteNamespacedCustomObject(object(order)));
  }

  /** Force-deletes the pods of a node whose machine no longer exists; returns their number. */
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

/** Deletes exactly this pod without a grace period; an absent or replaced pod counts as success. */
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
