/**
 * The queue of pools that wait for a slot of a shared budget. It is an annotation of the ConfigMap of that budget and
 * not part of the data, because workers of every version of Ostler count each data key as a slot.
 */
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { PoolRef, Urgency } from "../../workflows/contracts/mod.ts";

export const queueAnnotation = "ostler.dev/waiting";

/**
 * Time (ms) without a request after which a pool has lost its place; a waiting pool asks at least every two minutes.
 */
const staleMs = 240_000;
/**
 * Time (ms) after which a waiting pool writes its place again, even if only the time of its last request has changed.
 */
const refreshMs = 60_000;
/**
 * Maximum number of places that are kept, and of their bytes: each write contains all places, and the API server
 * accepts 256 KiB of annotations. A pool that finds no room gets a place at a later request, once fewer pools come
 * before it.
 */
const most = 50;
const mostBytes = 32 * 1024;

const ranks: Record<Urgency, number> = { High: 0, Normal: 1, Low: 2 };

const Place = z.object({
  /** First and last request of the pool (epoch ms). */
  since: z.number(),
  seen: z.number(),
  urgency: z.enum(["Low", "Normal", "High"]).catch("Normal"),
  /** Size of the budget in slots, by the policy of the pool; absent in a place that an earlier version wrote. */
  limit: z.number().optional().catch(undefined),
});
type Place = z.infer<typeof Place>;

/** Places in the queue, by pool. */
type Queue = Record<string, Place>;

/** Reads the places of pools that still wait at `now` (epoch ms); an invalid annotation has none. */
export function queueIn(annotations: Record<string, string> | undefined, now: number): Queue {
  const entries = Object.entries(parsed(annotations?.[queueAnnotation]));
  const places = entries.flatMap(([key, value]) => {
    const place = Place.safeParse(value).data;
    return place && Math.abs(now - place.seen) < staleMs ? [[key, place] as const] : [];
  });
  return firstOf(Object.fromEntries(places));
}

/** The request of a pool: `since` (epoch ms) is the time of the pool's first request, if the pool knows that. */
interface SlotRequest {
  now: number;
  urgency: Urgency;
  limit: number;
  since?: number | undefined;
}

/**
 * Returns the place that a pool has, or a new one. A pool that does not know since when it waits gets the last place,
 * even if the clock of its worker is slow.
 */
export function placeOf(queue: Queue, key: string, { now, urgency, limit, since }: SlotRequest): Place {
  const last = Math.max(now, ...Object.values(queue).map((each) => each.since + 1));
  return { since: queue[key]?.since ?? Math.min(since ?? last, last), seen: now, urgency, limit };
}

/**
 * Returns how many pools come before that place: pools with a higher urgency, and pools with the same urgency that have
 * waited longer. A pool whose limit is below the number of taken slots (`held`) does not count, because it cannot get
 * the next free slot.
 */
export function aheadOf(queue: Queue, key: string, { place, held }: { place: Place; held: number }): number {
  return Object.entries(queue)
    .filter(([other, each]) => other !== key && (each.limit ?? Infinity) >= held)
    .filter((other) => compare(other, [key, place]) < 0).length;
}

function compare([one, { urgency, since }]: [string, Place], [other, place]: [string, Place]): number {
  return ranks[urgency] - ranks[place.urgency] || since - place.since || Number(one > other) - Number(one < other);
}

/** Returns the places that are kept: the first ones, within `most` and `mostBytes`. */
function firstOf(queue: Queue): Queue {
  let bytes = 0;
  const isKept = (entry: [string, Place]): boolean => (bytes += Buffer.byteLength(JSON.stringify(entry))) <= mostBytes;
  return Object.fromEntries(Object.entries(queue).sort(compare).slice(0, most).filter(isKept));
}

/**
 * Returns whether the annotation must be written: the place is new, has another urgency or limit, was last written at
 * least a minute ago, or is in the annotation but not one of the kept places any more.
 */
export function isPlaceNews(queue: Queue, key: string, place: Place): boolean {
  const before = queue[key];
  if (!(key in firstOf({ ...queue, [key]: place }))) return before !== undefined;
  return !before || before.urgency !== place.urgency || before.limit !== place.limit ||
    place.seen - before.seen >= refreshMs;
}

/**
 * Returns the annotation with the place of a pool, or without it if no place is given; null, which removes the
 * annotation, if no place is left.
 */
export function annotationOf(queue: Queue, key: string, place?: Place): string | null {
  const { [key]: _, ...others } = queue;
  const places = firstOf(place ? { ...others, [key]: place } : others);
  return Object.keys(places).length === 0 ? null : JSON.stringify(places);
}

/** Returns the key of a pool, "cluster/namespace/name"; the cluster can be "". */
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
