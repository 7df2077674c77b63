import type { MachineNetwork } from "./machine_network.ts";

/** What the keeper is told on its first line of input; the end of its input tells it to clean up. */
export interface KeeperOrder {
  /** Install and start an engine where none is found. */
  readonly install: boolean;
  /** Absolute; where an engine of ours keeps its images. */
  readonly directory: string;
  /** Only remove what dead runs left. */
  readonly isSweep?: boolean;
}

/** A run whose engine is ready for its machines. */
export interface OpenedRun {
  readonly socketPath: string;
  readonly isOurs: boolean;
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly network: MachineNetwork;
}

/** One line of the keeper's output, as JSON. */
export type KeeperReport =
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "opened"; readonly run: OpenedRun }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "closed" };
