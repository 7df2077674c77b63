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
  /** Path of a kubeconfig in group system:masters: for setup and observers, never for a component. */
  readonly adminKubeconfig: string;
  readonly processes: Supervisor;
  /** Stops all processes, latest first; keeps the directory. */
  stop(): Promise<void>;
}

/** The API server of a cluster, and an administrator's kubeconfig. */
export type Cluster = Pick<Stack, "apiServer" | "adminKubeconfig">;

export interface StackOptions {
  /** Folder of all state; created if missing. */
  readonly directory: string;
  readonly tools: StackTools;
  readonly onProgress?: (text: string) => void;
  /** Called for each unexpected exit of a ready process after which the process is not restarted. */
  readonly onCrash?: (crash: Error) => void;
  /** Called with one line for each restart of a process after an unexpected exit. */
  readonly onRevival?: (line: string) => void;
  /**
   * Address of this host on which the API server listens; default loopback, which only simulated machines reach.
   */
  readonly address?: string;
  /** Address range of pods, such as `10.244.0.0/16`, of which each node gets a subnet; none by default. */
  readonly podNetwork?: string;
  /** Users whose requests the API server's audit log keeps, in addition to those of booting machines. */
  readonly audited?: readonly string[];
  /**
   * Seconds after which the API server ends a watch at the earliest; it ends each watch before twice that time. By
   * default, watches end after 30 minutes to 1 hour.
   */
  readonly watchSeconds?: number;
  /** Starts a Temporal server to use instead of the CLI's dev server. */
  readonly startTemporal?: (supervisor: Supervisor) => Promise<TemporalServer>;
  /** An existing cluster, whose control plane is not started here; by default the stack starts its own. */
  readonly cluster?: Cluster;
  /** Search attributes that the dev server creates at its start. */
  readonly searchAttributes?: Readonly<Record<string, SearchAttributeKind>>;
  /** Cancels the start only; use `stop` for a started stack. */
  readonly signal?: AbortSignal;
}

/** Starts a stack and resolves when all of it is ready; rejects without leaving a process running if a part fails. */
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
  options.onProgress?.(`Temporal is ready at ${temporal.address}, ${ui}`);
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
  onProgress?.(`etcd is ready at ${etcdUrl}`);
  const apiServer = await startApiServer(foundation, etcdUrl);
  onProgress?.(`kube-apiserver is ready at ${apiServer.url}`);
  const adminKubeconfig = await writeKubeconfig(join(directory, "kubeconfigs", "admin.yaml"), {
    apiServer,
    userName: "admin",
    credentials: pki.admin,
  });
  await Promise.all([
    startControllerManager(foundation, apiServer),
    publishClusterInfo({ adminKubeconfig, apiServer, ...(signal === undefined ? {} : { signal }) }),
  ]);
  onProgress?.("kube-controller-manager is ready");
  return { apiServer, adminKubeconfig };
}

interface ClusterInfoOptions {
  readonly adminKubeconfig: string;
  readonly apiServer: ApiServerAddress;
  readonly signal?: AbortSignal;
}

const path = "/api/v1/namespaces/kube-public/configmaps";

/** Creates ConfigMap "kube-public/cluster-info", from which joining machines read the server and its CA. */
async function publishClusterInfo({ adminKubeconfig, apiServer, signal }: ClusterInfoOptions): Promise<void> {
  using api = await ApiConnection.open(adminKubeconfig);
  const body = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "cluster-info", namespace: "kube-public" },
    data: { kubeconfig: clusterInfoKubeconfig(apiServer) },
  };
  // The API server creates the namespace itself, but shortly after it reports ready.
  await waitUntil(async (signal) => {
    await api.call({ method: "POST", path, body, signal }).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal && error.status === 409)) throw error;
    });
  }, {
    what: 'ConfigMap "kube-public/cluster-info" to be created',
    timeoutMs: 20_000,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Starts etcd with one member, and resolves with its client URL when it is healthy. */
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
      // A single member needs no heartbeats: the default of ten ticks per second would cost as much as all other work
      // of an idle etcd.
      "--heartbeat-interval=500",
      "--election-timeout=5000",
      // Without fsync, a power failure loses data, but a power failure ends the stack anyway; the kill of a process
      // loses no data.
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
