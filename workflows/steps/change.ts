/** What a run does when it learns what is desired, for the first time or anew. */
import type { Boot, Desired, Rules } from "../contracts/mod.ts";
import { read } from "../proxies.ts";
import { beginChange } from "../state/rollout.ts";
import type { Rollout } from "../state/rollout.ts";
import { callOff } from "../machine/tasks.ts";

/** Recalls what earlier runs left, once; before anything is reported, as a report writes it back. */
export async function recallEarlier(rollout: Rollout): Promise<void> {
  if (rollout.recalled) return;
  const { pool } = rollout;
  rollout.memory = await read.recall.executeWithOptions({ summary: "Recall earlier rollouts" }, [{ pool }]);
  rollout.recalled = true;
}

/** Takes over the rules as they are now, and begins afresh for another spec. */
export function noteChange(rollout: Rollout, { desired, rules }: { desired: Desired; rules: Rules }): void {
  rollout.known = true;
  rollout.rules = rulesNow(rollout, rules);
  rollout.startedFor ||= desired.observed;
  if (rollout.change === desired.specHash) return;
  if (rollout.change !== "") supersede(rollout, desired, rollout.rules);
  // An abort that was done is over when something else is desired.
  if (rollout.standing.phase === "Aborted") rollout.abortAsked = null;
  beginChange(rollout, desired.specHash);
}

// Nobody can say which rules hold: what is under way goes on by those it began with, and nobody is called ill.
function rulesNow({ rules: before }: Rollout, rules: Rules): Rules {
  const { conflict, repair } = rules;
  return conflict !== null && before ? { ...before, conflict, repair } : rules;
}

// Machines of the earlier change that are dropped become old ones that are not Ready, and so the first victims.
function supersede(rollout: Rollout, desired: Desired, { onNewChange }: Rules): void {
  const isDropped = (templateHash: string): boolean =>
    onNewChange === "Supersede" && templateHash !== desired.templateHash;
  callOff(rollout, ({ kind, templateHash }) => kind === "gates" || (kind === "join" && isDropped(templateHash)));
  // Not by what is under way: a run that has just begun, or comes out of an outage, watches nothing yet.
  const entries = Object.entries(rollout.booting);
  const kept = entries.filter(([, { templateHash = "" }]) => !isDropped(templateHash));
  drop(rollout, entries.filter(([, { templateHash = "" }]) => isDropped(templateHash)));
  rollout.booting = { ...Object.fromEntries(kept), ...takenBack(rollout, desired) };
}

/** Machines of changes that were left which are remembered. */
const droppedKept = 200;

// One that is Ready, and boots no more, would else be taken for one that passed its gates.
function drop(rollout: Rollout, boots: [string, Boot][]): void {
  const { templateHash = "" } = rollout.desired ?? {};
  const failed = rollout.failed.map((machine): [string, Boot] => [machine, { since: 0, attempt: 0, templateHash }]);
  const all = [...Object.entries(rollout.dropped), ...boots, ...failed];
  rollout.dropped = Object.fromEntries(all.slice(-droppedKept));
}

function takenBack(rollout: Rollout, { templateHash, specHash }: Desired): Rollout["booting"] {
  if (rollout.rollBack?.bad.specHash === specHash) return {}; // it is applied again, and left again
  const isBack = ([, boot]: [string, Boot]): boolean => boot.templateHash === templateHash;
  const entries = Object.entries(rollout.dropped);
  rollout.dropped = Object.fromEntries(entries.filter((each) => !isBack(each)));
  return Object.fromEntries(entries.filter(isBack).map(([id, boot]) => [id, { ...boot, since: Date.now() }]));
}
