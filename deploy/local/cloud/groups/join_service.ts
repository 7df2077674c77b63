/** The service that such clusters let their machines join by: it gives tickets, and announces what a node will run. */
import { KubeConfig } from "@kubernetes/client-node";
import { randomBytes } from "node:crypto";
import { type Connection, settled } from "../kube.ts";
import { persist, rest } from "../patience.ts";

export interface JoinOptions {
  /** As an administrator. */
  connection: Connection;
  /** Milliseconds for which a node that was given a ticket is waited for. */
  ticketMs: number;
  /** The group of those who have a ticket; that of our own rules unless told. */
  bootstrappers?: string;
  signal: AbortSignal;
}

const kinds = { group: "update.edgeless.systems", version: "v1alpha1" } as const;
/** Whom the cluster lets ask for certificates of nodes (`deploy/kubernetes/rbac/bootstrap.yaml`). */
const ourBootstrappers = "system:bootstrappers:machine-controller:default-node-token";

export class JoinService {
  readonly #options: JoinOptions;

  constructor(options: JoinOptions) {
    this.#options = options;
  }

  /** Where machines find the API server. */
  get cluster(): NonNullable<ReturnType<KubeConfig["getCurrentCluster"]>> {
    const cluster = this.#options.connection.config.getCurrentCluster();
    if (!cluster) throw new Error("Cannot give a join ticket: the kubeconfig names no cluster");
    return cluster;
  }

  /** The record by which its node will be told what it runs; one that never comes is not announced for ever. */
  async announce(node: string, components: string): Promise<void> {
    await persist(
      { attempts: 50, seconds: 60, signal: this.#options.signal },
      () => settled(this.#record(node, { name: node, components, isControlPlane: false }), [409]),
    );
  }

  /** The same of a control plane, whose record has one name for all: while another one joins it waits for its turn (JN4). */
  async announceControlPlane(node: string, components: string): Promise<void> {
    const { signal } = this.#options;
    for (let isTaken = true; isTaken && !signal.aborted;) {
      isTaken = await this.takeTurn(node, components).then(() => false, () => true);
      if (isTaken) await rest(0.3, signal);
    }
  }

  #record(
    node: string,
    { name, components, isControlPlane }: { name: string; components: string; isControlPlane: boolean },
  ): Promise<unknown> {
    const { connection, ticketMs } = this.#options;
    const deadline = new Date(Date.now() + ticketMs).toISOString();
    const spec = { name: node, componentsreference: components, iscontrolplane: isControlPlane, deadline };
    const body = { apiVersion: `${kinds.group}/${kinds.version}`, kind: "JoiningNode", metadata: { name }, spec };
    return connection.custom.createClusterCustomObject({ ...kinds, plural: "joiningnodes", body });
  }

  /** A bootstrap token of its own for each who asks. */
  async ticket(): Promise<string> {
    const { connection, bootstrappers = ourBootstrappers } = this.#options;
    const [id, secret] = [randomBytes(3).toString("hex"), randomBytes(8).toString("hex")];
    await connection.core.createNamespacedSecret({
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
    return `${id}.${secret}`;
  }

  /** The same for whoever asks again and again, and not after its turn has come: rejects while it is another's. */
  async takeTurn(node: string, components: string): Promise<void> {
    const { connection: { custom } } = this.#options;
    await settled(this.#record(node, { name: "control-plane", components, isControlPlane: true }), [409]);
    const found = await custom.getClusterCustomObject({ ...kinds, plural: "joiningnodes", name: "control-plane" });
    const { spec } = found as { spec: { name: string } };
    if (spec.name !== node) throw new Error(`"${spec.name}" joins as a control plane, and "${node}" has to wait`);
  }

  /** What a machine with a ticket joins by. */
  kubeconfigWith(ticket: string): KubeConfig {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(this.cluster, { name: "kubelet", token: ticket });
    return config;
  }
}
