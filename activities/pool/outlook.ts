/** Times that a process remembers from its reads of one API server, because the server does not record them. */
import type { Member } from "../../workflows/contracts/mod.ts";

/** A longer pause between two reads may have been an outage (ms). */
const pauseMs = 90_000;
/** After an outage every kubelet reports again within this time (ms). */
const graceMs = 30_000;
/** A machine that was not read for this long is forgotten (ms). */
const rememberedMs = 3_600_000;

/** Keeps machines from being repaired because of an outage, during which no kubelet could report. */
export class Outlook {
  #last = -Infinity;
  #steadySince = -Infinity;
  #gone = new Map<string, { since: number; asked: number }>();

  /**
   * Records that the API server answered; after a pause, no machine is due for repair before its kubelet has had time
   * to report.
   */
  looked(now: number): void {
    // After the clock was set back, earlier times would be in the future for as long.
    if (now - this.#last > pauseMs || now < this.#last) this.#steadySince = now;
    this.#last = now;
  }

  /**
   * Returns the members; until 30 s after the first read that follows an outage, none of them counts as due for repair
   * or as lost.
   */
  tempered(members: Member[]): Member[] {
    const from = this.#steadySince + graceMs;
    return members.map(({ lost, ...each }) => ({
      ...each,
      ...(lost && this.#last >= from ? { lost } : {}),
      ...(each.ill ? { ill: { ...each.ill, due: Math.max(each.ill.due, from) } } : {}),
    }));
  }

  /**
   * Records that a machine's node is missing at `now`; returns since when (epoch ms), which the cluster does not
   * record.
   */
  missed(machine: string, now: number): number {
    for (const [key, { asked }] of this.#gone) if (now - asked > rememberedMs) this.#gone.delete(key);
    const since = Math.min(this.#gone.get(machine)?.since ?? now, now);
    this.#gone.set(machine, { since, asked: now });
    return since;
  }

  /** Records that a machine's node exists. */
  found(machine: string): void {
    this.#gone.delete(machine);
  }
}
