/** The backend of ScalingGroups: a cloud makes the machines, from a template that we choose, and removes them when it is told to. */
import { lookEveryOf } from "../../clouds/cloud_of.ts";
import type { Kube } from "../../kube/client.ts";
import type { Backend, Waker } from "../contract.ts";
import { publishBoots, readGroupWanted, restoreGroup } from "./boots.ts";
import { admitMember, chooseMember, spareMember } from "./orders.ts";
import { releaseGroup, removeGroupFinalizer, removeMember, seeMemberOff } from "./removals.ts";
import { welcomeMember } from "./hand_over.ts";
import { observeGroup, readGroupMember, readGroupState } from "./observe.ts";
import { relieveMember } from "./relieve.ts";
import { readSubject } from "./subject.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { News, sourceOf } from "../../kube/polling.ts";
import { SharedWatch } from "../../kube/informer.ts";
import {
  NodeVersion,
  nodeVersions,
  PendingNode,
  pendingNodes,
  ScalingGroup,
  scalingGroups,
} from "../../kube/update_kinds.ts";
import { nodeWatchOf } from "../../node/node_watch.ts";
import { groupNodesOf } from "./group_nodes.ts";
import { digestOf } from "./version_release.ts";
import { groupNameOf } from "./sight.ts";

export function scalingGroup(kube: Kube): Backend {
  return {
    maker: "the scaling group",
    lookEvery: () => lookEveryOf(kube),
    boots: {
      publish: (order) => publishBoots(kube, order),
      letGo: (pool) => removeGroupFinalizer(kube, pool),
    },
    subject: (pool) => readSubject(kube, pool),
    wanted: (pool) => readGroupWanted(kube, pool),
    isSurelyUnsettled: () => false,
    isSurelyUnused: () => false,
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
function lookingAgain(kube: Kube, now: number): Waker {
  let next = now + lookEveryOf(kube);
  return {
    lookBy: () => next,
    wake: (_, at) => {
      next = at + lookEveryOf(kube);
      return Promise.resolve();
    },
  };
}

// News of groups, of what they follow, of records and of nodes; the cloud tells none, so waits look by the clock too.

/** Identities alone are kept of what is read anew by who is woken. */
class GroupWatches {
  readonly groups: SharedWatch<string>;
  readonly versions: SharedWatch<string>;
  readonly records: SharedWatch<string>;

  constructor(kube: Kube) {
    const identity = ({ metadata: { uid, generation, annotations, deletionTimestamp } }: {
      metadata: {
        uid: string;
        generation?: number | undefined;
        annotations?: object | undefined;
        deletionTimestamp?: string | undefined;
      };
    }): string => digestOf([uid, generation, annotations, deletionTimestamp]);
    this.groups = new SharedWatch(kube, { ...scalingGroups, schema: ScalingGroup.transform(identity) });
    this.versions = new SharedWatch(kube, {
      ...nodeVersions,
      schema: NodeVersion.transform((version) => digestOf([identity(version), version.status?.["released"]])),
    });
    this.records = new SharedWatch(kube, {
      ...pendingNodes,
      schema: PendingNode.transform((record) => digestOf([identity(record), record.spec, record.status?.reachedGoal])),
    });
  }
}

const known = new WeakMap<object, GroupWatches>();

function watchesOf(kube: Kube): GroupWatches {
  const watches = known.get(kube.core) ?? new GroupWatches(kube);
  known.set(kube.core, watches);
  return watches;
}

/** What a group asks for. */
function newsOfGroup(kube: Kube, pool: PoolRef): News {
  const { groups, versions } = watchesOf(kube);
  const name = groupNameOf(pool);
  return new News([sourceOf(groups, ({ key }) => key === name), sourceOf(versions, () => true)]);
}

/** The same, with its machines: of records and nodes nobody can tell whose they are before they are read. */
function newsOfMembers(kube: Kube, pool: PoolRef, nodes: () => ReadonlySet<string>): News {
  const { groups, versions, records } = watchesOf(kube);
  const name = groupNameOf(pool);
  return new News([
    sourceOf(groups, ({ key }) => key === name),
    sourceOf(versions, () => true),
    sourceOf(records, () => true),
    sourceOf(groupNodesOf(kube), ({ before, now }) => before?.providerId !== now?.providerId),
    sourceOf(nodeWatchOf(kube), ({ key }) => nodes().has(key)),
  ]);
}
