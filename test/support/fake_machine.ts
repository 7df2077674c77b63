/** One machine of a fake pool, and how a rollout sees it. */
import type { Member, RepairRules } from "../../workflows/contracts/mod.ts";

export interface FakeTemplate {
  image: string;
  kubelet: string;
  /** The digest of the config, if it was stamped into the template. */
  stamp?: string;
}

export interface FakeSet extends FakeTemplate {
  hash: string;
  revision: number;
  replicas: number;
}

/** How far a machine gets by itself: it joins, or it never passes the named join stage. */
export type Fate = "joins" | "instance" | "address" | "registered" | "ready" | "gates";

export interface FakeMachine {
  name: string;
  set: FakeSet;
  created: number;
  fate: Fate;
  zone: string | undefined;
  /** Whether the machine has an instance in the cloud. */
  booted: boolean;
  /** Whether machine-controller saw the machine's node Ready. */
  ready: boolean;
  /** Whether the machine's node is not Ready now. */
  isNodeDown: boolean;
  /** Why the machine is unhealthy, and since when (epoch ms); without a condition its node is not Ready. */
  ill: { why: string; since: number; condition?: string } | undefined;
  leaving: boolean;
  hold: string;
  mark: string;
  cordoned: boolean;
  /** Whether cluster-autoscaler must not remove the machine's node. */
  isSparedByAutoscaler: boolean;
  /** Whether the cloud must not remove the machine (scale-in protection). */
  isProtected: boolean;
  drained: boolean;
  skipsEviction: boolean;
  isJoining: boolean;
  isGoing: boolean;
  /** Whether the machine was held, and then admitted while the pool already had as many machines as desired. */
  isAdmitted: boolean;
  /** Whether the gates of the machine are being evaluated. */
  isJudged: boolean;
  /** Number of other Ready machines when the drain of this machine began. */
  othersAtDrain: number | undefined;
  /** Whether the machine could not be drained in time and may be set aside. */
  isStuck: boolean;
}

/**
 * Returns the fields that activities read from the machine and its node; a hold or a mark counts only if it is by
 * `holder`.
 */
export function memberOf(machine: FakeMachine, holder: string, repair?: RepairRules): Member {
  const { name, set, created, hold, mark, zone } = machine;
  const ill = repair && illOf(machine, repair);
  return {
    id: name,
    ...(machine.ready ? { node: nodeOf(name) } : {}),
    ...(machine.ready && zone !== undefined ? { zone } : {}),
    ...{ templateHash: set.hash, image: set.image, kubelet: set.kubelet, phase: phaseOf(machine) },
    since: new Date(created * 1000).toISOString(),
    ...{ marked: mark === holder, held: hold === holder, expendable: false },
    ...(machine.isProtected ? { kept: "Wait" } : {}),
    ...(ill ? { ill } : {}),
  };
}

function illOf({ ill, ready }: FakeMachine, repair: RepairRules): Member["ill"] {
  if (!ill || !ready || !repair.enabled) return undefined;
  const patience = ill.condition === undefined
    ? repair.notReadyFor
    : repair.conditions.find(({ type }) => type === ill.condition)?.for;
  return patience === undefined ? undefined : { why: ill.why, since: ill.since, due: ill.since + patience };
}

function phaseOf(machine: FakeMachine): Member["phase"] {
  if (machine.leaving) return "Leaving";
  if (machine.ready) return machine.isNodeDown ? "NotReady" : "Ready";
  if (machine.booted) return machine.fate === "ready" ? "Joining" : "Booting";
  return machine.hold ? "Held" : "Provisioning";
}

/** Returns the name of a machine's node, which has a prefix, so that a test fails if the two names are mixed up. */
export function nodeOf(machine: string): string {
  return `node-${machine}`;
}

/** The label that machine-controller computes for a template. */
export function hashOf({ image, kubelet, stamp }: FakeTemplate): string {
  return `hash-of-${image}-${kubelet}${stamp === undefined ? "" : `-${stamp.slice(-6)}`}`;
}
