import type { BootStep } from "./boot/boot.ts";
import type { Hypervisor } from "./hypervisor.ts";
import type { Script } from "./script.ts";
import type { MachineOrder } from "./virtual_machine.ts";

/** Where a machine is in its life. */
export type MachinePhase =
  | "waiting-for-instance"
  | "waiting-for-address"
  | "booting"
  | BootStep
  | "installing"
  | "not-ready"
  | "ready"
  | "failed"
  | "dead"
  | "deleted";

/** What can be seen of a machine from outside; times are ISO 8601. */
export interface MachineView {
  name: string;
  phase: MachinePhase;
  image: string;
  kubelet?: string | undefined;
  nodeName?: string | undefined;
  orderedAt: string;
  /** When the machine had booted so far that it read its user-data. */
  bootedAt?: string | undefined;
  readyAt?: string | undefined;
  /** The phase a boot failed in, and why. */
  failure?: string | undefined;
}

/** What all machines of a cloud share. */
export interface MachineContext {
  hypervisor: Pick<
    Hypervisor,
    "ensureInstance" | "ensureAddress" | "readUserData" | "readNode" | "deleteInstance" | "deletePods"
  >;
  script: Script;
  seed: number;
  log: (line: string) => void;
  /** Aborts when the cloud stops. */
  signal: AbortSignal;
}

/** What a cloud makes of an order, whatever it is made of. */
export interface CloudMachine {
  readonly order: MachineOrder;
  /** How the machine looks now. */
  view(): MachineView;
  /** Lives until killed, removed or stopped; a failed boot shows in the view and throws nothing. */
  run(): Promise<void>;
  /** Ends all activity at once; order, instance and Node stay as they are. */
  kill(): Promise<void>;
  /** Cuts the machine off the API server, or heals it. */
  partition(isCut: boolean): Promise<void>;
  /** Makes the kubelet report that it is not ready, or that it is again. */
  sicken(isIll: boolean): Promise<void>;
  /** Clears away what the machine leaves behind once its order is gone. */
  remove(): Promise<void>;
}

/** How a cloud makes a machine: 1 is the `ordinal` of its first order. */
export type MachineKind = (context: MachineContext, order: MachineOrder, ordinal: number) => CloudMachine;
