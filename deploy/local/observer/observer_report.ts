import type { MachineLife } from "./machine_lives.ts";

/** The properties that must hold at every moment of a rollout. */
export type Property = "readyNodes" | "machines" | "secrets";

/** One violation of a property, at the moment at which it was observed. */
export interface Violation {
  /** Time of the violation (RFC 3339). */
  at: string;
  property: Property;
  message: string;
  /** Names at that moment: the Ready nodes, the machines, or the secrets that are missing or without their data. */
  names: string[];
}

/** The observations of a pool since `arm`. */
export interface ObserverReport {
  /** Whether no property was violated and no gap exists. */
  ok: boolean;
  /** Time of `arm` in RFC 3339; undefined if it was never called, so that nothing was checked. */
  armedAt: string | undefined;
  /** `min` is the lowest number of Ready nodes that was observed; only nodes with an existing instance count. */
  readyNodes: { min: number; wanted: number; ok: boolean };
  /**
   * `max` is the highest number of machines (VirtualMachines) that was observed. `objects` is the highest number of
   * Machine objects, without those that Ostler holds back before they have an instance.
   */
  machines: { max: number; objects: number; allowed: number; ok: boolean };
  /** Number of times that a secret was missing or without its data. */
  secrets: { watched: string[]; missing: number; ok: boolean };
  /** Descriptions of periods in which changes may have been missed. */
  gaps: string[];
  /** Number of times that changes arrived again after a watch had ended, without missed changes. */
  resumes: number;
  /** Number of observed changes. */
  events: number;
  violations: Violation[];
  /** All observed machines, including those before `arm`. */
  lives: MachineLife[];
}
