/** Sees one machine join within its deadlines and pass its gates; one that does not is recreated, a bounded number of times. */
import { CancellationScope } from "@temporalio/workflow";
import type { Boot, Joined, JoinFailure } from "../contracts/mod.ts";
import { passGates } from "./gates.ts";
import { joinDeadlines } from "../policy/join_ladder.ts";
import { awaits, write } from "../proxies.ts";
import { giveUp } from "../steps/quarantine.ts";
import { recordJoin, warn } from "../state/rollout.ts";
import type { Rollout, Task } from "../state/rollout.ts";
import { begin } from "./tasks.ts";

/** Begins to watch a machine that boots; `enter` lets it boot first. */
export function beginJoin(
  rollout: Rollout,
  { machine, attempt, victim }: { machine: string; attempt: number; victim?: string },
  enter: () => Promise<void> = () => Promise.resolve(),
): void {
  const { since, attempt: nth, templateHash } = bootOf(rollout, machine, attempt);
  const until = deadlines(rollout, since).ready;
  const task: Task = {
    ...{ kind: "join", subject: machine, templateHash, step: "Joining", since, until },
    ...{ attempt: nth, blockers: [], doubt: "", ...(victim ? { victim } : {}) },
  };
  begin(rollout, task, async () => {
    await enter();
    await seeJoin(rollout, task);
  });
}

// A join that is begun again is of the change that its machine was admitted for, whatever is desired by now.
function bootOf(rollout: Rollout, machine: string, attempt: number): Boot & { templateHash: string } {
  const { templateHash = "", kubelet = "" } = rollout.desired ?? {};
  const known = rollout.booting[machine];
  // Whoever boots for a place that failed takes its attempts over, once.
  if (!known) rollout.retries = without(rollout.retries, attempt);
  return rollout.booting[machine] = { templateHash, kubelet, ...(known ?? { since: Date.now(), attempt }) };
}

async function seeJoin(rollout: Rollout, task: Task): Promise<void> {
  const machine = task.subject;
  const { kubelet = "" } = rollout.booting[machine] ?? {};
  const verdict = await awaits.awaitMachinesJoined.executeWithOptions({ summary: `Wait for ${machine} to join` }, [
    { pool: rollout.pool, kubelet, machines: [{ machine, deadlines: deadlines(rollout, task.since) }] },
  ]);
  if (isCalledOff()) return;
  const [joined, failure] = [verdict.joined[0], verdict.failed[0]];
  if (joined) return await prove(rollout, task, joined);
  if (failure) return await recreate(rollout, task, failure);
  delete rollout.booting[machine];
}

async function prove(rollout: Rollout, task: Task, joined: Joined): Promise<void> {
  const { machine, node } = joined;
  Object.assign(task, { step: "Gates", node });
  const key = `${task.templateHash} ${machine}`;
  const failed = await passGates(rollout, task, { run: "EachMachine", key, machine, node });
  if (failed) return await recreate(rollout, task, { machine, rung: "gates", evidence: failed });
  recordJoin(rollout, joined);
}

async function recreate(rollout: Rollout, task: Task, { machine, rung, evidence }: JoinFailure): Promise<void> {
  if (isOfEarlier(rollout, task)) return dropEarlier(rollout, machine);
  const attempt = (rollout.booting[machine]?.attempt ?? 0) + 1;
  const allowed = rollout.rules?.join.attempts ?? rollout.attemptsAllowed;
  const isLast = attempt > allowed;
  const next = isLast ? "it was the last attempt" : `recreating it, ${attempt} of ${allowed}`;
  const message = `Machine "${machine}" did not get past "${rung}": ${evidence}`;
  warn(rollout, "JoinDeadlineExceeded", `${message}; ${next}`);
  if (isLast && await isLastStraw(rollout, machine, message)) return;
  await write.deleteMachine.executeWithOptions({ summary: `Recreate ${machine}` }, [{ pool: rollout.pool, machine }]);
  if (isCalledOff()) return;
  // Not before it is on its way out: one that is Ready, and boots no more, is taken for one that passed its gates.
  delete rollout.booting[machine];
  if (!isLast && !isOfEarlier(rollout, task)) rollout.retries = [...rollout.retries, attempt];
}

function isOfEarlier({ desired }: Rollout, { templateHash }: Task): boolean {
  return templateHash !== desired?.templateHash;
}

// It says nothing about what is desired now; as an old machine it is replaced in its turn.
function dropEarlier(rollout: Rollout, machine: string): void {
  delete rollout.booting[machine];
  warn(rollout, "MachineDropped", `Machine "${machine}" of an earlier change did not join: it is replaced in its turn`);
}

// The last one is kept, so that somebody can look at it.
async function isLastStraw(rollout: Rollout, machine: string, message: string): Promise<boolean> {
  const boot = rollout.booting[machine];
  // Once, however often its deletion has to be tried again.
  if (!boot?.counted) rollout.failedMachines += 1;
  if (boot) boot.counted = true;
  if (rollout.failedMachines < (rollout.rules?.maxFailed ?? 1)) return false;
  rollout.failed = [...rollout.failed, machine];
  delete rollout.booting[machine];
  await giveUp(rollout, { reason: "JoinAttemptsExhausted", message });
  return true;
}

// What was asked may be answered yet, but whoever called it off has begun something else.
function isCalledOff(): boolean {
  return CancellationScope.current().consideredCancelled;
}

function deadlines(rollout: Rollout, since: number): ReturnType<typeof joinDeadlines> {
  const { durations, rules } = rollout;
  const rung = (name: "instance" | "address" | "registered" | "ready"): number => rules?.join[name] ?? durations[name];
  const ladder = { instance: rung("instance"), address: rung("address"), registered: rung("registered") };
  return joinDeadlines(since, { ...ladder, ready: rung("ready") });
}

function without(numbers: number[], one: number): number[] {
  const at = numbers.indexOf(one);
  return at < 0 ? numbers : numbers.toSpliced(at, 1);
}
