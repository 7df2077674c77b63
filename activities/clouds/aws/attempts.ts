/**
 * The journal of an order for one instance, as one text such as "3 eu-west-1a 1760000000": the number of the latest
 * launch attempt, and the zone and time of that attempt if it launched an instance or may have done so.
 */

export interface Attempts {
  /** Number of the latest attempt; 0 before the first one. */
  number: number;
  open: OpenAttempt | undefined;
}

/** An attempt that may have launched an instance. */
export interface OpenAttempt {
  zone: string;
  /** Time of the attempt (epoch ms, in whole seconds). */
  since: number;
}

/** Returns the attempts in a journal's text; a text of any other form counts as no attempts. */
export function attemptsIn(text: string): Attempts {
  const [, number, zone, since] = /^(\d{1,9})(?: (\S+) (\d{1,12}))?$/.exec(text) ?? [];
  return {
    number: Number(number ?? 0),
    open: zone === undefined ? undefined : { zone, since: Number(since) * 1_000 },
  };
}

export function textOf({ number, open }: Attempts): string {
  return open ? `${number} ${open.zone} ${Math.floor(open.since / 1_000)}` : String(number);
}
