/**
 * What is written on a ScalingGroup about its orders. A run may die at any request, and a cloud tells late: what was meant is
 * written down before the cloud is asked, and by it the next try knows where it stands.
 */
import { z } from "zod";
import { unavailable } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { patchClusterObject } from "../../kube/resources.ts";
import { statusOf } from "../../kube/status.ts";
import { type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";

const prefix = "ostler.dev";

/** A ScalingGroup that is deleted stays until what we did to its machines is taken back. */
export const groupFinalizer = `${prefix}/scaling-group`;

/** Annotations of a ScalingGroup. */
export const ledgerAnnotations = {
  /** Numbers that tokens were made of, so that none is ever given twice. */
  tokens: `${prefix}/tokens`,
  /** Machines that the group is to keep, while its size is another for our sake. */
  declared: `${prefix}/declared-size`,
  /** What it was last made to boot. */
  boots: `${prefix}/boots`,
  /** What it booted before that. */
  former: `${prefix}/booted-before`,
  /** What it went back to, and from what. */
  pin: `${prefix}/went-back`,
  /** What machines left that went before another came. */
  legacies: `${prefix}/legacies`,
} as const;

const Tokens = z.object({ next: z.number().int().min(1), unused: z.array(z.number().int().min(1)) });

/** The next number, and those before it that were passed over. */
export type Tokens = z.infer<typeof Tokens>;

const Boots = z.object({ image: z.string(), components: z.string(), template: z.string() });

/** What machines of a group run, and the cloud's id of the template that they boot from. */
export type Boots = z.infer<typeof Boots>;

const Pin = z.object({ from: z.string(), boots: Boots });

/** What was left, by the hash of its target, and what is booted instead. */
export type Pin = z.infer<typeof Pin>;

const Legacy = z.object({ from: z.string(), to: z.string().optional(), since: z.string(), inheritance: z.unknown() });

/** What one left, and who has it, once that is known. */
export type Legacy = z.infer<typeof Legacy>;

/** Legacies that are kept: those left last. */
const legaciesKept = 50;

export interface Ledger {
  tokens: Tokens;
  declared: number | undefined;
  boots: Boots | undefined;
  former: Boots | undefined;
  pin: Pin | undefined;
  legacies: Legacy[];
}

/** Reads it; what cannot be read is as if it were not written. */
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

/** Annotations that write parts of it; null takes one away. */
export function written(parts: { [Part in keyof Ledger]?: Ledger[Part] | null }): Record<string, string | null> {
  const entries = Object.entries(parts).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([part, value]) => {
    const key = ledgerAnnotations[part as keyof typeof ledgerAnnotations];
    return [key, value === null ? null : JSON.stringify(value)];
  }));
}

/** With one more that a machine left; one that it left before stays. */
export function withLegacy(legacies: readonly Legacy[], left: Legacy): Legacy[] {
  if (legacies.some(({ from }) => from === left.from)) return [...legacies];
  return [...legacies, left].slice(-legaciesKept);
}

/** Clocks of clouds differ from ours by less (ms). */
const slackMs = 60_000;

/** The legacy of a newcomer that was not ordered for anybody: the one that it has, or the oldest that nobody has and that was left before it. */
export function legacyFor(legacies: readonly Legacy[], to: string, madeAt: string): Legacy | undefined {
  const isBefore = ({ since }: Legacy): boolean => Date.parse(madeAt) >= Date.parse(since) - slackMs;
  return legacies.find((each) => each.to === to) ??
    legacies.find((each) => each.to === undefined && each.from !== to && isBefore(each));
}

/** The first `most` numbers that nobody has. */
export function freeNumbers({ next, unused }: Tokens, most: number): number[] {
  const passed = unused.slice(0, most);
  return [...passed, ...Array.from({ length: most - passed.length }, (_, nth) => next + nth)];
}

/** Takes a number; undefined when somebody had it before. */
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
    return undefined; // anybody may write there
  }
}

/** Writes annotations of a group as it was read; who was faster is seen first. */
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
