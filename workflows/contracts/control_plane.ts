/** Machines that are members of etcd too: what stands in the way of touching one, and what is done before it goes. */
import type { EtcdRules } from "./rules.ts";

/** Something about etcd that keeps its machines where they are; `machine` is the one that it is about, where one is known. */
export interface EtcdDoubt {
  machine?: string;
  says: string;
}

/** One member, for people to see. */
export interface EtcdSeat {
  name: string;
  machine?: string;
  role: "Leader" | "Voter" | "Learner";
  isWell: boolean;
  version: string;
}

/** Etcd in one look; bounded, and free of numbers that change by themselves. */
export interface EtcdStanding {
  seats: EtcdSeat[];
  /** Voters that a decision needs, and those that are well. */
  quorum: { needed: number; well: number };
  /** Empty when a machine may go. */
  doubts: EtcdDoubt[];
}

/** Where a snapshot goes. */
export type SnapshotKeep = EtcdRules["snapshot"];

/** A copy of all of etcd's data as it was. */
export interface SnapshotTaken {
  /** "sha256:…" of the file. */
  digest: string;
  bytes: number;
  /** Where it is: a path, or a URL. */
  at: string;
}

/** What came of having a machine hand on what only it has. */
export type Relieved =
  | { state: "Relieved"; snapshot: SnapshotTaken | null }
  | { state: "InDoubt"; doubts: string[] };

/** A machine that is to go, and for how long doubts about etcd are waited for (epoch ms). */
export interface RelieveOrder {
  machine: string;
  until: number;
  /** It serves nobody: what is in doubt about itself keeps nobody from letting it go. */
  isLost: boolean;
  /** Doubts that a person took upon himself, as they were told. */
  taken: string[];
  /** Missing where none is kept; `name` is that of the file, by which a second try takes the place of the first. */
  snapshot?: SnapshotKeep & { name: string };
}
