/** The state of one run, as plain JSON, in groups; each group's file holds the small steps that change it. */
import type { CarriedState } from "../contracts/mod.ts";
import { freshState } from "./carried.ts";
import type { ParsedInput, Settings } from "./input.ts";
import { beginLoop, openLoop } from "./loop.ts";
import type { Loop } from "./loop.ts";
import { forgetFailures, openMachines } from "./machines.ts";
import type { Machines } from "./machines.ts";
import type { Memory } from "./memory.ts";
import { forgetPlan, openPeople } from "./people.ts";
import type { People } from "./people.ts";
import type { Records } from "./records.ts";
import { openSlots } from "./slots.ts";
import type { Slots } from "./slots.ts";
import { openTarget } from "./target.ts";
import type { Target } from "./target.ts";
import { openTasks } from "./tasks.ts";
import type { Tasks } from "./tasks.ts";
import { openView } from "./view.ts";
import type { View } from "./view.ts";
import { beginWaves } from "./waves.ts";
import type { Waves } from "./waves.ts";

export interface Rollout {
  readonly settings: Settings;
  readonly target: Target;
  readonly people: People;
  readonly waves: Waves;
  readonly machines: Machines;
  readonly tasks: Tasks;
  readonly slots: Slots;
  readonly memory: Memory;
  readonly records: Records;
  readonly loop: Loop;
  readonly view: View;
}

/** The groups that a function may change. */
export type Part<Group extends keyof Rollout> = Pick<Rollout, Group>;

/** The groups that a function only looks at; all of them when none is named. */
export type Seen<Group extends keyof Rollout = keyof Rollout> = { readonly [Each in Group]: Readonly<Rollout[Each]> };

/** All of it to look at, and what people read to change. */
export type Telling = Seen & Part<"view">;

/** Opens a run, or goes on where the run before it in the chain stopped. */
export function openRollout({ carried, ...settings }: ParsedInput): Rollout {
  const now = Date.now();
  const state: CarriedState = carried ?? freshState(now);
  return {
    settings,
    target: openTarget(state.target),
    people: openPeople(state.people),
    waves: { ...state.waves },
    machines: openMachines(state.machines),
    tasks: openTasks(),
    slots: openSlots(state.slots),
    memory: { ...state.memory },
    records: { ...state.records },
    loop: openLoop(state.loop, now),
    view: openView(now),
  };
}

/** Starts the counters afresh for another spec; on the way back those of the spec that is left are kept. */
export function beginChange(
  { target, people, waves, machines, loop, memory }:
    & Part<"target" | "people" | "waves" | "machines" | "loop">
    & Seen<"memory">,
  specHash: string,
): void {
  const isBack = memory.rollback !== null;
  if (!isBack && target.change !== "") target.startedAt = Date.now();
  target.change = specHash;
  if (!isBack) people.skipped = [];
  forgetFailures(machines, { keepCounts: isBack });
  forgetPlan(people);
  beginWaves(waves);
  beginLoop(loop);
}
