/**
 * The backend of ScalingGroups: a cloud creates the machines from a boot template that Ostler sets, and removes them
 * on request.
 */
import type { Cluster } from "../../cluster.ts";
import { keepFromAutoscaler } from "./autoscaling.ts";
import type { Resource } from "../../kube/resources.ts";
import type { With } from "../contract.ts";
import { endPin, publishBoots, readGroupWanted, restoreGroup } from "./boots.ts";
import { admitMember, chooseMember, readOwnership, spareMember } from "./orders.ts";
import { releaseGroup, removeGroupFinalizer, removeMember, seeMemberOff } from "./removals.ts";
import { welcomeMember } from "./hand_over.ts";
import { observeGroup, readGroupMember, readGroupState } from "./observe.ts";
import { relieveMember } from "./control_plane.ts";
import { groupNameOf, readSubject } from "./sight.ts";
import { watchScalingGroups } from "./watch_all.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { News, sourceOf } from "../../kube/polling.ts";
import {
  NodeVersion,
  nodeVersions,
  PendingNode,
  pendingNodes,
  ScalingGroup,
  scalingGroups,
} from "../../kube/update_kinds.ts";
import { groupNodesOf } from "../../node_version/group_nodes.ts";
import { digestOf } from "../../node_version/version_release.ts";

/** Returns the backend of ScalingGroups. */
export function scalingGroup(kube: Cluster): With<"orders" | "boots" | "welcome" | "relieve" | "seeOff"> {
  return {
    maker: "the scaling group",
    unseen: (node) => `Ostler has not yet recorded that node "${node}" joined`,
    clues: "see the group's events in its cloud (scaling activities on AWS, errors of the instance group on Google, " +
      "activity log on Azure)",
    lookEvery: () => kube.cloud.lookEvery,
    subject: (pool) => readSubject(kube, pool),
    wanted: (pool) => readGroupWanted(kube, pool),
    observe: (pool) => observeGroup(kube, pool),
    member: (member) => readGroupMember(kube, member),
    state: (member) => readGroupState(kube, member),
    owns: (member) => readOwnership(kube, member),
    spare: (member) => spareMember(kube, member),
    releaseAll: (pool) => releaseGroup(kube, pool),
    restore: (order) => restoreGroup(kube, order),
    autoscaling: (pool, order) => keepFromAutoscaler(kube, pool, order),
    watchAll: (deps) => watchScalingGroups(kube, deps),
    newsOfWanted: (pool) => newsOfGroup(kube, pool),
    newsOfPool: (pool, nodes) => newsOfMembers(kube, pool, nodes),
    newsOfMachines: ({ pool }, nodes = () => new Set()) => newsOfMembers(kube, pool, nodes),
    orders: {
      admit: async (order) => void await admitMember(kube, order),
      choose: (member) => chooseMember(kube, member),
      release: (member) => removeMember(kube, member),
      replace: (member) => removeMember(kube, member),
    },
    boots: {
      publish: (order) => publishBoots(kube, order),
      letGo: (pool) => removeGroupFinalizer(kube, pool),
    },
    // The provider ID of a node proves to which machine the node belongs.
    standing: undefined,
    templates: undefined,
    welcome: (member) => welcomeMember(kube, member),
    relieve: (order) => relieveMember(kube, order),
    seeOff: (member) => seeMemberOff(kube, member),
    // Machines differ only in image and components, and both are part of the target.
    stamp: undefined,
    keep: undefined,
    endPin: (pool, specHashes) => endPin(kube, pool, specHashes),
    waker: undefined,
  };
}

// Reports changes of ScalingGroups, NodeVersions, PendingNodes and nodes to waiting activities. Clouds report no
// changes, so waiting activities also read at intervals.

// Of each object only a digest is kept, because a waiting activity reads the object again after a change.
const identity = ({ metadata: { uid, generation, annotations, deletionTimestamp } }: {
  metadata: {
    uid: string;
    generation?: number | undefined;
    annotations?: object | undefined;
    deletionTimestamp?: string | undefined;
  };
}): string => digestOf([uid, generation, annotations, deletionTimestamp]);
const watchedGroups: Resource<string> = { ...scalingGroups, schema: ScalingGroup.transform(identity) };
const watchedVersions: Resource<string> = {
  ...nodeVersions,
  schema: NodeVersion.transform((version) => digestOf([identity(version), version.status?.["released"]])),
};
const watchedRecords: Resource<string> = {
  ...pendingNodes,
  schema: PendingNode.transform((record) => digestOf([identity(record), record.spec, record.status?.reachedGoal])),
};

/** Reports to a waiting activity: changes of the desired state of a group. */
function newsOfGroup(kube: Cluster, pool: PoolRef): News {
  const { watches } = kube;
  const name = groupNameOf(pool);
  return new News([
    sourceOf(watches.of(watchedGroups), ({ key }) => key === name),
    sourceOf(watches.of(watchedVersions), () => true),
  ]);
}

/**
 * Reports to a waiting activity: changes of a group and its machines, and all changes of PendingNodes, because only a
 * read shows the group of a PendingNode.
 */
function newsOfMembers(kube: Cluster, pool: PoolRef, nodes: () => ReadonlySet<string>): News {
  const { watches } = kube;
  const name = groupNameOf(pool);
  return new News([
    sourceOf(watches.of(watchedGroups), ({ key }) => key === name),
    sourceOf(watches.of(watchedVersions), () => true),
    sourceOf(watches.of(watchedRecords), () => true),
    sourceOf(groupNodesOf(kube), ({ before, now }) => before?.providerId !== now?.providerId),
    sourceOf(kube.nodes, ({ key }) => nodes().has(key)),
  ]);
}
