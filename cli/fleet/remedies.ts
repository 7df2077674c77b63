/** The actions that a cluster needs from its administrator, as sentences; pure. */
import { counted } from "../../workflows/policy/counted.ts";
import { duration } from "../view/durations.ts";
import type { ClusterView } from "./cluster_view.ts";
import type { Place, Renewals } from "./places.ts";
import type { Polling } from "./pollers.ts";

/**
 * A Schedule counts as stuck when a run has been open, or a planned run has been overdue, for this many milliseconds.
 */
const longMs = 15 * 60_000;

/** The state of the Schedule that renews credentials. */
export type Standing = "Runs" | "Paused" | "Stuck" | "Failing" | "Missing";

/** Returns the state of the Schedule that renews credentials. */
export function standingOf(renewals: Renewals | undefined, now: number): Standing {
  if (renewals === undefined) return "Missing";
  if (renewals.isPaused) return "Paused";
  if (renewals.openSince !== undefined && now - renewals.openSince > longMs) return "Stuck";
  if (renewals.nextAt === undefined || now - renewals.nextAt > longMs) return "Stuck";
  return renewals.hasFailed ? "Failing" : "Runs";
}

/** Returns the name of a cluster in a sentence. */
export function nameOf(cluster: string): string {
  return cluster === "" ? "the cluster without a name" : `"${cluster}"`;
}

/**
 * Returns a sentence for each required action. `others` has all clusters, to find the same cluster under another name,
 * and clusters with the same task queue.
 */
export function remediesOf(view: ClusterView, others: readonly ClusterView[], now: number): string[] {
  const told: string[] = [];
  for (const reply of [view.place, view.polling, view.rollouts]) {
    if ("why" in reply) told.push(`a request to Temporal failed, so data is missing: ${reply.why}`);
  }
  const place = "value" in view.place ? view.place.value : undefined;
  const polling = "value" in view.polling ? view.polling.value : undefined;
  if (place && polling) told.push(...sharingOf(view, place, others), ...pollingText(place, polling, now));
  if (place) told.push(...scheduleText(place, polling, now));
  const halted = "value" in view.rollouts ? view.rollouts.value["Halted"] ?? 0 : 0;
  if (halted > 0) {
    const since = view.oldestHalt === undefined ? "" : `, the first for ${duration((now - view.oldestHalt) / 1000)}`;
    const commands = `"ostler status --all-clusters" lists them, and "ostler status" in their cluster shows the reason`;
    told.push(`${counted(halted, "rollout")} halted${since}: ${commands}`);
  }
  return told;
}

// Reports a cluster that Temporal has under two names, and clusters with the same task queue. After a cluster was
// renamed, the Schedule of its previous name remains, and must be deleted.
function sharingOf(view: ClusterView, place: Place, others: readonly ClusterView[]): string[] {
  const told: string[] = [];
  for (const other of others) {
    if (other.cluster === view.cluster || "why" in other.place) continue;
    const { uid, taskQueue } = other.place.value;
    if (uid !== "" && uid === place.uid && isServed(other)) {
      told.push(
        `this is the same cluster as ${nameOf(other.cluster)}, ${isServed(view) ? bothServed : ofBefore(place)}`,
      );
    }
    if (taskQueue === place.taskQueue && place.renewals && other.place.value.renewals) {
      const remedy = "a queue serves only one cluster: set another --task-queue for one of them";
      told.push(`shares task queue "${taskQueue}" with ${nameOf(other.cluster)}, but ${remedy}`);
    }
  }
  if (place.renewals && place.uid === "") {
    told.push('the UID of this cluster is unknown: allow its ServiceAccounts to get namespace "kube-system"');
  }
  return told;
}

const bothServed =
  "and workers serve both names, so both roll the same pools; stop the workers of one name, and delete its Schedule";

function ofBefore(place: Place): string {
  return `under its previous name: ${deletion(place)}`;
}

function isServed({ polling }: ClusterView): boolean {
  return "value" in polling && polling.value.workers > 0;
}

function isUnserved({ workers, unpolled }: Pick<Polling, "workers" | "unpolled">): boolean {
  return workers === 0 && unpolled.length === 0;
}

function pollingText({ taskQueue }: Place, { workers, lastAt, unpolled, idleCurrent }: Polling, now: number): string[] {
  const told: string[] = [];
  if (isUnserved({ workers, unpolled })) {
    const last = lastAt === undefined ? "" : `, the last one ${duration((now - lastAt) / 1000)} ago`;
    told.push(
      `no worker polls task queue "${taskQueue}"${last}: its rollouts wait; check Deployment "ostler-worker"`,
    );
  }
  for (const queue of unpolled) {
    told.push(`some tasks of task queue "${queue}" wait, because no worker polls for them: check the workers`);
  }
  if (idleCurrent !== undefined) {
    told.push(
      `no worker of the current version "${idleCurrent}" polls: run controller and workers from the same image`,
    );
  }
  return told;
}

function scheduleText(place: Place, polling: Polling | undefined, now: number): string[] {
  const standing = standingOf(place.renewals, now);
  const isGone = polling !== undefined && isUnserved(polling);
  if (place.renewals === undefined) {
    const way = isGone ? "if the cluster no longer exists, terminate its runs" : "check that its controller runs";
    return [`no Schedule renews its credentials: ${way}`];
  }
  const { scheduleId } = place.renewals;
  if (standing === "Paused") {
    return [`Schedule "${scheduleId}" is paused, so credentials expire and new machines may fail to join: unpause it`];
  }
  if (standing === "Stuck") {
    const way = isGone ? `if the cluster no longer exists, ${deletion(place)}` : "see its last run in the web UI";
    return [`Schedule "${scheduleId}" is stuck: ${way}`];
  }
  if (standing === "Failing") return [`the last run of Schedule "${scheduleId}" failed: see it in the web UI`];
  return isGone ? [`if the cluster no longer exists, ${deletion(place)}`] : [];
}

function deletion({ renewals, namespace }: Place): string {
  const where = `--namespace ${namespace} --schedule-id ${renewals?.scheduleId}`;
  return renewals
    ? `run \`temporal schedule delete ${where}\``
    : "nothing has to be deleted, because it has no Schedule";
}
