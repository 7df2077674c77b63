/** What a process remembers of its looks at one API server, where the server itself keeps no time of it. */
import type { Member } from "../../workflows/contracts/mod.ts";

/** A longer pause between two looks may have been an outage. */
const pauseMs = 90_000;
/** After an outage every kubelet reports again within this time. */
const graceMs = 30_000;
/** Who was not asked for this long is forgotten. */
const rememberedMs = 3_600_000;

/** Judges illness by what was seen since this process looks, without a gap. */
export class Outlook {
  #last = -Infinity;
  #steadySince = -Infinity;
  #gone = new Map<string, { since: number; asked: number }>();

  /** Notes that the API server answered; after a pause nobody is due before it has had time to report. */
  looked(now: number): void {
    if (now - this.#last > pauseMs) this.#steadySince = now;
    this.#last = now;
  }

  /** The members, with nobody due, and nobody lost, at the first look after an outage. */
  tempered(members: Member[]): Member[] {
    const from = this.#steadySince + graceMs;
    return members.map(({ lost, ...each }) => ({
      ...each,
      ...(lost && this.#last >= from ? { lost } : {}),
      ...(each.ill ? { ill: { ...each.ill, due: Math.max(each.ill.due, from) } } : {}),
    }));
  }

  /** When a machine's node was first missed: nothing in the cluster tells. */
  missed(machine: string, now: number): number {
    for (const [key, { asked }] of this.#gone) if (now - asked > rememberedMs) this.#gone.delete(key);
    const since = this.#gone.get(machine)?.since ?? now;
    this.#gone.set(machine, { since, asked: now });
    return since;
  }

  /** A machine's node is there. */
  found(machine: string): void {
    this.#gone.delete(machine);
  }
}
