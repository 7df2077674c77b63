/**
 * How long nobody could look at something that is waited for. Whatever kept us from it, the API server, Temporal or all
 * workers being away: that time counts for no deadline. It is noted in the heartbeat, so that the next try knows.
 */
import type { Info } from "@temporalio/activity";

/** Looks that are further apart had something in between: as long as no watch goes without one. */
const unseenFromMs = 90_000;
/** After an outage everybody reports again within this time, which does not count either. */
const graceMs = 30_000;

/** What the next try has to know. */
interface Noted {
  waitsFor: string;
  /** Epoch ms. */
  lookedAt: number;
}

/** By so much the clocks of a worker and of Temporal may differ: what is less may have been no wait at all. */
const skewMs = 600_000;

export class Sight {
  #lookedAt: number;
  #isBlind = false;

  /** Goes on where the try before it stopped; the first one begins when it was asked for. */
  constructor(
    { heartbeatDetails, scheduledTimestampMs }: Pick<Info, "heartbeatDetails" | "scheduledTimestampMs">,
    now = Date.now(),
  ) {
    const { lookedAt } = (heartbeatDetails ?? {}) as Partial<Noted>;
    const asked = scheduledTimestampMs ?? now;
    this.#lookedAt = lookedAt ?? (now - asked < skewMs ? now : asked);
  }

  /** The last look saw nothing. */
  get isBlind(): boolean {
    return this.#isBlind;
  }

  /** A look begins. */
  begin(): void {
    this.#isBlind = false;
  }

  /** Notes that there was no answer, and why. */
  missed(why: string): { missing: string } {
    this.#isBlind = true;
    return { missing: why };
  }

  /** Notes a look; gives the milliseconds that count for nothing, 0 for none. */
  looked(now: number): number {
    const gap = now - this.#lookedAt;
    this.#lookedAt = now;
    return gap < unseenFromMs ? 0 : gap + graceMs;
  }

  /** For the heartbeat. */
  noted(waitsFor: string): Noted {
    return { waitsFor, lookedAt: this.#lookedAt };
  }
}
