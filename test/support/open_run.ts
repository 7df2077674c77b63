/** Returns the state of a workflow run that has just begun, for tests of functions that read or change the state. */
import type { CarriedState } from "../../workflows/contracts/mod.ts";
import { openRollout } from "../../workflows/state/rollout.ts";
import type { Rollout } from "../../workflows/state/rollout.ts";

const hour = 3_600_000;

/** The groups of the state's fields, each with only some of them. */
export type Given = { [Group in keyof Rollout]?: Partial<Rollout[Group]> };

/** Returns the state with which a run begins, except for the given fields. */
export function openRun(given: Given = {}, carried?: CarriedState): Rollout {
  const rollout = openRollout({
    pool: { namespace: "fleet", name: "pool" },
    durations: {
      settle: hour,
      instance: hour,
      address: hour,
      registered: hour,
      ready: hour,
      drain: hour,
      gone: hour,
      recheck: hour,
    },
    attempts: 2,
    publishOnly: false,
    carried,
  });
  for (const [group, fields] of Object.entries(given)) Object.assign(rollout[group as keyof Rollout], fields);
  return rollout;
}
