/** Watches scaling groups, what they follow and their Rollouts: which of them is news is decided as for any pool. */
import type { Logger } from "@temporalio/common";
import { groupFinalizer, ledgerAnnotations } from "../activities/backends/scaling_group/ledger.ts";
import { observedOf, targetOf } from "../activities/backends/scaling_group/target.ts";
import { groupKeyOf } from "../activities/clouds/driver.ts";
import type { Kube } from "../activities/kube/client.ts";
import { Informer, type InformerDeps } from "../activities/kube/informer.ts";
import type { Resource } from "../activities/kube/resources.ts";
import { NodeVersion, nodeVersions, ScalingGroup, scalingGroups } from "../activities/kube/update_kinds.ts";
import { groupsNamespace, poolOfGroup } from "../workflows/commands/start_options.ts";
import type { PoolWatch, WatchedPool } from "./pool_notifier.ts";
import {
  hasEnded,
  illnessAmong,
  mayMean,
  type NodeFacts,
  watchedNodes,
  watchedPolicies,
  watchedRollouts,
} from "./watched_facts.ts";
import { z } from "zod";
import { marks } from "../activities/node_version/marks.ts";
import { JoinedNodes } from "./joined_nodes.ts";
import type { NodeWatch } from "./watch_nodes.ts";

interface GroupDeps {
  kube: Kube;
  /** A cloud is set: illness may be repaired. */
  watchesNodes: boolean;
  log: Pick<Logger, "warn">;
  signal: AbortSignal;
}

/** Of a group, what decides; of its annotations those that say what it runs. */
type GroupFacts = Pick<ScalingGroup, "metadata" | "spec">;
type VersionFacts = Pick<NodeVersion, "metadata" | "spec" | "status">;

const told: string[] = [ledgerAnnotations.boots, ledgerAnnotations.pin];

const watchedGroups: Resource<GroupFacts> = {
  ...scalingGroups,
  schema: ScalingGroup.transform(({ metadata, spec }) => ({ metadata: slim(metadata), spec })),
};
const watchedVersions: Resource<VersionFacts> = {
  ...nodeVersions,
  schema: NodeVersion.transform(({ metadata, spec, status }) => {
    return { metadata: slim(metadata), spec, status: { conditions: [], released: status?.["released"] } };
  }),
};

/** Rollouts and policies of other namespaces are of no group. */
const ofGroups = { fieldSelector: `metadata.namespace=${groupsNamespace}` };

/** Groups are told by their own names. One that follows nothing yet has no rollout. */
export function watchGroups({ watchesNodes, ...deps }: GroupDeps): PoolWatch & { start(): Promise<void> } {
  const listeners: ((key: string) => void)[] = [];
  const tell = (key: string): void => listeners.forEach((listener) => listener(key));
  const groups = new Informer(watchedGroups, { ...deps, onChange: tell });
  const tellAll = (): void => groups.keys().forEach(tell);
  const versions = new Informer(watchedVersions, { ...deps, onChange: tellAll });
  const rollouts = new Informer({ ...watchedRollouts, ...ofGroups }, { ...deps, onChange: tellAll });
  const policies = new Informer({ ...watchedPolicies, ...ofGroups }, { ...deps, onChange: tellAll });
  const ofGroup = (id: string): string[] =>
    groups.keys().filter((key) => groupKeyOf(groups.get(key)?.spec.groupId ?? "") === id);
  const nodes = watchGroupNodes({ ...deps, onChange: (id) => ofGroup(id).forEach(tell) });
  const find = (key: string): WatchedPool | undefined => {
    const group = groups.get(key);
    const version = group && versions.get(group.spec.nodeImage);
    if (!group || !isServed(group, version)) return undefined;
    const pool = poolOfGroup(key);
    const last = rollouts.get(`${pool.namespace}/${pool.name}`);
    const isOpen = !hasEnded(last);
    const own = [...policies.values()].filter((policy) => mayMean(policy, group.metadata.labels));
    return {
      ...{ pool, generation: group.metadata.generation ?? 0, isNumbered: true, observed: observedOf(group, version) },
      ...{ reported: last?.observed, isOpen, ...(isOpen && last?.run ? { run: last.run } : {}) },
      isLeft: last?.phase === "Aborted" && !last.wentBack,
      policies: own.map((policy) => policy.version).sort().join(),
      illness: nodes.illness(groupKeyOf(group.spec.groupId), own.flatMap(({ conditions }) => conditions)),
    };
  };
  return {
    find,
    keys: () => groups.keys(),
    onChange: (listener) => void listeners.push(listener),
    start: async () => {
      const informers = [groups, versions, rollouts, policies, ...(watchesNodes ? [nodes] : [])];
      await Promise.all(informers.map((informer) => informer.start()));
    },
  };
}

/** Whose NodeVersion is missing is told so by its run; one that goes is cleaned up after where we have to do with it. */
function isServed(group: GroupFacts, version: VersionFacts | undefined): boolean {
  if (group.metadata.deletionTimestamp) return group.metadata.finalizers?.includes(groupFinalizer) ?? false;
  return version === undefined || targetOf(group, version) !== undefined;
}

function slim(metadata: GroupFacts["metadata"]): GroupFacts["metadata"] {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => told.includes(key));
  return { ...metadata, annotations: Object.fromEntries(annotations) };
}

// Watches nodes for illness of scaling groups, which may have to be repaired; each says itself of which group it is.

interface GroupNodeFacts extends NodeFacts {
  /** "" for a node of no group. */
  group: string;
}

const Bearing = z.object({ metadata: z.object({ annotations: z.record(z.string(), z.string()).nullish() }) });

const groupNodes: Resource<GroupNodeFacts> = {
  ...watchedNodes,
  schema: z.unknown().transform((node) => ({
    ...watchedNodes.schema.parse(node),
    group: groupKeyOf(Bearing.parse(node).metadata.annotations?.[marks.group] ?? ""),
  })),
};

type Deps = Pick<InformerDeps<never>, "kube" | "log" | "signal"> & { onChange: (group: string) => void };

/** Tells of the keys of groups (`groupKeyOf`) of which a node came, went, or has another condition; not of heartbeats. */
function watchGroupNodes({ onChange, ...deps }: Deps): NodeWatch {
  const joined = new JoinedNodes();
  const look = (node: string): void => {
    const group = nodes.get(node)?.group ?? "";
    const moved = joined.place(node, group === "" ? undefined : { pool: group, node });
    new Set([...moved, ...(group === "" ? [] : [group])]).forEach(onChange);
  };
  const nodes = new Informer(groupNodes, { ...deps, onChange: look });
  return {
    illness: (group, conditions) =>
      illnessAmong(joined.nodesOf(group).map((node) => [node, nodes.get(node)]), conditions),
    start: () => nodes.start(),
  };
}
