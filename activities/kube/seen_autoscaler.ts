/** Finds a cluster-autoscaler that no AutoscalingStrategy configures, by the status that it writes into the cluster. */
import type { Cluster } from "../cluster.ts";
import { listClusterObjects } from "./resources.ts";
import { statusOf } from "./status.ts";
import { autoscalingStrategies, type ScalingGroup } from "./update_kinds.ts";

/** The ConfigMap of cluster-autoscaler, and its annotation with the time of the last update. */
const statusMap = { namespace: "kube-system", name: "cluster-autoscaler-status" };
const updatedAnnotation = "cluster-autoscaler.kubernetes.io/last-updated";

/**
 * Milliseconds without an update after which the autoscaler counts as stopped; a running one updates about every 10 s.
 */
const silentMs = 600_000;
/** Milliseconds for which an answer is reused, because every status report of a pool needs it. */
const freshMs = 60_000;

/**
 * Returns a sentence if a running cluster-autoscaler manages the group, and may add or delete machines during a rollout
 * of the group. Returns "" if no running autoscaler manages the group, or if an AutoscalingStrategy exists, with which
 * Ostler can pause the autoscaler, because it has found the Deployment of the strategy.
 */
export async function unheldAutoscaler(
  kube: Cluster,
  readGroup: () => Promise<Pick<ScalingGroup, "spec"> | undefined>,
): Promise<string> {
  const managed = await managedGroups(kube);
  if (managed.size === 0 || await hasStrategy(kube)) return "";
  const { autoscalerGroupName: name = "" } = (await readGroup())?.spec ?? {};
  if (!managed.has(name.toLowerCase())) return "";
  return `cluster-autoscaler manages group "${name}", and no AutoscalingStrategy lets Ostler pause the autoscaler: ` +
    "Ostler protects the group's nodes from scale-down, but cluster-autoscaler can still add machines, and delete " +
    "machines that do not join within --max-node-provision-time";
}

/** Returns the names of all groups that a running autoscaler manages, in lower case. */
function managedGroups(kube: Cluster): Promise<Set<string>> {
  return kube.cache.read("autoscaler status", async () => {
    const found = await unlessHidden(kube.core.readNamespacedConfigMap(statusMap));
    const updated = Date.parse(timeIn(found?.metadata?.annotations?.[updatedAnnotation] ?? ""));
    if (!found || !(Date.now() - updated < silentMs)) return new Set<string>();
    const lines = (found.data?.["status"] ?? "").split("\n");
    return new Set(lines.flatMap((line) => /^\s*(?:-\s+)?name:\s*(\S+)\s*$/i.exec(line)?.[1]?.toLowerCase() ?? []));
  }, { freshMs });
}

// An AutoscalingStrategy that is not Ready names no Deployment that exists, so a running autoscaler is another one.
function hasStrategy(kube: Cluster): Promise<boolean> {
  return kube.cache.read("autoscaling strategies", async () => {
    const found = await unlessHidden(listClusterObjects(kube, autoscalingStrategies));
    return (found ?? []).some(({ status }) =>
      !status?.conditions.some((condition) => condition.type === "Ready" && condition.status === "False")
    );
  }, { freshMs });
}

/** Converts a time in Go's form, such as "2026-01-02 03:04:05.678 +0000 UTC", to one that `Date.parse` reads. */
function timeIn(text: string): string {
  return text.replace(/^(\S+) ([\d:]+)(\.\d+)? ([+-]\d\d)(\d\d).*$/s, "$1T$2$4:$5");
}

/** Returns the answer; undefined if the object does not exist or may not be read. */
function unlessHidden<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if ([403, 404].includes(statusOf(error) ?? 0)) return undefined;
    throw error;
  });
}
