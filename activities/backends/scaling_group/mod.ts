/** The backend of ScalingGroups: a cloud makes the machines, from a template that we choose, and removes them when it is told to. */
import type { Cluster } from "../../cluster.ts";
import type { Resource } from "../../kube/resources.ts";
import type { Backend, Waker } from "../contract.ts";
import { publishBoots, readGroupWanted, restoreGroup } from "./boots.ts";
import { admitMember, chooseMember, spareMember } from "./orders.ts";
import { releaseGroup, removeGroupFinalizer, removeMember, seeMemberOff } from "./removals.ts";
import { welcomeMember } from "./hand_over.ts";
import { observeGroup, readGroupMember, readGroupState } from "./observe.ts";
import { relieveMember } from "./control_plane.ts";
import { groupNameOf, readSubject } from "./sight.ts";
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

export function scalingGroup(kube: Cluster): Backend {
  return {
    maker: "the scaling group",
    lookEvery: () => kube.cloud.lookEvery,
    boots: {
      publish: (order) => publishBoots(kube, order),
      letGo: (pool) => removeGroupFinalizer(kube, pool),
    },
    subject: (pool) => readSubject(kube, pool),
    wanted: (pool) => readGroupWanted(kube, pool),
    isSurelyUnsettled: () => false,
    observe: (pool) => observeGroup(kube, pool),
    member: (member) => readGroupMember(kube, member),
    state: (member) => readGroupState(kube, member),
    admit: (order) => admitMember(kube, order),
    welcome: (member) => welcomeMember(kube, member),
    choose: (member) => chooseMember(kube, member),
    spare: (member) => spareMember(kube, member),
    relieve: (order) => relieveMember(kube, order),
    release: (member) => removeMember(kube, member),
    replace: (member) => removeMember(kube, member),
    seeOff: (member) => seeMemberOff(kube, member),
    releaseAll: (pool) => releaseGroup(kube, pool),
    restore: (order) => restoreGroup(kube, order),
    // Image and components are all that machines differ in, and both are of the target.
    stamp: () => Promise.resolve(),
    keep: undefined,
    beginToWatch: () => {},
    newsOfWanted: (pool) => newsOfGroup(kube, pool),
    newsOfPool: (pool, nodes) => newsOfMembers(kube, pool, nodes),
    newsOfMachines: ({ pool }, nodes = () => new Set()) => newsOfMembers(kube, pool, nodes),
    waker: (_, now) => lookingAgain(kube, now),
  };
}

/** Wakes nobody: it only looks, as the cloud tells no news. */
function lookingAgain(kube: Cluster, now: number): Waker {
  let next = now + kube.cloud.lookEvery;
  return {
    lookBy: () => next,
    wake: (_, at) => {
      next = at + kube.cloud.lookEvery;
      return Promise.resolve();
    },
  };
}

// News of groups, of what they follow, of records and of nodes; the cloud tells none, so waits look by the clock too.

// Only identities are kept, as whoever is woken reads the objects anew.
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

/** What a group asks for. */
function newsOfGroup(kube: Cluster, pool: PoolRef): News {
  const { watches } = kube;
  const name = groupNameOf(pool);
  return new News([
    sourceOf(watches.of(watchedGroups), ({ key }) => key === name),
    sourceOf(watches.of(watchedVersions), () => true),
  ]);
}

/** Changes of a group and of its machines; any change of a PendingNode counts, as only a read shows its group. */
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
