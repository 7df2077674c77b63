import type { BootStep } from "./boot/boot.ts";
import type { Hypervisor } from "./hypervisor.ts";
import type { Script } from "./script.ts";
import type { MachineOrder } from "./virtual_machine.ts";

/**
 * The phases of a machine: those of its boot in order, then "failed" (the boot failed), "dead" (the machine was killed)
 * and "deleted".
 */
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

/** The observable state of a machine; times are ISO 8601. */
export interface MachineView {
  name: string;
  phase: MachinePhase;
  image: string;
  kubelet?: string | undefined;
  nodeName?: string | undefined;
  orderedAt: string;
  /** When the machine had booted; for a container, when it fetched its user-data. */
  bootedAt?: string | undefined;
  readyAt?: string | undefined;
  /** The phase in which the boot failed, and the reason. */
  failure?: string | undefined;
}

/** The context that all machines of a cloud share. */
export interface MachineContext {
  hypervisor: Pick<
    Hypervisor,
    "ensureInstance" | "ensureAddress" | "readUserData" | "readNode" | "deleteInstance" | "deletePods"
  >;
  script: Script;
  seed: number;
  log: (line: string) => void;
  /** Signal that aborts when the cloud stops. */
  signal: AbortSignal;
}

/** A machine of any kind, created for a VirtualMachine. */
export interface CloudMachine {
  readonly order: MachineOrder;
  /** Returns the current state of the machine. */
  view(): MachineView;
  /** Runs until the machine is killed, removed or stopped; a failed boot is reported in the view and does not throw. */
  run(): Promise<void>;
  /** Ends all activity immediately; VirtualMachine, instance and Node are not changed. */
  kill(): Promise<void>;
  /** Cuts the machine off from the API server if `isCut`, else reconnects it. */
  partition(isCut: boolean): Promise<void>;
  /** Makes the kubelet report NotReady if `isIll`, else Ready. */
  sicken(isIll: boolean): Promise<void>;
  /** Deletes instance and pods of the machine, but not its Node; called after its VirtualMachine was deleted. */
  remove(): Promise<void>;
}

/** Creates a machine for a VirtualMachine; `ordinal` is 1 for the first one of the cloud. */
export type MachineKind = (context: MachineContext, order: MachineOrder, ordinal: number) => CloudMachine;
