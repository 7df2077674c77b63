/** Finds obstacles to an upgrade of Kubernetes before it begins. */
import type { V1Pod, V1PodDisruptionBudget } from "@kubernetes/client-node";
import type { Cluster } from "../cluster.ts";
import type { ClusterObject, UpgradeCheck, UpgradeFinding } from "../../workflows/contracts/mod.ts";
import { counted } from "../counted.ts";
import { wordsOf } from "../etcd/judge.ts";
import { moot } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { allPages, readClusterObject } from "../kube/resources.ts";
import { abreast, attempting, ifFound, sideBySide } from "../kube/status.ts";
import { nodeVersions } from "../kube/update_kinds.ts";
import { protects } from "../node/disruption_budgets.ts";
import { nameOf, podsToMove } from "../node/drained_pods.ts";
import { readSurvey } from "../node_version/cluster_etcd.ts";
import { type GroupNode, readGroupNodes } from "../node_version/group_nodes.ts";
import { readAskedKubernetes } from "./asked.ts";
import { readRemovedApis, type RemovedApis } from "./removed_apis.ts";

/** Maximum objects that a finding names; the others are only counted. */
const named = 10;
/** Maximum concurrent list requests. */
const width = 5;
const longestText = 2_000;

/**
 * Returns at most one finding of each kind, but up to two of kind ApiRemoved: one names the removed APIs in use, the
 * other the API servers whose metrics could not be read.
 * Throws Moot (GenerationStale) if the NodeVersion or its components changed.
 */
export function checkUpgrade(
  kube: Cluster,
  { object: { name }, digest }: { object: ClusterObject; digest: string },
): Promise<UpgradeCheck> {
  const what = `check the Kubernetes upgrade of NodeVersion "${name}"`;
  return attempting(what, async () => {
    const found = await ifFound(readClusterObject(kube, nodeVersions, name));
    const asked = found && await readAskedKubernetes(kube, found);
    if (asked?.digest !== digest) {
      throw moot("GenerationStale", `Failed to ${what}: the desired version or its components changed`);
    }
    const nodes = await readGroupNodes(kube);
    const parts = await sideBySide(
      apisRemoved(kube, asked.version),
      drainsImpossible(kube, nodes),
      etcdInDoubt(kube),
      Promise.resolve(nodesNotReady(nodes)),
    );
    const findings = parts.flat().map((each) => ({ ...each, message: each.message.slice(0, longestText) }));
    return { digest, findings };
  });
}

async function apisRemoved(kube: Kube, version: string): Promise<UpgradeFinding[]> {
  return apiFindings(version, await readRemovedApis(kube, version));
}

/** Returns the findings about APIs that `version` does not have. */
export function apiFindings(version: string, { inUse, unread }: RemovedApis): UpgradeFinding[] {
  const kind = "ApiRemoved";
  const remedy = "change these clients, then restart the API servers, which remember each request until then";
  const used = `Clients use APIs that Kubernetes "${version}" does not have: ${listOf(inUse)}; ${remedy}`;
  const unknown = `Cannot determine whether clients of some API servers use removed APIs: ${listOf(unread)}`;
  return [
    ...(inUse.length > 0 ? [{ kind, stops: true, message: used } as const] : []),
    ...(unread.length > 0 ? [{ kind, stops: false, message: unknown } as const] : []),
  ];
}

/** Returns a finding about pods on control planes that can never be evicted, even if all their replicas are healthy. */
export async function drainsImpossible(kube: Kube, nodes: readonly GroupNode[]): Promise<UpgradeFinding[]> {
  const planes = nodes.filter(({ isControlPlane }) => isControlPlane).map(({ name }) => name);
  const pods = (await abreast(width, planes, (node) => podsToMove(kube, node))).flat();
  const namespaces = [...new Set(pods.map(({ metadata }) => metadata?.namespace ?? ""))];
  const lists = await abreast(
    width,
    namespaces,
    (namespace) => allPages((page) => kube.policy.listNamespacedPodDisruptionBudget({ namespace, ...page })),
  );
  const budgets = new Map(namespaces.map((namespace, nth) => [namespace, lists[nth] ?? []]));
  const stuck = pods.flatMap((pod) => whyStuck(pod, budgets.get(pod.metadata?.namespace ?? "") ?? []) ?? []).sort();
  if (stuck.length === 0) return [];
  const remedy = "change these PodDisruptionBudgets, or run more replicas";
  const message = `Pods on control planes can never be evicted: ${listOf(stuck)}; ${remedy}`;
  return [{ kind: "DrainImpossible", stops: true, message }];
}

function whyStuck(pod: V1Pod, budgets: readonly V1PodDisruptionBudget[]): string | undefined {
  const own = budgets.filter((budget) => protects(budget, pod));
  // The API server evicts no pod that several budgets select.
  const [first] = own.length > 1 ? own : own.filter(allowsNone);
  if (!first) return undefined;
  const budget = `PodDisruptionBudget ${first.metadata?.namespace}/${first.metadata?.name}`;
  const pods = first.status?.expectedPods === 1 ? "its only pod" : `all ${first.status?.expectedPods} pods`;
  return own.length > 1
    ? `${nameOf(pod)} is covered by more than one PodDisruptionBudget`
    : `${nameOf(pod)} is protected by ${budget}, which requires ${pods}`;
}

/** Returns whether a budget can never allow an eviction; false while its status does not describe its current spec. */
function allowsNone({ metadata, status }: V1PodDisruptionBudget): boolean {
  if (!status || (status.observedGeneration ?? 0) < (metadata?.generation ?? 0)) return false;
  const { disruptionsAllowed, expectedPods = 0, desiredHealthy = 0 } = status;
  return disruptionsAllowed === 0 && expectedPods > 0 && expectedPods <= desiredHealthy;
}

/** Returns a finding if etcd has a problem or cannot be read. */
async function etcdInDoubt(kube: Cluster): Promise<UpgradeFinding[]> {
  const doubts = await readSurvey(kube).then(wordsOf, (error: unknown) => [
    error instanceof Error ? error.message : "Failed to survey etcd",
  ]);
  return doubts.length === 0 ? [] : [{ kind: "EtcdInDoubt", stops: false, message: doubts.join("; ") }];
}

/** Returns one finding that names the nodes that are not Ready; none if all are Ready. */
export function nodesNotReady(nodes: readonly GroupNode[]): UpgradeFinding[] {
  const names = nodes.filter(({ isReady }) => !isReady).map(({ name }) => `"${name}"`).sort();
  if (names.length === 0) return [];
  return [{
    kind: "NodeNotReady",
    stops: false,
    message: `${counted(names.length, "node")} ${names.length === 1 ? "is" : "are"} not Ready: ${listOf(names, ", ")}`,
  }];
}

function listOf(texts: readonly string[], separator = "; "): string {
  const rest = texts.length > named ? `${separator}and ${texts.length - named} more` : "";
  return `${texts.slice(0, named).join(separator)}${rest}`;
}
