import type { MachineNetwork } from "./machine_network.ts";

/** The first line of the keeper's input; when the input ends, the keeper cleans up. */
export interface KeeperOrder {
  /** Whether to install and start an engine if none is found. */
  readonly install: boolean;
  /** Absolute path of the folder in which a started engine keeps images. */
  readonly directory: string;
  /** Whether the keeper opens no engine, and only cleans up after runs whose process has ended. */
  readonly isSweep?: boolean;
}

/** An open run, whose engine is ready for machines. */
export interface OpenedRun {
  readonly socketPath: string;
  readonly isOurs: boolean;
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly network: MachineNetwork;
}

/** One line of the keeper's output, in JSON. */
export type KeeperReport =
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "opened"; readonly run: OpenedRun }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "closed" };
