/** The service that such clusters let their machines join by: it gives tickets, and announces what a node will run. */
import { KubeConfig } from "@kubernetes/client-node";
import { randomBytes } from "node:crypto";
import { type Connection, settled } from "../kube.ts";
import { persist } from "../patience.ts";

export interface JoinOptions {
  /** As an administrator. */
  connection: Connection;
  /** Milliseconds for which a node that was given a ticket is waited for. */
  ticketMs: number;
  signal: AbortSignal;
}

const kinds = { group: "update.edgeless.systems", version: "v1alpha1" } as const;
/** Whom the cluster lets ask for certificates of nodes (`deploy/kubernetes/rbac/bootstrap.yaml`). */
const bootstrappers = "system:bootstrappers:machine-controller:default-node-token";

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
    const { connection, ticketMs, signal } = this.#options;
    const deadline = new Date(Date.now() + ticketMs).toISOString();
    const spec = { name: node, componentsreference: components, iscontrolplane: false, deadline };
    const body = { apiVersion: `${kinds.group}/${kinds.version}`, kind: "JoiningNode", metadata: { name: node }, spec };
    const create = () => connection.custom.createClusterCustomObject({ ...kinds, plural: "joiningnodes", body });
    await persist({ attempts: 50, seconds: 60, signal }, () => settled(create(), [409]));
  }

  /** A bootstrap token of its own for each who asks. */
  async ticket(): Promise<string> {
    const [id, secret] = [randomBytes(3).toString("hex"), randomBytes(8).toString("hex")];
    await this.#options.connection.core.createNamespacedSecret({
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

  /** What a machine with a ticket joins by. */
  kubeconfigWith(ticket: string): KubeConfig {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(this.cluster, { name: "kubelet", token: ticket });
    return config;
  }
}
