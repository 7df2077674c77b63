import type { Supervisor } from "../process/supervisor.ts";
import type { Pki } from "./pki.ts";

/** Paths of the binaries that a stack runs. */
export interface StackTools {
  readonly etcd: string;
  readonly "kube-apiserver": string;
  readonly "kube-controller-manager": string;
  readonly temporal: string;
  /** Needed by startMachineController only. */
  readonly "machine-controller"?: string;
}

/** What every component of a stack stands on while it starts. */
export interface Foundation {
  readonly directory: string;
  readonly tools: StackTools;
  readonly pki: Pki;
  readonly supervisor: Supervisor;
  readonly signal?: AbortSignal;
  /** The only address of this host that the API server listens on. */
  readonly address: string;
  /** Kubelets that are real have pods on addresses of their own, and certificates to serve with. */
  readonly podNetwork?: string;
  /** Users whose requests the API server's audit log keeps. */
  readonly audited?: readonly string[];
  /** A watch lasts from once to twice as many seconds. */
  readonly watchSeconds?: number;
  /** The API server has only what this minor version had, such as `1.33`. */
  readonly emulatedVersion?: string;
}
