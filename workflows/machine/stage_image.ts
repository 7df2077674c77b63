/** Lets one machine fetch the image for its next boot; nothing on the machine is stopped. */
import { sleep } from "@temporalio/workflow";
import type { Member, StageOutcome } from "../contracts/mod.ts";
import { inPlaceOf, mayPass } from "../policy/in_place.ts";
import { updates } from "../proxies.ts";
import type { StagingOutcome } from "../state/outcomes.ts";
import type { Seen } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { failUpdate } from "./fail_update.ts";
import { leaveToReplace } from "./replace_instead.ts";
import type { Job, Work } from "./work.ts";

/** The pause before the next order to a machine (ms). */
const pauseMs = 30_000;

/**
 * Prepares a task that stages the desired image on a machine, which stays in service; undefined while the desired state
 * is unknown.
 */
export function prepareStage({ target: { desired, rules } }: Seen<"target">, machine: Member): Job | undefined {
  if (!desired || !rules) return undefined;
  const now = Date.now();
  const task: Task = {
    ...{ kind: "stage", subject: machine.id, node: machine.id, templateHash: desired.templateHash, step: "Staging" },
    ...{ since: now, until: now + inPlaceOf(rules).stage, attempt: 0, blockers: [], doubt: "" },
  };
  return { task, run: (work) => stage(work, desired.image) };
}

async function stage(work: Work, image: string): Promise<StagingOutcome> {
  const { subject, until } = work.task;
  const seen = await askStaged(work, { image, until });
  if (seen.outcome === "Gone") return { is: "Unchanged" };
  if (seen.outcome === "Failed") return { is: "Staged", lately: "Refused", at: Date.now() };
  const left = seen.outcome === "Refused" ? await leaveToReplace(work, { image, seen }) : undefined;
  if (left) return left;
  if (seen.outcome === "Refused" || seen.outcome === "Unknown") {
    await failUpdate(work, { image, reason: "StageRefused", message: messageOf(seen) });
    return { is: "Unchanged" };
  }
  const at = Date.now();
  if (seen.outcome === "Booted") return { is: "Staged", lately: "Updated", at };
  const message = `Staged image "${image}" on node "${subject}"`;
  return { is: "Staged", lately: "Staged", at, news: { type: "Normal", reason: "ImageStaged", message } };
}

/**
 * Returns why nothing is staged on a machine; the message of Unknown names the node and states that it did not respond.
 */
export function messageOf(
  seen: { outcome: "Refused"; reason: string; message: string } | { outcome: "Unknown"; message: string },
): string {
  return seen.outcome === "Refused" ? `${seen.reason}: ${seen.message}` : seen.message;
}

/**
 * Orders a machine to stage the image until it is staged or refused for good. Repeats the order a few times after a
 * refusal that may be temporary, and until `until` if the machine or the registry does not respond. With
 * `isAskedAgain`, also orders a machine on which the image failed before.
 */
export async function askStaged(
  { settings: { pool }, people: { retriedAt }, task: { subject: machine } }: Work,
  { image, until, isAskedAgain }: { image: string; until: number; isAskedAgain?: true | undefined },
): Promise<StageOutcome> {
  for (let asked = 1;; asked++) {
    const summary = `Stage image ${image.slice(-12)} on ${machine}`;
    const seen = await updates.awaitImageStaged.executeWithOptions({ summary }, [
      { pool, machine, image, retriedAt, until, ...(isAskedAgain ? { isAskedAgain } : {}) },
    ]);
    if (!mayPass(seen, asked) || Date.now() + pauseMs >= until) return seen;
    await sleep(pauseMs, { summary: `Retry the staging on ${machine}: ${messageOf(seen)}`.slice(0, 200) });
  }
}
