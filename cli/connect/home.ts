/** The installation of Ostler that serves a cluster, from the cluster's Schedule in Temporal. */
import type { Client } from "@temporalio/client";
import { renewalIdOf } from "../../workflows/commands/start_options.ts";
import type { RollOutInput } from "../../workflows/contracts/mod.ts";
import { Refusal, Unreachable } from "../failure.ts";
import { UsageError } from "../usage_error.ts";
import { type Payload, valueOf } from "./payload.ts";
import { codeOf, temporalFailure, transportReason } from "./temporal_failure.ts";

/** The facts that a Schedule records about its installation. */
export interface Recorded {
  /** UID of the cluster's namespace kube-system; "" if its controller could not read that namespace. */
  uid: string;
  /** The task queue of its workers; "" if the Schedule has none. */
  taskQueue: string;
  /** The administrator's deadlines, which every new run of a pool gets. */
  deadlines?: NonNullable<RollOutInput["deadlines"]>;
}

export interface Home extends Partial<Pick<Recorded, "taskQueue" | "deadlines">> {
  /** Whether the Schedule belongs to the cluster of the kubeconfig; Unknown unless both UIDs are known. */
  owner: "This" | "Other" | "Unknown";
  /** How messages name the Schedule. */
  schedule: string;
  /** Why the Schedule was not read, with the remedy; `isAway` if Temporal did not answer. */
  fault?: { text: string; isAway: boolean };
}

/** The cluster whose installation is read. */
export interface Asking {
  /** Temporal's namespace. */
  namespace: string;
  /** The cluster's name in Temporal; "" without a name. */
  cluster: string;
  /** Reads the UID of the cluster's namespace kube-system; may throw. */
  uid: () => Promise<string>;
  /** The task queue if the Schedule does not name one. */
  taskQueue?: string;
}

/** Milliseconds to read the Schedule; without it, commands still reach open runs. */
const patienceMs = 5_000;

const notFound = 5; // gRPC status code

/** Reads the Schedule and the UID of the cluster; never throws, because a command to an open run needs neither. */
export async function readHome(client: Client, { namespace, cluster, uid, taskQueue }: Asking): Promise<Home> {
  const scheduleId = renewalIdOf(cluster);
  const schedule = `Schedule "${scheduleId}" in Temporal's namespace "${namespace}"`;
  const read = async (): Promise<Recorded> =>
    recordedIn(await client.workflowService.describeSchedule({ namespace, scheduleId }));
  const [recorded, ownUid] = await Promise.all([
    client.withDeadline(Date.now() + patienceMs, read).catch((error: unknown) => faultOf(schedule, error)),
    uid().catch(() => ""), // not every user may read the namespace, and the owner is then unknown
  ]);
  const given = taskQueue ? { taskQueue } : {};
  if ("text" in recorded) return { owner: "Unknown", schedule, ...given, fault: recorded };
  const { deadlines } = recorded;
  return {
    owner: ownerOf(recorded.uid, ownUid),
    schedule,
    ...(recorded.taskQueue === "" ? given : { taskQueue: recorded.taskQueue }),
    ...(deadlines === undefined ? {} : { deadlines }),
  };
}

function ownerOf(recorded: string, own: string): Home["owner"] {
  if (recorded === "" || own === "") return "Unknown";
  return recorded === own ? "This" : "Other";
}

function faultOf(schedule: string, error: unknown): NonNullable<Home["fault"]> {
  const isMissing = codeOf(error) === notFound;
  const text = isMissing
    ? `${schedule} does not exist; give this cluster's name with --cluster and its namespace with ` +
      "--temporal-namespace, or start Ostler"
    : `${schedule} cannot be read (${transportReason(error)}); repeat the command, or set OSTLER_TASK_QUEUE`;
  return { text, isAway: temporalFailure("", error) instanceof Unreachable };
}

interface Described {
  schedule?: {
    action?: {
      startWorkflow?: {
        taskQueue?: { name?: string | null } | null;
        memo?: { fields?: Record<string, Payload> | null } | null;
        input?: { payloads?: Payload[] | null } | null;
      } | null;
    } | null;
  } | null;
}

/** Returns the facts in a described Schedule; facts that are missing or of an unknown form are left out. */
export function recordedIn({ schedule }: Described): Recorded {
  const { taskQueue, memo, input } = schedule?.action?.startWorkflow ?? {};
  const { uid } = (valueOf(memo?.fields?.["cluster"]) ?? {}) as { uid?: unknown };
  const { deadlines } = (valueOf(input?.payloads?.[0]) ?? {}) as { deadlines?: unknown };
  return {
    uid: typeof uid === "string" && /^[\w-]{1,64}$/.test(uid) ? uid : "",
    taskQueue: taskQueue?.name ?? "",
    ...(typeof deadlines === "object" && deadlines !== null ? { deadlines } : {}),
  };
}

/** Throws UsageError if the Schedule belongs to another cluster, which the command would reach. */
export function needOwn({ owner, schedule }: Home, attempt: string): void {
  if (owner !== "Other") return;
  const remedy = "give this cluster's name with --cluster (`ostler clusters` lists the names)";
  throw new UsageError(`Failed to ${attempt}: ${schedule} belongs to another cluster; ${remedy}`);
}

/**
 * Returns the task queue for a new run. Throws Refusal, or Unreachable, if it is unknown: a run on a queue that no
 * worker polls would not end, and would take the place of the pool's next run.
 */
export function needQueue({ taskQueue, schedule, fault }: Home, attempt: string): string {
  if (taskQueue) return taskQueue;
  const cause = fault?.text ?? `${schedule} names no task queue; set OSTLER_TASK_QUEUE`;
  const text = `Failed to ${attempt}: the task queue for a new run is unknown, because ${cause}`;
  throw fault?.isAway ? new Unreachable(text) : new Refusal(text);
}
