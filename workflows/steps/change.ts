/** What a run does when it learns what is desired, for the first time or anew. */
import type { Boot, Desired, Rules } from "../contracts/mod.ts";
import { callOff, callOffUpdates } from "../machine/tasks.ts";
import { readBeside } from "../proxies.ts";
import { dropBoots, takeBack } from "../state/machines.ts";
import { adoptMemory } from "../state/memory.ts";
import { beginChange } from "../state/rollout.ts";
import type { Part, Seen } from "../state/rollout.ts";
import type { Target } from "../state/target.ts";

/** Recalls what earlier runs left, once; before anything is reported, as a report writes it back. */
export async function recallEarlier(
  { settings: { pool }, target, memory, people, tasks }:
    & Seen<"settings" | "tasks">
    & Part<"target" | "memory" | "people">,
): Promise<void> {
  if (memory.recalled) return;
  const by = readBeside(tasks);
  const earlier = await by.recall.executeWithOptions({ summary: "Recall earlier rollouts" }, [{ pool }]);
  people.paused = earlier.paused;
  // Whoever wants no more than credentials means what stands; what changed since is more.
  target.startedFor ||= earlier.observed ?? "";
  adoptMemory(memory, earlier);
}

/** Takes over the rules as they are now, and begins afresh for another spec. */
export function noteChange(
  rollout: Part<"target" | "people" | "waves" | "machines" | "tasks" | "loop"> & Seen<"memory" | "view">,
  { desired, rules }: { desired: Desired; rules: Rules },
): void {
  const { target, people, view } = rollout;
  target.known = true;
  target.rules = rulesNow(target, rules);
  target.startedFor ||= desired.observed;
  if (target.change === desired.specHash) return;
  if (target.change !== "") supersede(rollout, desired, target.rules);
  // An abort that was done is over when something else is desired.
  if (view.standing.phase === "Aborted") people.abortAsked = null;
  beginChange(rollout, desired.specHash);
}

// Nobody can say which rules hold: what is under way goes on by those it began with, and nobody is called unhealthy.
function rulesNow({ rules: before }: Readonly<Target>, rules: Rules): Rules {
  const { conflict, repair } = rules;
  return conflict !== null && before ? { ...before, conflict, repair } : rules;
}

// Machines of the earlier change that are dropped become old ones that are not Ready, and so the first victims.
function supersede(
  { target, machines, memory, tasks }: Seen<"target" | "memory"> & Part<"machines" | "tasks">,
  desired: Desired,
  { onNewChange }: Rules,
): void {
  const isDropped = ({ templateHash = "" }: Pick<Boot, "templateHash">): boolean =>
    onNewChange === "Supersede" && templateHash !== desired.templateHash;
  callOffUpdates({ machines, tasks }, isDropped);
  callOff(tasks, (task) => task.kind === "gates" || task.kind === "stage" || (task.kind === "join" && isDropped(task)));
  // What has been called off may have ended by the next look, which has to be a new one to know of that.
  machines.glance = undefined;
  // Not by what is under way: a run that has just begun, or comes out of an outage, watches nothing yet.
  dropBoots(machines, isDropped, target.desired?.templateHash ?? "");
  // Applied again on the way back, it is left again.
  if (memory.rollback?.bad.specHash !== desired.specHash) takeBack(machines, desired.templateHash);
}
