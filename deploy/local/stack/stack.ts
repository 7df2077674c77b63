import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Supervisor } from "../process/supervisor.ts";
import { type ApiServer, startApiServer } from "./api_server.ts";
import { startControllerManager } from "./controller_manager.ts";
import type { Foundation, StackTools } from "./foundation.ts";
import { type ApiServerAddress, clusterInfoKubeconfig, writeKubeconfig } from "./kubeconfig_file.ts";
import { createPki } from "./pki.ts";
import { type SearchAttributeKind, startTemporalServer, type TemporalServer } from "./temporal_server.ts";
import { waitUntil } from "../process/wait_until.ts";
import { ApiConnection, ApiRefusal } from "./api_connection.ts";
import { httpProbe } from "../process/http_probe.ts";
import { startOnFreePorts } from "../process/start_on_free_ports.ts";
import type { ProcessSpec } from "../process/supervised_process.ts";

/** A running Kubernetes control plane and Temporal server, on loopback, with its state in one directory. */
export interface Stack {
  readonly directory: string;
  readonly tools: StackTools;
  readonly apiServer: ApiServer;
  readonly temporal: TemporalServer;
  /** Path of a kubeconfig in group system:masters: for set-up and observers, never for a component. */
  readonly adminKubeconfig: string;
  readonly processes: Supervisor;
  /** Stops every process, the youngest first; the directory stays. */
  stop(): Promise<void>;
}

/** Where a Kubernetes is, and who may do everything there. */
export type Cluster = Pick<Stack, "apiServer" | "adminKubeconfig">;

export interface StackOptions {
  /** Holds all state; made when missing. */
  readonly directory: string;
  readonly tools: StackTools;
  readonly onProgress?: (text: string) => void;
  /** Called for each process that ends unasked after it was ready and is not started again. */
  readonly onCrash?: (crash: Error) => void;
  /** Called with one line each time that a process which ended unasked is started again. */
  readonly onRevival?: (line: string) => void;
  /** Address of this host that the API server listens on; loopback unless told. Machines outside need another. */
  readonly address?: string;
  /** Range of addresses for pods, such as `10.244.0.0/16`, of which each node gets a part; none unless told. */
  readonly podNetwork?: string;
  /** Users whose requests the API server's audit log keeps; nobody's but booting machines' unless told. */
  readonly audited?: readonly string[];
  /** The API server ends a watch after one to two times as many seconds; after half an hour to an hour unless told. */
  readonly watchSeconds?: number;
  /** Starts another Temporal server than the CLI's dev server. */
  readonly startTemporal?: (supervisor: Supervisor) => Promise<TemporalServer>;
  /** A cluster that is there already, whose control plane is not ours to start; one of the stack's own unless told. */
  readonly cluster?: Cluster;
  /** Known to the dev server from its start. */
  readonly searchAttributes?: Readonly<Record<string, SearchAttributeKind>>;
  /** Ends the start, not the started stack: that is what `stop` is for. */
  readonly signal?: AbortSignal;
}

