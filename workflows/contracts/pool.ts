/** A pool and its machines as the planner sees them; only activities know whose annotation does what. */
import type { EtcdStanding } from "./control_plane.ts";
import type { RepairRules } from "./rules.ts";

/** What makes and removes the machines of a pool; each kind has its own place in workflow ids. */
export type PoolKind = "MachineDeployment" | "ScalingGroup" | "NodePool";

/**
 * One pool of machines, which are rolled together. Without a cluster it is one of the installation that has no name for
 * its cluster; without a kind its machines are those of a MachineDeployment. A pool has the name of its Rollout, which a
 * scaling group has in a namespace though it is in none itself (`commands/scaling_group.ts`), and a NodePool with a word
 * before its own (`commands/node_pool.ts`).
 */
export interface PoolRef {
  cluster?: string;
  kind?: PoolKind;
  namespace: string;
  name: string;
}

/**
 * Held: waits to be admitted. Provisioning: no instance yet. Booting: an instance without a node.
 * Joining: a node that was never Ready. Ready: joined, and Ready now. NotReady: joined, but not Ready now, which may be
 * no more than a partition. Leaving: on its way out.
 */
export type MemberPhase = "Held" | "Provisioning" | "Booting" | "Joining" | "Ready" | "NotReady" | "Leaving";

export interface Member {
  id: string;
  node?: string;
  templateHash: string;
  image: string;
  kubelet: string;
  phase: MemberPhase;
  /** RFC 3339 time of creation. */
  since: string;
  /** Chosen to be removed next, by us. */
  marked: boolean;
  /** Stopped on purpose, by us. */
  held: boolean;
  /** Marked by a person, or broken: machine-controller would pick it before others, so we do. */
  expendable: boolean;
  /** Of its node's label `topology.kubernetes.io/zone`. */
  zone?: string;
  /**
   * Why it stays as it is. Its cloud protects it, and the policy says so: for good, or until that ends. It is updated in
   * place, and the target failed on it; or it does not answer.
   */
  kept?: "Skip" | "Wait" | "Failed" | "Down";
  /** When the target failed on it (epoch ms). */
  failedAt?: number;
  /** It could not fetch the target, and somebody would make it anew: it may be replaced, where the policy says so. */
  replaceable?: true;
  /** Updated in place: the target stands ready on it for its next boot. */
  staged?: true;
  /** On its way out, and its node has been not Ready for as long as makes a machine unhealthy. */
  lost?: true;
  /** What is wrong with its node, since when, and when that is long enough to repair it (epoch ms). */
  ill?: { why: string; since: number; due: number };
}

/**
 * A bounded picture of a pool: exact counts, and of each group the few members that matter next, oldest first.
 * It never carries the whole pool, so a history does not grow with the fleet.
 */
export interface PoolSnapshot {
  /** Changes when anything below does. */
  fingerprint: string;
  counts: {
    machines: number;
    /** Of the target template, not leaving. */
    updated: number;
    /** Ready now and not leaving. */
    ready: number;
    updatedReady: number;
    /** Of another template, not leaving. */
    old: number;
    /** Held before they booted: they exist on paper only. */
    held: number;
    leaving: number;
    /** Joined once and unhealthy now, not leaving. */
    ill: number;
  };
  old: Member[];
  waiting: Member[];
  joining: Member[];
  /** Of the target template, yet held or marked by us: left over from a change that was taken back. */
  stale: Member[];
  leaving: Member[];
  /** Unhealthy ones of any template, not leaving; who is due first comes first. */
  ill: Member[];
  /** Of control planes alone. */
  etcd?: EtcdStanding;
  /** Of the machines that were named, those that the pool does not have. */
  unknown?: string[];
}

/** How a pool is looked at. */
export interface PoolQuestion {
  pool: PoolRef;
  templateHash: string;
  /** Machines that are Ready but have not passed their gates: not counted as ready. */
  unproven: string[];
  repair: RepairRules;
  /** Members of each group that are listed. */
  limit: number;
  /** Machines that people named: it is told who of them is no member. */
  named?: string[];
  /** When somebody last said retry (epoch ms): a target that failed on a machine before may be tried there again. */
  retriedAt?: number;
}
