/** Everything outside that a command may need; opened when first asked for, so that no command needs more than it uses. */
import { hostname } from "node:os";
import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { TemporalServer } from "../../activities/temporal/temporal_server.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import type { NamedCluster } from "./cluster.ts";
import type { Engine } from "./engine.ts";
import type { Server } from "./server.ts";

/** Where profiles and configs are unless told. */
export const usualProfileNamespace = "kube-system";

/** Where Kubernetes and Temporal are, and who asks; flags of every command that looks at a cluster. */
export interface ConnectOptions {
  cluster?: string;
  kubeconfig?: string;
  context?: string;
  /** Of the cluster with profiles and configs, where that of the pools has none. */
  managementKubeconfig?: string;
  managementContext?: string;
  /** Namespace of profiles and configs. */
  profileNamespace?: string;
  temporalAddress?: string;
  temporalNamespace?: string;
  taskQueue?: string;
  as?: string;
}

/** Kubernetes, Temporal and the clock; tests bring their own. */
export interface World {
  cluster(): Promise<NamedCluster>;
  engine(): Promise<Engine>;
  /** Temporal as who looks after it sees it. */
  server(): Promise<Server>;
  /** The name under which a command is remembered. */
  whoAsks(): Promise<string>;
  /** Epoch ms. */
  now(): number;
  sleep(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Makes the world of one command. */
export type Connect = (terminal: Terminal, options: ConnectOptions) => World;

type OpenEngine = Engine & { close(): Promise<void> };

/** The world of this process. */
export const connectWorld: Connect = (terminal, options) => {
  let cluster: Promise<NamedCluster> | undefined;
  let engine: Promise<OpenEngine> | undefined;
  let server: Promise<Server> | undefined;
  const opened: { close(): Promise<void> }[] = [];
  const kept = <T extends { close(): Promise<void> }>(one: T): T => (opened.push(one), one);
  const openedCluster = (): Promise<NamedCluster> => cluster ??= openCluster(terminal, options);
  return {
    cluster: openedCluster,
    engine: () => engine ??= openEngine(terminal, options).then(kept),
    server: () => server ??= openServer(terminal, options).then(kept),
    whoAsks: async () => options.as ?? await (await openedCluster()).whoAmI() ?? osUser(terminal),
    now: () => Date.now(),
    sleep: async (ms) => void await setTimeout(ms),
    // A connection that is still being made is not waited for: the end of the process takes it along.
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

// The native connection takes a while to load, and most commands need none.
async function openEngine(terminal: Terminal, options: ConnectOptions): Promise<OpenEngine> {
  const { env } = terminal;
  const { clusterNameOf } = await import("./cluster_name.ts");
  const cluster = clusterNameOf(terminal, options);
  const { connectEngine } = await import("./native_connection.ts");
  const { taskQueueOf } = await import("../../workflows/commands/start_options.ts");
  return await connectEngine({
    ...await temporalServer(terminal, options),
    taskQueue: options.taskQueue ?? (env["OSTLER_TASK_QUEUE"] || taskQueueOf(cluster)),
    cluster,
  });
}

async function openServer(terminal: Terminal, options: ConnectOptions): Promise<Server & { close(): Promise<void> }> {
  const { clusterNameOf } = await import("./cluster_name.ts");
  const cluster = clusterNameOf(terminal, options);
  const where = await temporalServer(terminal, options);
  const { connectServer } = await import("./native_connection.ts");
  const connection = await connectServer(where);
  const { address, namespace } = where;
  const within: Server["within"] = (ms, work) => connection.withDeadline(Date.now() + ms, work);
  return { address, namespace, cluster, service: connection, within, close: () => connection.close() };
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
