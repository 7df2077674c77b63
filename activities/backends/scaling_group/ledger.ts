/**
 * The ledger of a ScalingGroup's orders, in its annotations. A run can stop at any request, and clouds report late, so
 * each intent is recorded before the request to the cloud, and the next attempt continues from the record.
 */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { unavailable } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { patchClusterObject } from "../../kube/resources.ts";
import { statusOf } from "../../kube/status.ts";
import { type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";

const prefix = "ostler.dev";

/** Keeps a ScalingGroup until the marks and records of its machines are removed. */
export const groupFinalizer = `${prefix}/scaling-group`;

/** Annotations of a ScalingGroup. */
export const ledgerAnnotations = {
  /** Numbers that no token of an order has used yet, so that no token is used twice. */
  tokens: `${prefix}/tokens`,
  /** Desired number of machines while Ostler has changed the group's size. */
  declared: `${prefix}/declared-size`,
  /** The group's current boot template. */
  boots: `${prefix}/boots`,
  /** The group's previous boot template. */
  former: `${prefix}/booted-before`,
  /** The boot template of a rollback, and the target that was rolled back. */
  pin: `${prefix}/went-back`,
  /** Inheritances of machines that were deleted before their replacement was created. */
  legacies: `${prefix}/legacies`,
} as const;

const Tokens = z.object({ next: z.number().int().min(1), unused: z.array(z.number().int().min(1)) });

/** Unused numbers for the tokens of orders: the next number, and the skipped numbers before it. */
export type Tokens = z.infer<typeof Tokens>;

const Boots = z.object({ image: z.string(), components: z.string(), template: z.string() });

/** Image and components of a group's machines, and the cloud's ID of their boot template. */
export type Boots = z.infer<typeof Boots>;

const Pin = z.object({ from: z.string(), boots: Boots });

/** The hash of the target that was rolled back, and the boot template that replaces it. */
export type Pin = z.infer<typeof Pin>;

const Legacy = z.object({ from: z.string(), to: z.string().optional(), since: z.string(), inheritance: z.unknown() });

/**
 * The inheritance of a machine that was deleted before its replacement was created, and the machine that takes it over,
 * once known.
 */
export type Legacy = z.infer<typeof Legacy>;

/**
 * Maximum number of legacies that are kept, and of their bytes, because the API server accepts 256 KiB of annotations;
 * the newest stay.
 */
const legaciesKept = 50;
const mostBytes = 128 * 1024;

/** The records of Ostler in the annotations of one group. */
export interface Ledger {
  tokens: Tokens;
  declared: number | undefined;
  boots: Boots | undefined;
  former: Boots | undefined;
  pin: Pin | undefined;
  legacies: Legacy[];
}

/** Reads the ledger; an unreadable part counts as missing. */
export function ledgerOf({ metadata: { annotations = {} } }: Pick<ScalingGroup, "metadata">): Ledger {
  const read = <T>(key: keyof typeof ledgerAnnotations, schema: z.ZodType<T>): T | undefined =>
    parsed(schema, annotations[ledgerAnnotations[key]]);
  return {
    tokens: read("tokens", Tokens) ?? { next: 1, unused: [] },
    declared: read("declared", z.number().int().min(0)),
    boots: read("boots", Boots),
    former: read("former", Boots),
    pin: read("pin", Pin),
    legacies: read("legacies", z.array(Legacy)) ?? [],
  };
}

/** Returns the annotations that write parts of the ledger; null removes a part. */
export function written(parts: { [Part in keyof Ledger]?: Ledger[Part] | null }): Record<string, string | null> {
  const entries = Object.entries(parts).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([part, value]) => {
    const key = ledgerAnnotations[part as keyof typeof ledgerAnnotations];
    return [key, value === null ? null : JSON.stringify(value)];
  }));
}

/**
 * Returns the legacies with one added, unless its machine has one already; keeps only the newest, within `legaciesKept`
 * and `mostBytes`.
 */
export function withLegacy(legacies: readonly Legacy[], left: Legacy): Legacy[] {
  if (legacies.some(({ from }) => from === left.from)) return [...legacies];
  const all = [...legacies, left].slice(-legaciesKept);
  while (all.length > 1 && Buffer.byteLength(JSON.stringify(all)) > mostBytes) all.shift();
  return all;
}

/** Clocks of clouds and workers differ by less than this (ms). */
const slackMs = 60_000;

/**
 * Returns the legacy that a new machine without an order takes over: the one assigned to the machine, or else the
 * oldest unassigned one from before its creation; undefined if there is none.
 */
export function legacyFor(legacies: readonly Legacy[], to: string, madeAt: string): Legacy | undefined {
  const isBefore = ({ since }: Legacy): boolean => Date.parse(madeAt) >= Date.parse(since) - slackMs;
  return legacies.find((each) => each.to === to) ??
    legacies.find((each) => each.to === undefined && each.from !== to && isBefore(each));
}

/** Returns the first `most` unused numbers. */
export function freeNumbers({ next, unused }: Tokens, most: number): number[] {
  const passed = unused.slice(0, most);
  return [...passed, ...Array.from({ length: most - passed.length }, (_, nth) => next + nth)];
}

/** Marks a number as used: returns the remaining unused numbers, or undefined if the number was used before. */
export function taken({ next, unused }: Tokens, number: number): Tokens | undefined {
  if (number < next) {
    return unused.includes(number) ? { next, unused: unused.filter((each) => each !== number) } : undefined;
  }
  const passed = Array.from({ length: number - next }, (_, nth) => next + nth);
  return { next: number + 1, unused: [...unused, ...passed] };
}

function parsed<T>(schema: z.ZodType<T>, text: string | undefined): T | undefined {
  try {
    return text === undefined ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // not JSON: users can edit the annotation
  }
}

/** Writes annotations of a group; throws Transient if the group was modified since it was read. */
export async function patchLedger(
  kube: Kube,
  { name, resourceVersion }: ScalingGroup["metadata"],
  annotations: Record<string, string | null>,
): Promise<ScalingGroup> {
  try {
    return await patchClusterObject(kube, scalingGroups, {
      name,
      body: { metadata: { resourceVersion, annotations } },
    });
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(`Failed to annotate ScalingGroup "${name}": conflict, the object was modified`);
  }
}
