/** Flags, connections and error handling of all commands on a cluster. */
import { Option } from "commander";
import type { Command } from "commander";
import type { Connect, ConnectOptions, World } from "../connect/world.ts";
import { CommandFailure } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import type { Selection } from "./pools.ts";

/** Flags of commands on a cluster. */
export type ClusterFlags = ConnectOptions & Selection;

/** Runs a command with connections that are closed afterwards; errors of the API server get an exit code. */
export async function inWorld<T>(
  { terminal, connect }: { terminal: Terminal; connect: Connect },
  flags: ConnectOptions,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const world = connect(terminal, flags);
  try {
    return await work(world);
  } catch (error) {
    if (error instanceof CommandFailure || error instanceof UsageError) throw error;
    // Without a kubeconfig the error cannot be from an API server, for example in a command that needs only Temporal.
    const cluster = await world.cluster().catch(() => undefined);
    if (cluster === undefined) throw error;
    const { clusterFailure } = await import("../connect/cluster.ts");
    throw clusterFailure(cluster.server, error);
  } finally {
    await world.close();
  }
}

/** Adds the flags that locate Kubernetes and Temporal. */
export function withConnection(command: Command): Command {
  const located = command
    .option("--kubeconfig <file>", "kubeconfig (default: KUBECONFIG, then ~/.kube/config)")
    .option("--context <name>", "context in the kubeconfig")
    .option(
      "--management-kubeconfig <file>",
      "kubeconfig of the management cluster (default: as --kubeconfig)",
    )
    .option("--management-context <name>", "context of the management cluster")
    .option("--cluster <name>", "the cluster's name in Temporal (default: OSTLER_CLUSTER)");
  return withTemporal(located);
}

/** Adds the flags that locate Temporal. */
export function withTemporal(command: Command): Command {
  return command
    .option(
      "--temporal-address <host:port>",
      "Temporal frontend (default: TEMPORAL_ADDRESS, temporal.toml, 127.0.0.1:7233)",
    )
    .option(
      "--temporal-namespace <name>",
      "Temporal namespace (default: TEMPORAL_NAMESPACE, temporal.toml, default)",
    );
}

/** Adds the flags that select pools. */
export function withSelection(command: Command): Command {
  return withNamespace(command)
    .option("-l, --selector <labels>", "select pools by label")
    .option("--all", "select all pools of the namespace")
    .option("-A, --all-namespaces", "select all pools of the cluster");
}

/** Adds the flag that selects a namespace. */
export function withNamespace(command: Command): Command {
  return command.option("-n, --namespace <name>", "namespace (default: the context's)");
}

/** Returns the flag `-o`, with table as default. */
export function tableOutput(...formats: string[]): Option {
  return new Option("-o, --output <format>", "output format").choices(["table", ...formats]).default("table");
}
