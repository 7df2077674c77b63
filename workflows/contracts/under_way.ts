/** Machines that come and go, as a run keeps them in mind. */
import type { Maker } from "./node_update.ts";

/** Gates that are asked about a machine or a wave. */
export interface AskedGates {
  /** Changes with the question, and with the gates that it is put to. */
  name: string;
  /** When it was put (epoch ms); null once it was answered, in doubt. */
  since: number | null;
  /** Why they could not be judged; empty for no doubt. */
  doubt: string;
}

/** A machine that comes: when it began to boot (epoch ms), and which attempt of its place it is, from 0. */
export interface Boot {
  since: number;
  attempt: number;
  /** Of the change that it was admitted for; a run of before that was noted carried neither. */
  templateHash?: string;
  kubelet?: string;
  /** It failed for good and is among the failed machines that are counted, though it is not deleted yet. */
  counted?: true;
  /** It is Ready, and they have not answered. */
  gates?: AskedGates;
}

/** A machine that is drained or removed: what it was, and when that began (epoch ms). */
export interface Draining {
  since: number;
  templateHash: string;
  image: string;
  kubelet: string;
}

/** A machine that is updated where it stands; times in epoch ms. */
export interface Updating {
  since: number;
  /** What it is brought to. */
  templateHash: string;
  image: string;
  /** When its drain began. */
  drainSince?: number;
  /** Its boot is being ordered: nobody can say that it was not. */
  isOrdering?: true;
  /** Once its boot was ordered: the boot id of before, and by when it has to be back. */
  boot?: { id: string; until: number };
  /** It is back, with the image. */
  isBack?: true;
  /** Its gates are asked, and have not answered. */
  gates?: AskedGates;
  /** They have passed, and it is watched until then. */
  soakUntil?: number;
  /** It failed, and is out of service: it keeps its place until somebody says retry, something else is wanted, or it is gone. */
  isOut?: true;
  /** Its stage was refused: with its place in hand it is asked again, and replaced where that is still so. */
  isRefused?: true;
  replacing?: Replacing;
}

/** It could not be updated, and its maker is to make another in its stead. */
export interface Replacing {
  maker: Maker;
  /** What was wrong, in words. */
  why: string;
  /** It does not answer: nothing can be drained there. */
  isDead: boolean;
  /** Its machine may be deleted by now: its place is kept until the node is gone. */
  isOrdered?: true;
  /** It is. */
  isDeleted?: true;
}

/** What came of one machine at a time (epoch ms). */
export interface Lately {
  /** Refused: it failed on it before, or just now, and may yet be asked again in its turn. */
  is: "Staged" | "Updated" | "Failed" | "Refused";
  templateHash: string;
  at: number;
}
