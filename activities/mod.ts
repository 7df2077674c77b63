/** Everything a rollout does to the world; the only export that workers use. */
import type { AwaitActivities, PublishActivities, ReadActivities, WriteActivities } from "../workflows/contracts.ts";
import { ensurePoolCleanedUp } from "./config/clean_up.ts";
import { listDuePools } from "./config/due_pools.ts";
import { publishConfig } from "./config/publish_config.ts";
import type { Publisher } from "./config/publish_config.ts";
import { renderConfig } from "./config/render_config.ts";
import { awaitMachinesJoined } from "./pool/await_joined.ts";
import { awaitMachineGone, awaitVictimLeaving } from "./pool/await_machine.ts";
import { awaitNodeDrained, ensureNodeCordoned } from "./pool/drain.ts";
import {
  deleteMachine,
  ensureMachineAdmitted,
  ensureVictimMarked,
  ensureVictimReleased,
  ensureVictimUnmarked,
} from "./pool/holds.ts";
import { awaitDesiredSettled, readDesired } from "./pool/read_desired.ts";
import { awaitPoolChanged, readPool } from "./pool/read_pool.ts";
import { ensureRolloutReported } from "./status/report_rollout.ts";

export type Activities = ReadActivities & PublishActivities & WriteActivities & AwaitActivities;

/** The activities over one API server. */
export function createActivities(deps: Publisher): Activities {
  const { kube } = deps;
  return {
    readDesired: ({ pool }) => readDesired(deps, pool),
    readPool: (input) => readPool(kube, input),
    listDuePools: (input) => listDuePools(deps, input),
    renderConfig: ({ pool }) => renderConfig(deps, pool),
    publishConfig: (input) => publishConfig(deps, input),
    ensureRolloutReported: (input) => ensureRolloutReported(kube, input),
    ensureVictimMarked: (input) => ensureVictimMarked(kube, input),
    ensureVictimUnmarked: (input) => ensureVictimUnmarked(kube, input),
    ensureMachineAdmitted: (input) => ensureMachineAdmitted(kube, input),
    ensureNodeCordoned: (input) => ensureNodeCordoned(kube, input),
    ensureVictimReleased: (input) => ensureVictimReleased(kube, input),
    deleteMachine: (input) => deleteMachine(kube, input),
    ensurePoolCleanedUp: ({ pool }) => ensurePoolCleanedUp(deps, pool),
    awaitDesiredSettled: (input) => awaitDesiredSettled(deps, input),
    awaitPoolChanged: (input) => awaitPoolChanged(kube, input),
    awaitMachinesJoined: (input) => awaitMachinesJoined(kube, input),
    awaitVictimLeaving: (input) => awaitVictimLeaving(kube, input),
    awaitNodeDrained: (input) => awaitNodeDrained(kube, input),
    awaitMachineGone: (input) => awaitMachineGone(kube, input),
  };
}
