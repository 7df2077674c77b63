/** The state of one run, as plain JSON in groups; the file of each group has the functions that change the group. */
import type { CarriedState, Desired, Phase, PoolEvent } from "../contracts/mod.ts";
import { freshState, type ParsedInput, type Settings } from "./input.ts";
import { beginLoop, type Loop, openLoop } from "./loop.ts";
import { dropBoots, forgetFailures, type Machines, openMachines, takeBack } from "./machines.ts";
import type { Memory } from "./memory.ts";
import { forgetPlan, openPeople, type People } from "./people.ts";
import { countJoinsAnew, type Records } from "./records.ts";
import { openSlots, type Slots } from "./slots.ts";
import { isBadAgain, openTarget, type Spec, type Target } from "./target.ts";
import { openTasks, type Tasks } from "./tasks.ts";
import { beginWaves, type Waves } from "./waves.ts";
import type { Blocked } from "../policy/turn.ts";

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

/** The groups of the state that a function may change. */
export type Part<Group extends keyof Rollout> = Pick<Rollout, Group>;

/** The groups of the state that a function only reads; all groups when none is named. */
export type Seen<Group extends keyof Rollout = keyof Rollout> = { readonly [Each in Group]: Readonly<Rollout[Each]> };

/** All groups of the state to read, and the group `view` to change. */
export type Telling = Seen & Part<"view">;

/** Opens a run, or continues where the previous run of the chain stopped. */
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

/**
 * Resets the state for another template; during a rollback, the number of failures and the machines that were skipped
 * or set aside stay.
 */
export function beginChange(
  { target, people, waves, machines, records, loop, memory }:
    & Part<"target" | "people" | "waves" | "machines" | "records" | "loop">
    & Seen<"memory">,
  { specHash, templateHash, stamp }: Spec & Pick<Desired, "stamp">,
): void {
  // Machines that a person skipped stay skipped only if Ostler alone changed the template, which the stamp shows.
  const isStamped = target.stamped === true || (target.stamped !== false && target.stamped === stamp);
  const isBack = memory.rollback !== null;
  if (!isBack && target.change !== "") beginRollout({ target, records });
  if (!isBack && !isStamped) people.skipped = [];
  Object.assign(target, { change: specHash, template: templateHash, stamped: false });
  forgetFailures(machines, { keepCounts: isBack });
  forgetPlan(people);
  beginWaves(waves);
  beginLoop(loop);
}

/** Records that another rollout begins now, with its own entry in the history of the pool. */
export function beginRollout({ target, records }: Part<"target" | "records">): void {
  target.startedAt = Date.now();
  countJoinsAnew(records);
}

/**
 * Resets the state for another config of the same template: its machines get fresh attempts, and the waves and the
 * commands of people stay. During a rollback the number of failures stays, and the change that is rolled back gets no
 * fresh attempts.
 */
export function beginConfig(
  { target, machines, loop, memory }: Part<"target" | "machines" | "loop"> & Seen<"memory">,
  { specHash, templateHash }: Spec,
): void {
  target.change = specHash;
  if (memory.rollback === null) machines.failures = 0;
  machines.retries = [];
  // A failed machine that is Ready must not count as one that passed its gates.
  dropBoots(machines, () => false, templateHash);
  machines.failed = [];
  if (!isBadAgain({ specHash, templateHash }, memory)) takeBack(machines, templateHash);
  beginLoop(loop);
}

// The content of the Rollout and of the web UI.

/** The current status; `until` is the absolute deadline of the current wait. */
export interface Standing {
  phase: Phase;
  reason: string;
  message: string;
  since: number;
  until?: number;
}

interface View {
  standing: Standing;
  /** Why no further step begins; null if nothing blocks. */
  blocked: Blocked | null;
  /** The last state written to the Rollout object, as JSON. */
  shown: string;
  /** Events for the next report. */
  news: PoolEvent[];
}

/** How many Events may wait for a report; without a limit, the list would grow during an outage. */
const newsKept = 50;

/** Returns the view of a run that begins. */
function openView(now: number): View {
  return {
    standing: { phase: "Preparing", reason: "Starting", message: "Reading the desired state", since: now },
    blocked: null,
    shown: "",
    news: [],
  };
}

/** Adds a Normal Event to the next report. */
export function tell(view: View, reason: string, message: string): void {
  addNews(view, { type: "Normal", reason, message });
}

/** Adds a Warning Event to the next report. */
export function warn(view: View, reason: string, message: string): void {
  addNews(view, { type: "Warning", reason, message });
}

/** Adds an Event to the next report. */
export function addNews(view: View, event: PoolEvent): void {
  view.news = [...view.news, event].slice(-newsKept);
}
