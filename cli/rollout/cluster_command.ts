/** What all commands that look at a cluster have in common: flags, the world, and how trouble is told. */
import { Option } from "commander";
import type { Command } from "commander";
import type { Connect, ConnectOptions, World } from "../connect/world.ts";
import { CommandFailure } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import type { Selection } from "./pools.ts";

/** Flags of every such command. */
export type ClusterFlags = ConnectOptions & Selection;

/** Runs a command in a world that is closed afterwards; what the API server answered becomes a failure for people. */
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
    // Who asks Temporal alone need have no kubeconfig that could be told of.
    const cluster = await world.cluster().catch(() => undefined);
    if (cluster === undefined) throw error;
    const { clusterFailure } = await import("../connect/cluster.ts");
    throw clusterFailure(cluster.server, error);
  } finally {
    await world.close();
  }
}

/** Adds the flags that say where Kubernetes and Temporal are. */
export function withConnection(command: Command): Command {
  const located = command
    .option("--kubeconfig <file>", "kubeconfig; else KUBECONFIG, else ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig")
    .option(
      "--management-kubeconfig <file>",
      "kubeconfig of the cluster with profiles and configs, where that of the pools has none; else the same file",
    )
    .option("--management-context <name>", "context of that cluster")
    .option("--cluster <name>", "the cluster's name in Temporal; else OSTLER_CLUSTER, else none");
  return withTemporal(located);
}

/** Adds the flags that say where Temporal is. */
export function withTemporal(command: Command): Command {
  return command
    .option(
      "--temporal-address <host:port>",
      "Temporal's frontend; else TEMPORAL_ADDRESS, else temporal.toml, else 127.0.0.1:7233",
    )
    .option(
      "--temporal-namespace <name>",
      "Temporal's namespace; else TEMPORAL_NAMESPACE, else temporal.toml, else default",
    );
}

/** Adds the flags that choose pools. */
export function withSelection(command: Command): Command {
  return withNamespace(command)
    .option("-l, --selector <labels>", "MachineDeployments that carry these labels")
    .option("--all", "all of the namespace")
    .option("-A, --all-namespaces", "all of the cluster");
}

/** Adds the flag that chooses a namespace. */
export function withNamespace(command: Command): Command {
  return command.option("-n, --namespace <name>", "namespace; else that of the context");
}

/** The flag `-o`, with table as default. */
export function tableOutput(...formats: string[]): Option {
  return new Option("-o, --output <format>", "how to show it").choices(["table", ...formats]).default("table");
}
