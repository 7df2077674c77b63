import type { Supervisor } from "../process/supervisor.ts";
import type { Pki } from "./pki.ts";

/** Paths of the programs that a stack runs. */
export interface StackTools {
  readonly etcd: string;
  readonly "kube-apiserver": string;
  readonly "kube-controller-manager": string;
  readonly temporal: string;
  /** Path of machine-controller, which only startMachineController needs. */
  readonly "machine-controller"?: string;
}

/** The inputs that all components of a stack need to start. */
export interface Foundation {
  readonly directory: string;
  readonly tools: StackTools;
  readonly pki: Pki;
  readonly supervisor: Supervisor;
  readonly signal?: AbortSignal;
  /** The address of this host on which the API server listens. */
  readonly address: string;
  /** Address range of pods, of which each node gets a subnet; set only if real kubelets run. */
  readonly podNetwork?: string;
  /** Users whose requests the API server's audit log keeps. */
  readonly audited?: readonly string[];
  /** Seconds after which the API server ends a watch at the earliest; it ends each watch before twice that time. */
  readonly watchSeconds?: number;
  /** Minor version that the API server emulates, such as `1.33`. */
  readonly emulatedVersion?: string;
}
