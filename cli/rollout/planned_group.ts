/** The plan of a scaling group: its machines are in a cloud, which only workers see, so one of them makes it. */
import { z } from "zod";
import { Metadata } from "../../activities/kube/schemas.ts";
import { rulesFor } from "../../activities/policy/rules_for.ts";
import { changesPatch, templateChanges } from "../view/template_changes.ts";
import { needVersion, type VersionRow } from "./node_versions.ts";
import type { PendingChange } from "./pending_change.ts";
import type { Planned, PlanPlace } from "./planned.ts";
import type { PoolRow } from "./pool_row.ts";
import { readGroup } from "./scaling_groups.ts";

/** The plan of what is released to it; what is not yet is told. */
export async function plannedForGroup({ cluster, engine }: PlanPlace, row: PoolRow): Promise<Planned> {
  const { pool, replicas, follows } = row;
  const { metadata } = z.object({ metadata: Metadata }).parse(await readGroup(cluster.kube, pool));
  const [version, { source: policy, approval }] = [
    await needVersion(cluster, follows?.version ?? "", [row]),
    await rulesFor(cluster.kube, { metadata }, Date.now()),
  ];
  const made = await (await engine()).plan(pool);
  // Once all run it there is nothing to be released.
  const mayBegin = version.released === follows?.stage || version.ready.status === "True";
  const waits = mayBegin ? [] : [`NodeVersion "${version.name}" is not released to it yet`];
  const plan = { ...made, blocked: [...waits, ...made.blocked] };
  return { pool, plan, change: changeOf(row, version), policy, approval, isApplied: true, replicas, isNew: false };
}

/** Images alone are told: which components the nodes run stands on the nodes. */
function changeOf({ status }: PoolRow, { image, imageVersion }: VersionRow): PendingChange {
  const rest = { kubelet: "", configDigest: "" };
  const after = { title: imageVersion || image, image, ...rest };
  const good = status?.lastGood;
  if (!good) return { after, changes: [], patch: "" };
  const before = { title: good.revision, image: good.image, ...rest };
  const changes = templateChanges({ image: good.image }, { image });
  return { before, after, changes, patch: changesPatch(changes, before.title, after.title) };
}