/** Starts a stack and resolves when all of it is ready; when a part fails, rejects with nothing left running. */
export async function startStack(options: StackOptions): Promise<Stack> {
  options.signal?.throwIfAborted();
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const supervisor = new Supervisor(options);
  try {
    const [temporal, cluster] = await Promise.all([
      startTemporal(supervisor, options),
      options.cluster ?? startCluster(supervisor, options),
    ]);
    const { directory, tools } = options;
    return { directory, tools, ...cluster, temporal, processes: supervisor, stop: () => supervisor.stop() };
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
}

async function startTemporal(supervisor: Supervisor, options: StackOptions): Promise<TemporalServer> {
  const temporal = await (options.startTemporal?.(supervisor) ?? startDevServer(supervisor, options));
  const ui = temporal.uiUrl === "" ? "without a web UI" : `web UI on ${temporal.uiUrl}`;
  options.onProgress?.(`Temporal answers on ${temporal.address}, ${ui}`);
  return temporal;
}

function startDevServer(
  supervisor: Supervisor,
  { directory, tools, searchAttributes, signal }: StackOptions,
): Promise<TemporalServer> {
  return startTemporalServer({
    supervisor,
    directory,
    command: tools.temporal,
    ...(searchAttributes === undefined ? {} : { searchAttributes }),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function startCluster(
  supervisor: Supervisor,
  options: StackOptions,
): Promise<Cluster> {
  const { directory, tools, signal, onProgress, address = "127.0.0.1", podNetwork, audited = [], watchSeconds } =
    options;
  const pki = await createPki(join(directory, "pki"), address);
  const foundation: Foundation = {
    ...{ directory, tools, pki, supervisor, address, audited },
    ...(podNetwork === undefined ? {} : { podNetwork }),
    ...(watchSeconds === undefined ? {} : { watchSeconds }),
    ...(signal === undefined ? {} : { signal }),
  };
  const etcdUrl = await startEtcd(foundation);
  onProgress?.(`etcd answers on ${etcdUrl}`);
  const apiServer = await startApiServer(foundation, etcdUrl);
  onProgress?.(`kube-apiserver answers on ${apiServer.url}`);
  const adminKubeconfig = await writeKubeconfig(join(directory, "kubeconfigs", "admin.yaml"), {
    apiServer,
    userName: "admin",
    credentials: pki.admin,
  });
  await Promise.all([
    startControllerManager(foundation, apiServer),
    publishClusterInfo({ adminKubeconfig, apiServer, ...(signal === undefined ? {} : { signal }) }),
  ]);
  onProgress?.("kube-controller-manager is at work");
  return { apiServer, adminKubeconfig };
}

interface ClusterInfoOptions {
  readonly adminKubeconfig: string;
  readonly apiServer: ApiServerAddress;
  readonly signal?: AbortSignal;
}

const path = "/api/v1/namespaces/kube-public/configmaps";

/** Makes ConfigMap kube-public/cluster-info, from which joining machines learn the server and its CA. */
async function publishClusterInfo({ adminKubeconfig, apiServer, signal }: ClusterInfoOptions): Promise<void> {
  using api = await ApiConnection.open(adminKubeconfig);
  const body = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "cluster-info", namespace: "kube-public" },
    data: { kubeconfig: clusterInfoKubeconfig(apiServer) },
  };
  // The server makes the namespace itself, but calls itself ready a moment earlier.
  await waitUntil(async (signal) => {
    await api.call({ method: "POST", path, body, signal }).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal && error.status === 409)) throw error;
    });
  }, { what: 'ConfigMap "kube-public/cluster-info"', timeoutMs: 20_000, ...(signal === undefined ? {} : { signal }) });
}

/** Starts etcd and resolves with its client URL once it has elected itself. */
export async function startEtcd(foundation: Foundation): Promise<string> {
  const { ports } = await startOnFreePorts(foundation.supervisor, {
    ports: ["client", "peer"],
    spec: (ports) => etcdSpec(foundation, ports),
  }, foundation.signal);
  return clientUrl(ports.client);
}

function etcdSpec(foundation: Foundation, ports: { client: number; peer: number }): ProcessSpec {
  const { etcd, etcdAuthority, apiServerEtcdClient } = foundation.pki;
  const client = clientUrl(ports.client);
  const peer = `https://127.0.0.1:${ports.peer}`;
  return {
    name: "etcd",
    command: foundation.tools.etcd,
    args: [
      "--name=ostler",
      `--data-dir=${join(foundation.directory, "etcd", `peer-${ports.peer}`)}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=ostler=${peer}`,
      "--client-cert-auth",
      `--trusted-ca-file=${etcdAuthority.certificatePath}`,
      `--cert-file=${etcd.certificatePath}`,
      `--key-file=${etcd.keyPath}`,
      "--peer-client-cert-auth",
      `--peer-trusted-ca-file=${etcdAuthority.certificatePath}`,
      `--peer-cert-file=${etcd.certificatePath}`,
      `--peer-key-file=${etcd.keyPath}`,
      // A killed process loses nothing by it, only a machine that loses power does, and then the stack is gone anyway.
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
    ready: httpProbe({ url: `${client}/health`, caPem: etcdAuthority.certificatePem, client: apiServerEtcdClient }),
    readyTimeoutMs: 30_000,
  };
}

function clientUrl(port: number): string {
  return `https://127.0.0.1:${port}`;
}
