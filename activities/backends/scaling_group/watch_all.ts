/** Watches ScalingGroups, their NodeVersions and their nodes; keeps only the facts whose changes it reports. */
import { z } from "zod";
import { groupKeyOf } from "../../clouds/driver.ts";
import type { Kube } from "../../kube/client.ts";
import { Informer } from "../../kube/informer.ts";
import type { GroupedResource, Resource } from "../../kube/resources.ts";
import { NodeVersion, nodeVersions, ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import { marks } from "../../node_version/marks.ts";
import type { PoolFacts, PoolSource, WatchDeps } from "../contract.ts";
import { JoinedNodes } from "../joined_nodes.ts";
import { illnessAmong, type NodeFacts, type NodeWatch, watchedNodes } from "../watched_nodes.ts";
import { groupFinalizer, ledgerAnnotations } from "./ledger.ts";
import { groupNameOf, poolOfGroup } from "./sight.ts";
import { observedOf, targetOf } from "./target.ts";

/**
 * Watches ScalingGroups. Its `find` returns only groups that need a workflow run: those with a target (the image and
 * components to run) or a missing NodeVersion, and those that wait for Ostler to clean up.
 */
export function watchScalingGroups(kube: Kube, { onChange, hasCloud, ...deps }: WatchDeps): PoolSource {
  const tell = (group: string): void => onChange(keyOf(group));
  const groups = new Informer(watchedGroups, { kube, ...deps, onChange: tell });
  const versions = new Informer(watchedVersions, {
    ...{ kube, ...deps },
    onChange: () => groups.keys().forEach((group) => tell(group)),
  });
  const nodes = watchNodes(kube, {
    ...deps,
    onChange: (id) => groups.group("id", id).forEach(([group]) => tell(group)),
  });
  const find = (key: string): PoolFacts | undefined => {
    const group = groups.get(groupIn(key));
    const version = group && versions.get(group.spec.nodeImage);
    if (!group || !isServed(group, version)) return undefined;
    const { name, generation = 0, labels } = group.metadata;
    return {
      ...{ pool: poolOfGroup(name), generation, isNumbered: true, observed: observedOf(group, version), labels },
      illness: (conditions) => nodes.illness(groupKeyOf(group.spec.groupId), conditions),
    };
  };
  return {
    find,
    keys: () => groups.keys().map(keyOf),
    start: async () => {
      const informers = [groups, versions, ...(hasCloud ? [nodes] : [])];
      await Promise.all(informers.map((informer) => informer.start()));
    },
  };
}

function keyOf(group: string): string {
  const { namespace, name } = poolOfGroup(group);
  return `${namespace}/${name}`;
}

/** Returns the name of the ScalingGroup that a pool's key stands for; "" if the pool is not a ScalingGroup. */
function groupIn(key: string): string {
  const [namespace = "", name = ""] = key.split("/");
  const group = groupNameOf({ namespace, name });
  return keyOf(group) === key ? group : "";
}

/**
 * The facts kept of a group. Of its annotations, only two are kept: its current boot template, and the boot template of
 * a rollback.
 */
type GroupFacts = Pick<ScalingGroup, "metadata" | "spec">;
type VersionFacts = Pick<NodeVersion, "metadata" | "spec" | "status">;

const keptAnnotations: string[] = [ledgerAnnotations.boots, ledgerAnnotations.pin];

const watchedGroups: GroupedResource<GroupFacts> = {
  ...scalingGroups,
  schema: ScalingGroup.transform(({ metadata, spec }) => ({ metadata: slim(metadata), spec })),
  groupsOf: ({ spec }) => ({ id: groupKeyOf(spec.groupId) }),
};
const watchedVersions: Resource<VersionFacts> = {
  ...nodeVersions,
  schema: NodeVersion.transform(({ metadata, spec, status }) => {
    return { metadata: slim(metadata), spec, status: { conditions: [], released: status?.["released"] } };
  }),
};

function slim(metadata: GroupFacts["metadata"]): GroupFacts["metadata"] {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => keptAnnotations.includes(key));
  return { ...metadata, annotations: Object.fromEntries(annotations) };
}

/**
 * Returns whether a group needs a workflow run. The run also reports a missing NodeVersion, and cleans up before the
 * group is deleted.
 */
function isServed(group: GroupFacts, version: VersionFacts | undefined): boolean {
  if (group.metadata.deletionTimestamp) return group.metadata.finalizers?.includes(groupFinalizer) ?? false;
  return version === undefined || targetOf(group, version) !== undefined;
}

// Nodes of scaling groups: an annotation of each node names its group.

interface GroupNodeFacts extends NodeFacts {
  /** The key of the group's ID (`groupKeyOf`); "" for a node without a group. */
  group: string;
}

const Annotated = z.object({ metadata: z.object({ annotations: z.record(z.string(), z.string()).nullish() }) });

const groupNodes: Resource<GroupNodeFacts> = {
  ...watchedNodes,
  schema: z.unknown().transform((node) => ({
    ...watchedNodes.schema.parse(node),
    group: groupKeyOf(Annotated.parse(node).metadata.annotations?.[marks.group] ?? ""),
  })),
};

/**
 * Watches nodes, because Ostler repairs unhealthy ones; reports a group, by the key of its ID, when its nodes or their
 * conditions change.
 */
function watchNodes(kube: Kube, { onChange, ...deps }: Pick<WatchDeps, "onChange" | "log" | "signal">): NodeWatch {
  const joined = new JoinedNodes();
  const look = (node: string): void => {
    const group = nodes.get(node)?.group ?? "";
    const moved = joined.place(node, group === "" ? undefined : { pool: group, node });
    new Set([...moved, ...(group === "" ? [] : [group])]).forEach((each) => onChange(each));
  };
  const nodes = new Informer(groupNodes, { kube, ...deps, onChange: look });
  return {
    illness: (group, conditions) =>
      illnessAmong(joined.nodesOf(group).map((node) => [node, nodes.get(node)]), conditions),
    start: () => nodes.start(),
  };
}
