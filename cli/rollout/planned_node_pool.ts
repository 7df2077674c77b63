/** Plans the rollout of a NodePool; the plan shows only the change of its image. */
import { readPlan } from "../../activities/pool/plan_rollout.ts";
import { absenceText, readDesired } from "../../activities/pool/read_desired.ts";
import { forecast } from "../../workflows/policy/forecast.ts";
import { Refusal } from "../failure.ts";
import { changesPatch, templateChanges } from "../view/template_changes.ts";
import type { PendingChange } from "./pending_change.ts";
import type { Planned, PlanPlace } from "./planned.ts";
import type { PoolRow } from "./pool_row.ts";
import { poolName } from "./pools.ts";

/** Returns the plan for the image that a NodePool requests; throws Refusal if the NodePool was deleted. */
export async function plannedForNodePool({ cluster, profileNamespace }: PlanPlace, row: PoolRow): Promise<Planned> {
  const { pool } = row;
  const reader = { kube: cluster.kube, profileNamespace };
  const state = await readDesired(reader, pool);
  if (state.state !== "Present") {
    throw new Refusal(`Failed to plan the rollout of "${poolName(pool)}": ${absenceText(state)}`);
  }
  const { desired: { image, revision, replicas }, rules: { source: policy, approval } } = state;
  const plan = await readPlan({ ...reader, forecast }, pool);
  const change = changeOf(row, { image, revision });
  return { pool, plan, change, policy, approval, isApplied: true, replicas, isNew: plan.machines === 0 };
}

function changeOf({ status }: PoolRow, { image, revision }: { image: string; revision: string }): PendingChange {
  const rest = { kubelet: "", configDigest: "" };
  const after = { title: revision, image, ...rest };
  const good = status?.lastGood;
  if (!good) return { after, changes: [], patch: "" };
  const before = { title: good.revision, image: good.image, ...rest };
  const changes = templateChanges({ image: good.image }, { image });
  return { before, after, changes, patch: changesPatch(changes, before.title, after.title) };
}
