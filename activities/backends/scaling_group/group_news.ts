/** News of groups, of what they follow, of records and of nodes; the cloud tells none, so waits look by the clock too. */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { News, sourceOf } from "../../kube/news.ts";
import { SharedWatch } from "../../kube/shared_watch.ts";
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
import { digestOf } from "../../node_version/release.ts";
import { groupNameOf } from "./sight.ts";

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
export function newsOfGroup(kube: Kube, pool: PoolRef): News {
  const { groups, versions } = watchesOf(kube);
  const name = groupNameOf(pool);
  return new News([sourceOf(groups, ({ key }) => key === name), sourceOf(versions, () => true)]);
}

/** The same, with its machines: of records and nodes nobody can tell whose they are before they are read. */
export function newsOfMembers(kube: Kube, pool: PoolRef, nodes: () => ReadonlySet<string>): News {
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
