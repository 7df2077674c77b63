/**
 * The join service of clusters with scaling groups: it issues join tickets, which are bootstrap tokens, and records
 * which components a joining node will run.
 */
import { KubeConfig } from "@kubernetes/client-node";
import { randomBytes } from "node:crypto";
import { type Connection, settled } from "../kube.ts";
import { persist, rest } from "../patience.ts";

export interface JoinOptions {
  /** Connection as an administrator of the cluster. */
  connection: Connection;
  /** Milliseconds from the creation of a JoiningNode to its deadline, by which its node must have joined. */
  ticketMs: number;
  /** Group to which the users of the bootstrap tokens belong; by default the group in Ostler's manifests. */
  bootstrappers?: string;
  signal: AbortSignal;
}

const kinds = { group: "update.edgeless.systems", version: "v1alpha1" } as const;
/** The group that may request node certificates (`deploy/kubernetes/rbac/bootstrap.yaml`). */
const ourBootstrappers = "system:bootstrappers:machine-controller:default-node-token";

export class JoinService {
  readonly #options: JoinOptions;

  constructor(options: JoinOptions) {
    this.#options = options;
  }

  /** Returns the cluster entry of the kubeconfig, with the address of the API server. */
  get cluster(): NonNullable<ReturnType<KubeConfig["getCurrentCluster"]>> {
    const cluster = this.#options.connection.config.getCurrentCluster();
    if (!cluster) throw new Error("Failed to issue a join ticket: the kubeconfig names no cluster");
    return cluster;
  }

  /**
   * Creates the JoiningNode that records which components a node will run, and the deadline by which it must have
   * joined.
   */
  async announce(node: string, components: string): Promise<void> {
    await persist(
      { attempts: 50, seconds: 60, signal: this.#options.signal },
      () => settled(this.#record(node, { name: node, components, isControlPlane: false }), [409]),
    );
  }

  /**
   * Creates JoiningNode "control-plane". All control planes share this name, so that only one can join at a time (rule
   * JN4 in `joining_control_plane_test.ts`). Waits while another control plane joins.
   */
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

  /** Creates a bootstrap token that expires after ten minutes, and returns it. */
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

  /** Creates the JoiningNode of a control plane without waiting; rejects while another control plane joins. */
  async takeTurn(node: string, components: string): Promise<void> {
    const { connection: { custom } } = this.#options;
    await settled(this.#record(node, { name: "control-plane", components, isControlPlane: true }), [409]);
    const found = await custom.getClusterCustomObject({ ...kinds, plural: "joiningnodes", name: "control-plane" });
    const { spec } = found as { spec: { name: string } };
    if (spec.name !== node) {
      throw new Error(`Control plane "${node}" must wait until control plane "${spec.name}" has joined`);
    }
  }

  /** Returns the kubeconfig with which a machine with a ticket joins. */
  kubeconfigWith(ticket: string): KubeConfig {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(this.cluster, { name: "kubelet", token: ticket });
    return config;
  }
}
