/** What commands ask of the running rollout, which lives in Temporal. */
import type { ImageOutcome, PoolRef, Progress, RolloutPlan } from "../../workflows/contracts/mod.ts";
import type { TemporalServer } from "../../activities/temporal/temporal_server.ts";
import type { Answer, Command } from "../../workflows/commands/messages.ts";

/** The commands a rollout takes; the names on the wire. */
export type CommandName = "pause" | "resume" | "approve" | "promote" | "retry" | "skip" | "abort";

/** One command to one rollout. */
export interface Order {
  pool: PoolRef;
  name: CommandName;
  command: Command;
  /** Milliseconds in which an answer must come. */
  within: number;
}

/** An image that is to be judged. */
export interface ImageOrder {
  name: string;
  /** Milliseconds in which a verdict must come; 0 waits for ever. */
  within: number;
}

/** A step of a workflow, from its history. */
export interface Step {
  /** Epoch ms. */
  at: number;
  id: string;
  /** A step that does something, a wait, or what a person asked for. */
  kind: "step" | "wait" | "command";
  message: string;
  /** Missing while it goes on. */
  seconds?: number;
  failure?: string;
}

/** The engine of all rollouts. */
export interface Engine {
  /**
   * Gives the rollout's own answer, or fails with what it said instead. pause, resume and retry start a run where none
   * is open, as they are about the next one too.
   */
  send(order: Order): Promise<Answer>;
  /** Where an open run is; undefined where none is open or it does not answer at once. */
  progress(pool: PoolRef): Promise<Progress | undefined>;
  /** The plan that a worker makes of a pool now; its waves name at most 20 machines each. */
  plan(pool: PoolRef): Promise<RolloutPlan>;
  /** Has an OSImage judged now, and gives what came of it. */
  admitImage(order: ImageOrder): Promise<ImageOutcome>;
  /** The newest steps of a pool's runs, oldest first; at most `limit`. */
  steps(pool: PoolRef, limit: number): Promise<Step[]>;
}

/** Where Temporal is, and which queue and cluster are meant. */
export interface EngineOptions extends TemporalServer {
  taskQueue: string;
  /** The cluster's name in Temporal; "" for none. */
  cluster: string;
}
