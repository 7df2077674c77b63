/** The requests that commands send to Temporal. */
import type { ImageOutcome, PoolRef, Progress, RolloutPlan } from "../../workflows/contracts/mod.ts";
import type { TemporalServer } from "../../activities/temporal/temporal_server.ts";
import type { Asking, Home } from "./home.ts";
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
  /** Returns the installation that serves the cluster, by the cluster's Schedule; the first call reads it. */
  home(): Promise<Home>;
  /**
   * Sends a command and returns the rollout's answer. pause, resume and retry start a run if none is open, because they
   * also affect the next run. Throws Refusal if the rollout refuses, UsageError if the Schedule belongs to another
   * cluster.
   */
  send(order: Order): Promise<Answer>;
  /**
   * Returns the progress of the open run; undefined if no run is open, or the run does not answer within two seconds.
   */
  progress(pool: PoolRef): Promise<Progress | undefined>;
  /**
   * Returns a plan that Ostler's worker computes from the current state of the pool; each wave names at most 20
   * machines.
   */
  plan(pool: PoolRef): Promise<RolloutPlan>;
  /** Requests the evaluation of an OSImage and returns its result. */
  admitImage(order: ImageOrder): Promise<ImageOutcome>;
  /** Returns the newest steps of a pool's runs, oldest first; at most `limit`. */
  steps(pool: PoolRef, limit: number): Promise<Step[]>;
}

/** The location of Temporal, and the cluster. */
export type EngineOptions = TemporalServer & Asking;
