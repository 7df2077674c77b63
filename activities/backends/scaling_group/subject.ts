/** The object that a scaling group's Rollout and Events are about. */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { readClusterObject } from "../../kube/resources.ts";
import { ifFound } from "../../kube/status.ts";
import { type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import type { Subject } from "../../status/events.ts";
import { groupNameOf } from "./sight.ts";

const object = { apiVersion: "update.edgeless.systems/v1alpha1", kind: "ScalingGroup" };

/** Undefined for a group that is gone. */
export async function readSubject(kube: Kube, pool: PoolRef): Promise<Subject | undefined> {
  const group = await ifFound(readClusterObject(kube, scalingGroups, groupNameOf(pool)));
  return group && subjectOfGroup(group);
}

/** It is in no namespace. */
export function subjectOfGroup({ metadata: { name, uid } }: Pick<ScalingGroup, "metadata">): Subject {
  return { namespace: "", name, uid, object };
}
