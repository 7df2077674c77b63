/** The requests that commands send to Temporal. */
import type { ImageOutcome, PoolRef, Progress, RolloutPlan } from "../../workflows/contracts/mod.ts";
import type { TemporalServer } from "../../activities/temporal/temporal_server.ts";
import type { Answer, Command } from "../../workflows/commands/messages.ts";

/** The commands that a rollout accepts; each is the name of an update of its workflow. */
export type CommandName = "pause" | "resume" | "approve" | "promote" | "retry" | "skip" | "abort";

/** A command to a rollout. */
export interface Order {
  pool: PoolRef;
  name: CommandName;
  command: Command;
  /** Milliseconds to wait for an answer. */
  within: number;
}

/** A request to evaluate an image. */
export interface ImageOrder {
  name: string;
  /** Milliseconds to wait for the result; 0 is unlimited. */
  within: number;
}

/** A step of a workflow, from its history. */
export interface Step {
  /** Epoch ms. */
  at: number;
  id: string;
  /** An activity, a wait, or a command of a user. */
  kind: "step" | "wait" | "command";
  message: string;
  /** Missing while the step is in progress. */
  seconds?: number;
  failure?: string;
}

/** Reads rollouts in Temporal, and sends commands to them. */
export interface Engine {
  /**
   * Sends a command and returns the rollout's answer; throws Refusal if the rollout refuses. pause, resume and retry
   * start a run if none is open, because they also affect the next run.
   */
  send(order: Order): Promise<Answer>;
  /**
   * Returns the progress of the open run; undefined if no run is open, or the run does not answer within two seconds.
   */
  progress(pool: PoolRef): Promise<Progress | undefined>;
  /** Returns the plan that a worker makes of a pool now; each wave names at most 20 machines. */
  plan(pool: PoolRef): Promise<RolloutPlan>;
  /** Requests the evaluation of an OSImage and returns its result. */
  admitImage(order: ImageOrder): Promise<ImageOutcome>;
  /** Returns the newest steps of a pool's runs, oldest first; at most `limit`. */
  steps(pool: PoolRef, limit: number): Promise<Step[]>;
}

/** The location of Temporal, the task queue and the cluster. */
export interface EngineOptions extends TemporalServer {
  taskQueue: string;
  /** The cluster's name in Temporal; "" without a name. */
  cluster: string;
}
