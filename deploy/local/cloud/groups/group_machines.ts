/**
 * Machines of scaling groups that join a real API server, each with a certificate of its own. A join service stands beside
 * them, as such clusters have one: it gives tickets, and announces what a node will run.
 */
import { KubeConfig } from "@kubernetes/client-node";
import { randomBytes } from "node:crypto";
import { obtainNodeConfig } from "../boot/certificate.ts";
import { NodeAgent } from "../boot/node.ts";
import { Hypervisor } from "../hypervisor.ts";
import { connect, type Connection, connectWith, reasonOf, settled } from "../kube.ts";
import { Link } from "../link.ts";
import { type Patience, persist, rest } from "../patience.ts";
import { PodRunner } from "../pod_runner.ts";
import { Script, type ScriptChange } from "../script.ts";
import type { CloudInstance, GroupCloud } from "./group_cloud.ts";

/** What ails a machine. */
export interface MachineIlls {
  /** Never comes up: says nothing, and joins nobody. */
  isDead?: (instance: CloudInstance) => boolean;
  /** Has a node that is never Ready. */
  isUnready?: (instance: CloudInstance) => boolean;
  /** Nobody announces what its node runs. */
  isSilent?: (instance: CloudInstance) => boolean;
}

export interface GroupMachinesOptions {
  /** Text of an administrator's kubeconfig: that of the join service. */
  kubeconfig: string;
  cloud: GroupCloud;
  script?: ScriptChange;
  /** Seconds from an order to a kubelet, from that to Ready, and from a removal until it is gone. */
  seconds: { boot: number; ready: number; gone: number };
  kubelet: string;
  /** What a node is to run that joins now. */
  components: () => Promise<string>;
  ills?: MachineIlls;
  log: (line: string) => void;
}

const kinds = { group: "update.edgeless.systems", version: "v1alpha1" } as const;
/** Milliseconds for which a node that was given a ticket is waited for. */
const ticketMs = 60_000;
/** Whom the cluster lets ask for certificates of nodes (`deploy/kubernetes/rbac/bootstrap.yaml`). */
const bootstrappers = "system:bootstrappers:machine-controller:default-node-token";

/** All machines of a cloud, from what it tells of its instances. */
export class GroupMachines implements AsyncDisposable {
  readonly #options: GroupMachinesOptions;
  readonly #connection: Connection;
  readonly #hypervisor: Hypervisor;
  readonly #script: Script;
  readonly #ended = new AbortController();
  readonly #lives = new Map<string, AbortController>();
  readonly #tasks = new Set<Promise<void>>();

  constructor(options: GroupMachinesOptions) {
    this.#options = options;
    this.#connection = connectWith(options.kubeconfig);
    this.#hypervisor = new Hypervisor(this.#connection);
    this.#script = new Script(options.script);
  }

  /** To be told of each instance that is made, and of each that goes. */
  changed(instance: CloudInstance, change: "Made" | "Going"): void {
    const task = (change === "Made" ? this.#live(instance) : this.#end(instance)).catch((error: unknown) => {
      if (!this.#ended.signal.aborted) this.#options.log(`machine "${instance.node}": ${reasonOf(error)}`);
    });
    this.#tasks.add(task);
    void task.finally(() => this.#tasks.delete(task));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await Promise.allSettled(this.#tasks);
    await this.#connection.close();
  }

  async #live(instance: CloudInstance): Promise<void> {
    const { cloud, seconds, ills } = this.#options;
    const life = new AbortController();
    this.#lives.set(instance.providerId, life);
    const signal = AbortSignal.any([life.signal, this.#ended.signal]);
    await rest(seconds.boot / 2, signal);
    if (signal.aborted || ills?.isDead?.(instance)) return;
    cloud.set(instance.providerId, { state: "Ready" });
    await rest(seconds.boot / 2, signal);
    if (!signal.aborted) await this.#join(instance, signal);
  }

  async #join(instance: CloudInstance, signal: AbortSignal): Promise<void> {
    const { components, kubelet, log, seconds, ills } = this.#options;
    const { node: name, addresses: [address = ""], providerId, zone, template } = instance;
    const patience: Patience = { attempts: 50, seconds: 120, signal };
    const link = new Link();
    if (!ills?.isSilent?.(instance)) await this.#announce(name, await components());
    const ticket = await persist(patience, () => this.#ticketFor());
    const connection = connect(await obtainNodeConfig(ticket, name, { link, patience }));
    try {
      const hardware = { cpu: "4", memory: "8Gi", taints: [], image: template.fields.image };
      const agent = new NodeAgent(connection, { ...hardware, name, providerId, address, kubelet, zone }, link);
      await persist(patience, () => agent.register());
      const script = () => this.#script.current;
      const host = { connection, nodeName: name, address, ordinal: 1, link, script, log, signal };
      await new PodRunner(host).start();
      await rest(seconds.ready, signal);
      if (signal.aborted || ills?.isUnready?.(instance)) return;
      await persist(patience, () => agent.setReady(true));
      await agent.keepAlive(() => this.#script.current.heartbeatSeconds, signal, log);
    } finally {
      await connection.close();
    }
  }

  async #end({ providerId, node }: CloudInstance): Promise<void> {
    const { cloud, seconds } = this.#options;
    await rest(seconds.gone, this.#ended.signal);
    this.#lives.get(providerId)?.abort();
    cloud.set(providerId, { state: "Terminated" });
    const patience = { attempts: 50, seconds: 60, signal: this.#ended.signal };
    await persist(patience, () => this.#hypervisor.deletePods(node));
    // A cloud-controller-manager's part, for a node that nobody else took away.
    await rest(5, this.#ended.signal);
    if (this.#ended.signal.aborted) return;
    const found = await this.#connection.core.readNode({ name: node }).catch(() => undefined);
    if (found?.spec?.providerID === providerId) await settled(this.#connection.core.deleteNode({ name: node }));
  }

  /** The record by which its node will be told what it runs; one that never comes is not announced for ever. */
  async #announce(node: string, components: string): Promise<void> {
    const deadline = new Date(Date.now() + ticketMs).toISOString();
    const spec = { name: node, componentsreference: components, iscontrolplane: false, deadline };
    const body = { apiVersion: `${kinds.group}/${kinds.version}`, kind: "JoiningNode", metadata: { name: node }, spec };
    const create = () => this.#connection.custom.createClusterCustomObject({ ...kinds, plural: "joiningnodes", body });
    await persist({ attempts: 50, seconds: 60, signal: this.#ended.signal }, () => settled(create(), [409]));
  }

  /** A bootstrap token of its own. */
  async #ticketFor(): Promise<KubeConfig> {
    const [id, secret] = [randomBytes(3).toString("hex"), randomBytes(8).toString("hex")];
    await this.#connection.core.createNamespacedSecret({
      namespace: "kube-system",
      body: {
        metadata: { name: `bootstrap-token-${id}` },
        type: "bootstrap.kubernetes.io/token",
        stringData: {
          ...{ "token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true" },
          ...{ "auth-extra-groups": bootstrappers, expiration: new Date(Date.now() + 600_000).toISOString() },
        },
      },
    });
    return this.#kubeconfigWith(`${id}.${secret}`);
  }

  #kubeconfigWith(token: string): KubeConfig {
    const cluster = this.#connection.config.getCurrentCluster();
    if (!cluster) throw new Error("Cannot give a join ticket: the kubeconfig names no cluster");
    const config = new KubeConfig();
    config.loadFromClusterAndUser(cluster, { name: "kubelet", token });
    return config;
  }
}
