/** Lets one machine fetch the image for its next boot; nothing on the machine is stopped. */
import { sleep } from "@temporalio/workflow";
import type { Member, StageOutcome } from "../contracts/mod.ts";
import { inPlaceOf, mayPass } from "../policy/in_place.ts";
import { updates } from "../proxies.ts";
import { noteLately } from "../state/machines.ts";
import type { Task } from "../state/tasks.ts";
import { tell } from "../state/rollout.ts";
import { failUpdate } from "./fail_update.ts";
import type { Updated } from "./fail_update.ts";
import { leaveToReplace } from "./replace_instead.ts";
import { begin } from "./tasks.ts";

/** The pause before a machine is asked again (ms). */
const pauseMs = 30_000;

/** Begins to stage the desired image on a machine that stays in service. */
export function beginStage(rollout: Updated, machine: Member): void {
  const { desired, rules } = rollout.target;
  if (!desired || !rules) return;
  const now = Date.now();
  const task: Task = {
    ...{ kind: "stage", subject: machine.id, node: machine.id, templateHash: desired.templateHash, step: "Staging" },
    ...{ since: now, until: now + inPlaceOf(rules).stage, attempt: 0, blockers: [], doubt: "" },
  };
  begin(rollout, task, () => stage(rollout, task, desired.image));
}

async function stage(rollout: Updated, task: Task, image: string): Promise<void> {
  const { machines, view } = rollout;
  const { subject, templateHash } = task;
  const seen = await askStaged(rollout, task, { image });
  if (seen.outcome === "Gone") return;
  if (seen.outcome === "Failed") return noteLately(machines, subject, { is: "Refused", templateHash, at: Date.now() });
  if (seen.outcome === "Refused" && await leaveToReplace(rollout, task, { image, seen })) return;
  if (seen.outcome === "Refused" || seen.outcome === "Unknown") {
    return await failUpdate(rollout, task, { image, reason: "StageRefused", message: messageOf(seen) });
  }
  noteLately(machines, subject, { is: seen.outcome === "Booted" ? "Updated" : "Staged", templateHash, at: Date.now() });
  if (seen.outcome === "Staged") tell(view, "ImageStaged", `Staged image "${image}" on node "${subject}"`);
}

/** Returns why nothing is staged on a machine. */
export function messageOf(
  seen: { outcome: "Refused"; reason: string; message: string } | { outcome: "Unknown"; message: string },
): string {
  return seen.outcome === "Refused" ? `${seen.reason}: ${seen.message}` : `no answer: ${seen.message}`;
}

/**
 * Asks until the image is staged or refused for good. A refusal that may pass is retried a few times; a machine or a
 * registry that does not answer is retried until the time is over. With `isAskedAgain`, also asks a machine on which
 * the image failed before.
 */
export async function askStaged(
  { settings: { pool }, people: { retriedAt } }: Pick<Updated, "settings" | "people">,
  task: Task,
  { image, isAskedAgain }: { image: string; isAskedAgain?: true | undefined },
): Promise<StageOutcome> {
  const { subject: machine, until } = task;
  for (let asked = 1;; asked++) {
    const summary = `Stage ${image.slice(-12)} on ${machine}`;
    const seen = await updates.awaitImageStaged.executeWithOptions({ summary }, [
      { pool, machine, image, retriedAt, until, ...(isAskedAgain ? { isAskedAgain } : {}) },
    ]);
    if (!mayPass(seen, asked) || Date.now() + pauseMs >= until) return seen;
    await sleep(pauseMs, { summary: `Retry ${machine}: ${messageOf(seen)}`.slice(0, 200) });
  }
}
