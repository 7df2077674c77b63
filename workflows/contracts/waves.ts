/** Where the waves of a rollout stand. */
import type { Rules } from "./rules.ts";

/** Where the waves stand. */
export interface WaveState {
  /** From 0; the number of waves when all are done. */
  index: number;
  /** Its machines are updated and its gates passed; epoch ms at which the soak ends. */
  soakUntil: number | null;
  /** Its gates passed. */
  passed: boolean;
  /** Somebody allowed this one to start. */
  approved: boolean;
}

/** What waves are counted in: those of the policy, and how many machines are wanted. */
export interface WaveCount extends Pick<Rules, "waves" | "growth"> {
  replicas: number;
}
