/** The facts of a Machine object that the demo shows. */
export interface MachineFacts {
  readonly name: string;
  readonly image: string;
  readonly kubelet: string;
  readonly isHeld: boolean;
  readonly isLeaving: boolean;
  readonly hasInstance: boolean;
}

/** The facts of a Node object that the demo shows. */
export interface NodeFacts {
  readonly isReady: boolean;
  readonly isCordoned: boolean;
}

/** The facts of one machine in a snapshot. */
export interface Sighting {
  readonly machine: MachineFacts;
  readonly node: NodeFacts | undefined;
  /** The phase of the machine in the cloud; undefined if the cloud has no such machine. */
  readonly boot: string | undefined;
}

const boots: Record<string, string> = {
  "waiting-for-instance": "waiting for instance",
  "waiting-for-address": "waiting for address",
  "booting": "booting",
  "installing": "installing",
  "not-ready": "node registered",
  "failed": "boot failed",
  "dead": "machine failed",
};

/** Returns the phase of a machine in a few words. */
export function phaseOf({ machine, node, boot }: Sighting): string {
  if (machine.isLeaving && !machine.isHeld) return "shutting down";
  if (machine.isLeaving) return node?.isCordoned ? "draining" : "to be deleted";
  if (machine.isHeld && !machine.hasInstance) return "held";
  if (node?.isReady) return node.isCordoned ? "draining" : "Ready";
  if (boot === undefined || boot === "ready" || boot === "deleted") return machine.hasInstance ? "ordered" : "created";
  return boots[boot] ?? boot.replaceAll("-", " ");
}
