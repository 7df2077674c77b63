/**
 * The reports of tasks: events while they run, and an outcome when they end. Only `apply` changes the state
 * accordingly.
 */
import type {
  AskedGates,
  Joined,
  Lately,
  PoolEvent,
  Replacing,
  UpdateFailureType,
  Updating,
} from "../contracts/mod.ts";
import type { Task } from "./tasks.ts";

/** An event of a running task, recorded before its next step, so that a restart continues there. */
export type TaskEvent =
  /** The task could not act for `ms`; no deadline of its machine counts this time. */
  | { is: "Delayed"; ms: number }
  /** The task began its next step; the main loop reports the step without another read. */
  | { is: "Stepped"; step: Task["step"]; until?: number }
  /**
   * The task now waits for another condition than before; the main loop reads the pool again, and reports the wait and
   * the Event in `news`.
   */
  | { is: "Waits"; news?: PoolEvent }
  /** The task emits an Event; nothing else changes. */
  | { is: "Told"; news: PoolEvent }
  /** Gates are being evaluated; null once they have a result. */
  | { is: "GatesAsked"; asked: AskedGates | null }
  /** The machine could not be drained in time and stays; it is set aside. */
  | { is: "SetAside" }
  | JoinEvent
  /** Ostler begins to delete an unhealthy machine. */
  | { is: "RepairOrdered" }
  /** The unhealthy machine is not deleted after all. */
  | { is: "RepairDropped" }
  | UpdateEvent;

type JoinEvent =
  | { is: "Admitted" }
  /** The machine was not admitted, because it or the machine that it replaces was deleted. */
  | { is: "NotAdmitted" }
  /** The machine failed to join, for the reason of the Event; at its last attempt it counts as failed. */
  | { is: "JoinFailed"; reason: "JoinDeadlineExceeded" | "DeletedBeforeJoin"; message: string; isLast: boolean };

/** The progress of an update in place; most events set a field of `Updating`. */
export type UpdateEvent =
  | { is: "DrainBegan"; at: number }
  | { is: "BootOrdering" }
  | { is: "BootOrdered"; boot: NonNullable<Updating["boot"]> }
  | { is: "CameBack" }
  | { is: "SoakBegan"; until: number }
  /** The image failed on the machine; too many such failures stop the rollout of the pool. */
  | { is: "UpdateFailed"; reason: UpdateFailureType; message: string; at: number }
  /** The update failed, and the machine has to be replaced. */
  | { is: "Doomed"; replacing: Replacing }
  | { is: "ReplacementOrdered" }
  | { is: "ReplacementDeleted" }
  /** The machine is not replaced after all. */
  | { is: "ReplacementDropped" };

/** How a task ended; each kind of task has its own outcomes. */
export type Outcome = JoinOutcome | RemovalOutcome | RepairOutcome | WaveOutcome | StagingOutcome | UpdateOutcome;

export type JoinOutcome =
  | { is: "Joined"; joined: Joined }
  /** The machine was deleted during the wait. */
  | { is: "Gone" }
  /** The machine of an earlier change failed, which does not concern the desired change. */
  | { is: "Dropped" }
  /** Too many machines failed: this one is kept for inspection unless it `isGone`, and its change is given up. */
  | { is: "FailedForGood"; message: string; isGone?: true }
  /**
   * The machine is deleted; if `attempt` is set, the next new machine counts as the attempt of that number. With
   * `keepsSlot` it also gets the slot of the deleted machine.
   */
  | { is: "Recreated"; attempt?: number; keepsSlot?: true };

export type RemovalOutcome = { is: "Removed"; drainedSeconds: number } | Unchanged;

export type RepairOutcome = { is: "Repaired" } | Unchanged;

export type WaveOutcome = { is: "WavePassed"; index: number } | { is: "WaveFailed"; message: string };

/** The result of staging an image on a machine. */
export type StagingOutcome = { is: "Staged"; lately: Lately["is"]; at: number; news?: PoolEvent } | Unchanged;

export type UpdateOutcome =
  /** The machine serves as before, or is gone. */
  | { is: "Ended" }
  | { is: "Updated" }
  /** The node is gone; a new node of the same name counts as another machine. */
  | { is: "Replaced" }
  /** The update failed and the machine does not serve. */
  | { is: "Out" };

/** Nothing more to record. */
interface Unchanged {
  is: "Unchanged";
}
