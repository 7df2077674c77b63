/** Reads and extends the record of CA bundles that new machines of a pool got, in the status of its Rollout; pure. */
import { z } from "zod";
import type { TrustedCas } from "../../workflows/contracts/mod.ts";

const Cas = z.array(z.string().regex(/^[0-9a-f]{16}$/)).max(32);

/**
 * The CAs that machines get that are created at `since` or later, until the next bundle begins. Without `since`, the
 * bundle begins with the first machine of the pool.
 */
const CaBundle = z.object({ since: z.iso.datetime().optional(), cas: Cas, partly: Cas.optional() });
export type CaBundle = z.infer<typeof CaBundle>;

/**
 * Maximum number of bundles on a Rollout; a machine that is older than the oldest of them may have a bundle that is not
 * recorded any more.
 */
const bundlesKept = 10;

/** Returns the bundles in the status of a Rollout, the newest last; none if one of them is invalid, or out of order. */
export function caBundlesIn(status: unknown): CaBundle[] {
  const { caBundles } = (status ?? {}) as { caBundles?: unknown };
  // If one bundle is invalid, all are dropped: the record would otherwise not show which CAs the machines of that
  // bundle lack.
  const found = z.array(CaBundle).safeParse(caBundles).data ?? [];
  const isOrdered = found.every((bundle, nth) => {
    return nth === 0 || (bundle.since !== undefined && sinceOf(bundle) >= sinceOf(found[nth - 1]));
  });
  return isOrdered ? found : [];
}

/**
 * Returns the record with the bundle that is published now, which begins at `now` (epoch ms); undefined if the last
 * bundle is equal. The artefacts with the bundle must have been written before `now`.
 */
export function withBundle(
  bundles: readonly CaBundle[],
  { cas, partly = [], isFirst }: TrustedCas,
  now: number,
): CaBundle[] | undefined {
  const last = bundles.at(-1);
  if (last && isSame(last.cas, cas) && isSame(last.partly ?? [], partly)) return undefined;
  // A clock that was set back must not make the newest bundle older than the one before it.
  const since = new Date(Math.max(now, sinceOf(last))).toISOString();
  const next = { ...(isFirst && !last ? {} : { since }), cas, ...(partly.length > 0 ? { partly } : {}) };
  return [...bundles, next].slice(-bundlesKept);
}

/** Returns the time (epoch ms) from which new machines get a bundle; 0 if all machines of the pool got the bundle. */
function sinceOf(bundle: CaBundle | undefined): number {
  return bundle?.since === undefined ? 0 : Date.parse(bundle.since);
}

/** Returns whether machines that are created at `now` (epoch ms) surely get the last bundle. */
export function isEffective(bundles: readonly CaBundle[], now: number): boolean {
  return bundles.length > 0 && sinceOf(bundles.at(-1)) <= now - clockMs;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Milliseconds by which the clocks of workers, API servers and users may differ. */
const clockMs = 60_000;

/**
 * `Trusts`: the machine trusts all present CAs, which are those that machines must trust now. `Lacks`: it may lack one
 * of them. `Unknown`: it was created before the first known bundle.
 */
type TrustState = "Trusts" | "Lacks" | "Unknown";

/**
 * The trust of one machine. A present CA is one that machines must trust now; `trustsOthers` is true if the machine may
 * trust any other CA.
 */
export interface MachineTrust {
  state: TrustState;
  trustsOthers: boolean;
}

/**
 * Returns whether a machine that was created at `created` (epoch ms) trusts the present CAs. A machine boots some time
 * after its creation, so it may have any bundle since then: certain are only the CAs that all these bundles contain.
 */
export function trustOf(bundles: readonly CaBundle[], created: number, present: readonly string[]): MachineTrust {
  const first = bundles.findLastIndex((bundle) => sinceOf(bundle) <= created - clockMs);
  const possible = bundles.slice(Math.max(first, 0));
  const lacks = present.some((ca) => possible.some(({ cas }) => !cas.includes(ca)));
  const others = possible.flatMap(({ cas, partly = [] }) => [...cas, ...partly]);
  return {
    state: lacks ? "Lacks" : first < 0 ? "Unknown" : "Trusts",
    trustsOthers: others.some((ca) => !present.includes(ca)),
  };
}

/** Returns whether a machine is not known to trust exactly the present CAs. */
export function isOutdated({ state, trustsOthers }: MachineTrust): boolean {
  return state !== "Trusts" || trustsOthers;
}

/** The machines of a pool by what they trust. */
export interface PoolTrust {
  machines: number;
  /** Machines that may lack a CA that machines must trust now. */
  lacking: number;
  /** Machines that were created before the first known bundle. */
  unknown: number;
  /** Machines that may trust a CA other than those that machines must trust now. */
  trustingOthers: number;
}

/** Counts the machines of a pool by what they trust, which depends on their creation times `created` (epoch ms). */
export function poolTrust(
  bundles: readonly CaBundle[],
  created: readonly number[],
  present: readonly string[],
): PoolTrust {
  const all = created.map((at) => trustOf(bundles, at, present));
  const count = (is: (trust: MachineTrust) => boolean): number => all.filter(is).length;
  return {
    machines: all.length,
    lacking: count(({ state }) => state === "Lacks"),
    unknown: count(({ state }) => state === "Unknown"),
    trustingOthers: count(({ trustsOthers }) => trustsOthers),
  };
}
