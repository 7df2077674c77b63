/** The external systems of a command; each is opened at its first use, so that a command opens only what it needs. */
import { hostname } from "node:os";
import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { TemporalServer } from "../../activities/temporal/temporal_server.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import type { NamedCluster } from "./cluster.ts";
import type { Engine } from "./engine.ts";
import type { Server } from "./server.ts";

/** Default namespace of OperatingSystemProfiles and OperatingSystemConfigs. */
export const usualProfileNamespace = "kube-system";

/** Flags of every command on a cluster: the location of Kubernetes and Temporal, and the user name to record. */
export interface ConnectOptions {
  cluster?: string;
  kubeconfig?: string;
  context?: string;
  /**
   * The management cluster, which has profiles and configs, if it differs from the cluster of the MachineDeployments.
   */
  managementKubeconfig?: string;
  managementContext?: string;
  /** Namespace of profiles and configs. */
  profileNamespace?: string;
  temporalAddress?: string;
  temporalNamespace?: string;
  as?: string;
}

/** Kubernetes, Temporal and the clock; tests provide their own. */
export interface World {
  cluster(): Promise<NamedCluster>;
  engine(): Promise<Engine>;
  /** Returns the gRPC services of Temporal, for commands of administrators such as `ostler setup`. */
  server(): Promise<Server>;
  /** Returns the user name that is recorded with a command. */
  whoAsks(): Promise<string>;
  /** Epoch ms. */
  now(): number;
  sleep(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Prepares the connections of one command. */
export type Connect = (terminal: Terminal, options: ConnectOptions) => World;

type OpenEngine = Engine & { close(): Promise<void> };

/** Prepares the connections that the flags and the environment of this process select. */
export const connectWorld: Connect = (terminal, options) => {
  let cluster: Promise<NamedCluster> | undefined;
  let engine: Promise<OpenEngine> | undefined;
  let server: Promise<Server> | undefined;
  const opened: { close(): Promise<void> }[] = [];
  const kept = <T extends { close(): Promise<void> }>(one: T): T => (opened.push(one), one);
  const openedCluster = (): Promise<NamedCluster> => cluster ??= openCluster(terminal, options);
  return {
    cluster: openedCluster,
    engine: () => engine ??= openEngine(terminal, options, openedCluster).then(kept),
    server: () => server ??= openServer(terminal, options).then(kept),
    whoAsks: async () => options.as ?? await (await openedCluster()).whoAmI() ?? osUser(terminal),
    now: () => Date.now(),
    sleep: async (ms) => void await setTimeout(ms),
    // A connection that is still being opened is not awaited, because it ends with the process.
    close: async () => void await Promise.all(opened.map((one) => one.close())),
  };
};

async function openCluster(terminal: Terminal, options: ConnectOptions): Promise<NamedCluster> {
  const { openKubeConfig } = await import("./kube_config.ts");
  const { clusterOf } = await import("./cluster.ts");
  const { clusterNameOf } = await import("./cluster_name.ts");
  const name = clusterNameOf(terminal, options);
  const { managementKubeconfig, managementContext, profileNamespace } = options;
  if (managementKubeconfig === undefined && managementContext === undefined) {
    return clusterOf(openKubeConfig(terminal, options), name);
  }
  const { kubeconfig } = options;
  const file = managementKubeconfig ?? kubeconfig;
  const config = openKubeConfig(terminal, {
    ...(file === undefined ? {} : { kubeconfig: file }),
    ...(managementContext === undefined ? {} : { context: managementContext }),
  });
  const namespace = profileNamespace ?? usualProfileNamespace;
  return clusterOf(openKubeConfig(terminal, options), name, { config, namespace });
}

// The native connection is slow to load, and most commands do not need it.
async function openEngine(
  terminal: Terminal,
  options: ConnectOptions,
  openedCluster: () => Promise<NamedCluster>,
): Promise<OpenEngine> {
  const { clusterNameOf } = await import("./cluster_name.ts");
  const cluster = clusterNameOf(terminal, options);
  const { connectEngine } = await import("./native_connection.ts");
  const { OSTLER_TASK_QUEUE: taskQueue } = terminal.env;
  return await connectEngine({
    ...await temporalServer(terminal, options),
    cluster,
    uid: async () => {
      const { kube } = await openedCluster();
      return (await kube.core.readNamespace({ name: "kube-system" })).metadata?.uid ?? "";
    },
    ...(taskQueue ? { taskQueue } : {}),
  });
}

async function openServer(terminal: Terminal, options: ConnectOptions): Promise<Server & { close(): Promise<void> }> {
  const { clusterNameOf } = await import("./cluster_name.ts");
  const cluster = clusterNameOf(terminal, options);
  const where = await temporalServer(terminal, options);
  const { asksNobody, connectServer } = await import("./native_connection.ts");
  const connection = await connectServer(where);
  const { address, namespace } = where;
  const within: Server["within"] = (ms, work) => connection.withDeadline(Date.now() + ms, work);
  return {
    ...{ address, namespace, cluster, service: connection, within },
    asksNobody: () => asksNobody(where),
    close: () => connection.close(),
  };
}

async function temporalServer({ env, directory }: Terminal, options: ConnectOptions): Promise<TemporalServer> {
  const { readTemporalServer } = await import("../../activities/temporal/temporal_server.ts");
  const { TEMPORAL_CONFIG_FILE: file } = env;
  try {
    return readTemporalServer(file ? { ...env, TEMPORAL_CONFIG_FILE: resolve(directory, file) } : env, options);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function osUser({ env }: Terminal): string {
  return `${env["USER"] ?? env["LOGNAME"] ?? "unknown"}@${hostname()}`;
}
