/**
 * The pools that wait for a slot of a shared budget, in an annotation of its ConfigMap: each data key counts as a slot,
 * also for workers of another version.
 */
import { z } from "zod";
import type { PoolRef, Urgency } from "../../workflows/contracts/mod.ts";

export const queueAnnotation = "ostler.dev/waiting";

/** Time (ms) without a request after which a pool has lost its place: a waiting pool asks at least every two minutes. */
const staleMs = 240_000;
/** Time (ms) between two writes of a place. */
const refreshMs = 60_000;
/** Places that are kept, so that the annotation stays far below the size that the API server accepts. */
const most = 1_000;

const ranks: Record<Urgency, number> = { High: 0, Normal: 1, Low: 2 };

const Place = z.object({
  /** First and last request (epoch ms). */
  since: z.number(),
  seen: z.number(),
  urgency: z.enum(["Low", "Normal", "High"]).catch("Normal"),
});
type Place = z.infer<typeof Place>;

/** Places by pool. */
export type Queue = Record<string, Place>;

/** Reads the places of pools that still wait at `now` (epoch ms); an invalid annotation has none. */
export function queueIn(annotations: Record<string, string> | undefined, now: number): Queue {
  const entries = Object.entries(parsed(annotations?.[queueAnnotation]));
  const places = entries.flatMap(([key, value]) => {
    const place = Place.safeParse(value).data;
    return place && Math.abs(now - place.seen) < staleMs ? [[key, place] as const] : [];
  });
  return Object.fromEntries(places.slice(0, most));
}

/** Returns the place of a pool, which is the last one unless the pool waits already, whatever the clock of a worker. */
export function placeOf(queue: Queue, key: string, { now, urgency }: { now: number; urgency: Urgency }): Place {
  const last = Math.max(now, ...Object.values(queue).map(({ since }) => since + 1));
  return { since: queue[key]?.since ?? last, seen: now, urgency };
}

/** Returns how many pools come before that place: more urgent ones, and those that waited first. */
export function aheadOf(queue: Queue, key: string, place: Place): number {
  const others = Object.entries(queue).filter(([other]) => other !== key);
  return others.filter(([other, each]) => {
    const rank = ranks[each.urgency] - ranks[place.urgency];
    if (rank !== 0) return rank < 0;
    return each.since < place.since || (each.since === place.since && other < key);
  }).length;
}

/** Returns whether a place must be written: it is new, has another urgency, or was written long ago. */
export function isPlaceNews(before: Place | undefined, { seen, urgency }: Place): boolean {
  return !before || before.urgency !== urgency || seen - before.seen >= refreshMs;
}

/** Returns the annotation with a place, or without it; null removes an annotation without places. */
export function annotationOf(queue: Queue, key: string, place?: Place): string | null {
  const { [key]: _, ...others } = queue;
  const places = place ? { ...others, [key]: place } : others;
  return Object.keys(places).length === 0 ? null : JSON.stringify(places);
}

/** Returns the key of a pool. */
export function queueKeyOf({ cluster = "", namespace, name }: PoolRef): string {
  return `${cluster}/${namespace}/${name}`;
}

function parsed(text: string | undefined): object {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
