/**
 * Enforces NetworkPolicies on machines, in place of the agents of a network plugin: on each machine before its first
 * pod runs, and again after each change of policies, pods or namespaces.
 */
import type { KubernetesListObject, KubernetesObject, ListWatch, V1Namespace, V1Pod } from "@kubernetes/client-node";
import { follow } from "../../cloud/follow.ts";
import { type Connection, connectWith } from "../../cloud/kube.ts";
import { rest } from "../../cloud/patience.ts";
import type { MachineContainer } from "../machine_container.ts";
import type { ClusterView, NetworkPolicy } from "./cluster_view.ts";
import { podRules, policyChain } from "./pod_rules.ts";

const kinds = { group: "networking.k8s.io", version: "v1", plural: "networkpolicies" };

/** The policies of one cluster, enforced on attached machines. */
export class PolicyEnforcer {
  readonly #stopping = new AbortController();
  readonly #machines = new Map<MachineContainer, AttachedMachine>();
  #view = (): ClusterView => ({ pods: [], namespaces: [], policies: [] });

  private constructor(readonly connection: Connection, readonly podNetwork: string) {}

  /** Opens an enforcer; resolves when it has read the objects of the cluster. */
  static async open(kubeconfig: string, podNetwork: string): Promise<PolicyEnforcer> {
    const enforcer = new PolicyEnforcer(connectWith(kubeconfig), podNetwork);
    const { core, custom } = enforcer.connection;
    const [pods, namespaces, policies] = await Promise.all([
      enforcer.#follow<V1Pod>("/api/v1/pods", () => core.listPodForAllNamespaces()),
      enforcer.#follow<V1Namespace>("/api/v1/namespaces", () => core.listNamespace()),
      enforcer.#follow<NetworkPolicy>(
        `/apis/${kinds.group}/${kinds.version}/${kinds.plural}`,
        () => custom.listClusterCustomObject(kinds) as Promise<KubernetesListObject<NetworkPolicy>>,
      ),
    ]);
    enforcer.#view = () => ({ pods: pods.list(), namespaces: namespaces.list(), policies: policies.list() });
    return enforcer;
  }

  /** Enforces the policies for a machine's pod range from now on; throws if the machine's kernel refuses the rules. */
  async attach(machine: MachineContainer, subnet: string): Promise<void> {
    const attached = new AttachedMachine(machine, () => podRules(this.#view(), subnet));
    await attached.prepare(this.podNetwork);
    this.#machines.set(machine, attached);
    void attached.keep(this.#stopping.signal);
  }

  /** Stops enforcing policies on a machine. */
  detach(machine: MachineContainer): void {
    this.#machines.get(machine)?.leave();
    this.#machines.delete(machine);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    for (const machine of [...this.#machines.keys()]) this.detach(machine);
    await this.connection.close();
  }

  #follow<T extends KubernetesObject>(
    path: string,
    list: () => Promise<KubernetesListObject<T>>,
  ): Promise<ListWatch<T>> {
    const changed = (): void => {
      for (const machine of this.#machines.values()) machine.wake();
    };
    const { connection } = this;
    return follow<T>({ connection, path, list, changed, gone: changed, log: () => {}, signal: this.#stopping.signal });
  }
}

/** Pause before a retry if a machine did not respond, in seconds. */
const againSeconds = 1;

class AttachedMachine {
  readonly #leaving = new AbortController();
  #change = Promise.withResolvers<void>();
  #applied = "";

  constructor(readonly machine: MachineContainer, readonly rules: () => string) {}

  /** Applies the first rules, and excludes traffic between pods from NAT, because policies identify pods by address. */
  async prepare(podNetwork: string): Promise<void> {
    await this.#apply();
    const hook = (chain: string): string =>
      `iptables -w -C ${chain} -j ${policyChain} 2>&- || iptables -w -I ${chain} -j ${policyChain}`;
    const withoutNat = `POSTROUTING -s ${podNetwork} -d ${podNetwork} -j ACCEPT`;
    const unmasked = `iptables -w -t nat -C ${withoutNat} 2>&- || iptables -w -t nat -I ${withoutNat}`;
    await this.#run(["sh", "-ec", [hook("FORWARD"), hook("INPUT"), unmasked].join("\n")]);
  }

  /** Applies each change of the rules, with retries, until `stopping` aborts or `leave` is called. */
  async keep(stopping: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([stopping, this.#leaving.signal]);
    const end = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    while (!signal.aborted) {
      const change = this.#change.promise;
      const isDone = await this.#apply().then(() => true, () => false);
      await (isDone ? Promise.race([change, end]) : rest(againSeconds, signal));
    }
  }

  wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }

  leave(): void {
    this.#leaving.abort();
  }

  async #apply(): Promise<void> {
    const rules = this.rules();
    if (rules === this.#applied) return;
    await this.#run(["sh", "-c", 'printf %s "$1" | iptables-restore -w --noflush', "rules", rules]);
    this.#applied = rules;
  }

  async #run(command: readonly string[]): Promise<void> {
    const { exitCode, stderr } = await this.machine.run(command);
    if (exitCode !== 0) {
      throw new Error(
        `Failed to enforce NetworkPolicies: the machine's kernel refuses the firewall rules: "${stderr.trim()}"`,
      );
    }
  }
}
