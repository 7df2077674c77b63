/** Changes the state according to the reports of updates in place, and of the tasks that stage their images. */
import type { Updating } from "../contracts/mod.ts";
import { noteLately } from "./machines.ts";
import type { StagingOutcome, UpdateEvent, UpdateOutcome } from "./outcomes.ts";
import { giveUp, type GivingUp } from "./quarantine.ts";
import { recordJoin } from "./results.ts";
import { addNews, type Part, tell, warn } from "./rollout.ts";
import type { Task } from "./tasks.ts";

type Updated = GivingUp & Part<"records">;

/** Applies an event or the outcome of an update in place, or of a task that stages an image. */
export function applyUpdate(
  state: Updated,
  task: Task,
  event: UpdateEvent | UpdateOutcome | Exclude<StagingOutcome, { is: "Unchanged" }>,
): void {
  const { machines, view } = state;
  const { subject: machine, templateHash } = task;
  const update = machines.updating[machine];
  switch (event.is) {
    case "Staged":
      noteLately(machines, machine, { is: event.lately, templateHash, at: event.at });
      if (event.news) addNews(view, event.news);
      return;
    case "UpdateFailed":
      return fail(state, task, event);
    case "Ended":
      return void delete machines.updating[machine];
    case "Updated":
      if (update) complete(state, task, update);
      return void delete machines.updating[machine];
    case "Replaced":
      delete machines.lately[machine];
      return void delete machines.updating[machine];
    default:
      if (update) mark(update, event);
  }
}

/** The reports that only record how far an update has come. */
type Mark = Exclude<UpdateEvent, { is: "UpdateFailed" }> | Extract<UpdateOutcome, { is: "Out" }>;

function mark(update: Updating, event: Mark): void {
  switch (event.is) {
    case "DrainBegan":
      update.drainSince = event.at;
      return;
    case "BootOrdering":
      update.isOrdering = true;
      return;
    case "BootOrdered":
      update.boot = event.boot;
      return;
    case "CameBack":
      update.isBack = true;
      return;
    case "SoakBegan":
      update.soakUntil = event.until;
      return;
    case "Out":
      update.isOut = true;
      return;
    case "Doomed":
      update.replacing = event.replacing;
      delete update.drainSince; // a drain before the replacement has its whole timeout again
      return;
    case "ReplacementOrdered":
      if (update.replacing) update.replacing.isOrdered = true;
      return;
    case "ReplacementDeleted":
      if (update.replacing) update.replacing.isDeleted = true;
      return;
    case "ReplacementDropped":
      delete update.replacing;
  }
}

function fail(
  state: Updated,
  { subject: machine, templateHash }: Task,
  { reason, message, at }: UpdateEvent & { is: "UpdateFailed" },
): void {
  const { target, machines, view } = state;
  noteLately(machines, machine, { is: "Failed", templateHash, at });
  warn(view, reason, message);
  // A failure of an earlier image does not count against the desired state.
  if (templateHash !== target.desired?.templateHash) return;
  machines.failures += 1;
  if (machines.failures >= (target.rules?.maxFailed ?? 1)) giveUp(state, { reason, message });
}

// Records a completed update like a join: with its machine, and with the time that it took.
function complete(state: Updated, { subject: machine, templateHash }: Task, { since, image }: Updating): void {
  const { machines, view } = state;
  noteLately(machines, machine, { is: "Updated", templateHash, at: Date.now() });
  machines.booting[machine] = { since, attempt: 0 };
  recordJoin(state, { machine, node: machine, image, kubelet: "", readyAt: Date.now() });
  tell(view, "MachineUpdated", `Machine "${machine}" runs image "${image}"`);
}
