/** A Machine object, as far as it is shown. */
export interface MachineFacts {
  readonly name: string;
  readonly image: string;
  readonly kubelet: string;
  readonly isHeld: boolean;
  readonly isLeaving: boolean;
  readonly hasInstance: boolean;
}

/** A Node object, as far as it is shown. */
export interface NodeFacts {
  readonly isReady: boolean;
  readonly isCordoned: boolean;
}

/** Everything known of one machine. */
export interface Sighting {
  readonly machine: MachineFacts;
  readonly node: NodeFacts | undefined;
  /** The simulated cloud's word for where the boot is. */
  readonly boot: string | undefined;
}

const boots: Record<string, string> = {
  "waiting-for-instance": "instance is being made",
  "waiting-for-address": "waits for an address",
  "booting": "boots",
  "installing": "installs",
  "not-ready": "node registered",
  "failed": "boot failed",
  "dead": "dead",
};

/** Says in a few words where a machine is in its life. */
export function phaseOf({ machine, node, boot }: Sighting): string {
  if (machine.isLeaving && !machine.isHeld) return "shuts down";
  if (machine.isLeaving) return node?.isCordoned ? "drains" : "is to go";
  if (machine.isHeld && !machine.hasInstance) return "held until its turn";
  if (node?.isReady) return node.isCordoned ? "drains" : "Ready";
  if (boot === undefined || boot === "ready" || boot === "deleted") return machine.hasInstance ? "ordered" : "created";
  return boots[boot] ?? boot.replaceAll("-", " ");
}
