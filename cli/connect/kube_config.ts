/** Selects the API server, by the rules of kubectl. */
import { existsSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { pooled } from "../../activities/kube/client.ts";
import { KubeConfig } from "../../activities/kube/client_node.ts";
import { Unreachable } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";

/** A kubeconfig and its context. */
interface ClusterOptions {
  kubeconfig?: string;
  context?: string;
}

/** Reads --kubeconfig, else the files of KUBECONFIG, else ~/.kube/config, else the ServiceAccount of the pod. */
export function openKubeConfig(terminal: Terminal, { kubeconfig, context }: ClusterOptions): KubeConfig {
  const config = kubeconfig === undefined ? usualConfig(terminal) : fromFile(resolve(terminal.directory, kubeconfig));
  if (context !== undefined) choose(config, context);
  const cluster = config.getCurrentCluster();
  if (!cluster) {
    throw new UsageError(`Failed to select a cluster: the kubeconfig has no current context; give --context`);
  }
  // The client refuses plain http too, but with a message that hides the cause.
  if (cluster.server.startsWith("http:") && !cluster.skipTLSVerify) {
    throw new UsageError(`Failed to use "${cluster.server}": http requires insecure-skip-tls-verify in the kubeconfig`);
  }
  return pooled(config);
}

function usualConfig({ env, directory }: Terminal): KubeConfig {
  const named = (env["KUBECONFIG"] ?? "").split(delimiter).filter(Boolean).map((file) => resolve(directory, file));
  const files = named.length > 0 ? named : [join(env["HOME"] ?? "", ".kube", "config")];
  const found = files.filter((file) => existsSync(file)).map(fromFile);
  if (found.length > 0) return merged(found);
  if (!env["KUBERNETES_SERVICE_HOST"]) throw new Unreachable(noneFound(files));
  const config = new KubeConfig();
  config.loadFromCluster();
  return config;
}

// As in kubectl, the first of several entries with the same name wins, and so does the first current context.
function merged(configs: readonly KubeConfig[]): KubeConfig {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: firstOfEach(configs.flatMap(({ clusters }) => clusters)),
    users: firstOfEach(configs.flatMap(({ users }) => users)),
    contexts: firstOfEach(configs.flatMap(({ contexts }) => contexts)),
    currentContext: configs.map((one) => one.getCurrentContext()).find(Boolean),
  });
  return config;
}

function firstOfEach<T extends { name: string }>(named: readonly T[]): T[] {
  return named.filter(({ name }, at) => named.findIndex((other) => other.name === name) === at);
}

function noneFound(files: string[]): string {
  const places = files.map((file) => `"${file}"`).join(" or ");
  return `Failed to reach Kubernetes: found no kubeconfig at ${places}; give --kubeconfig, or set KUBECONFIG`;
}

function fromFile(file: string): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromFile(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "it does not exist" : message.split("\n")[0];
    throw new UsageError(`Failed to read kubeconfig "${file}": ${why}`);
  }
  return config;
}

function choose(config: KubeConfig, context: string): void {
  const names = config.getContexts().map(({ name }) => name);
  if (!names.includes(context)) {
    throw new UsageError(
      `Failed to use context "${context}": the kubeconfig does not have it; its contexts: ${
        names.join(", ") || "none"
      }`,
    );
  }
  config.setCurrentContext(context);
}
