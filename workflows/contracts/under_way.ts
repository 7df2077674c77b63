/** Machines that come and go, as a run keeps them in mind. */

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
