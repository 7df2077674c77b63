import type { MachineLife } from "./machine_lives.ts";

/** The properties that hold at every moment of a rollout. */
export type Property = "readyNodes" | "machines" | "secrets";

/** The moment a property stopped to hold. */
export interface Violation {
  /** RFC 3339. */
  at: string;
  property: Property;
  message: string;
  /** What was there at that moment: nodes, machines, or the secrets that were amiss. */
  names: string[];
}

/** What a pool's observer saw since it was armed. */
export interface ObserverReport {
  /** True when nothing was violated and no moment went unseen. */
  ok: boolean;
  /** RFC 3339; undefined when it never was armed, and then nothing was checked. */
  armedAt: string | undefined;
  /** Fewest nodes that were Ready, with a machine behind them, at any one moment. */
  readyNodes: { min: number; wanted: number; ok: boolean };
  /** Most machines (VirtualMachines) at any one moment; `objects` counts Machine objects that are more than paper. */
  machines: { max: number; objects: number; allowed: number; ok: boolean };
  /** How often one of the secrets was missing or without its data. */
  secrets: { watched: string[]; missing: number; ok: boolean };
  /** Stretches of time in which something may have happened unseen, in words. */
  gaps: string[];
  /** Watches that ended and went on where they had stopped, so that nothing was missed. */
  resumes: number;
  /** Changes looked at. */
  events: number;
  violations: Violation[];
  /** Every machine that was ever seen, also before it was armed. */
  lives: MachineLife[];
}
