/** Why the node of a joined machine is unhealthy. */
import type { Member, RepairRules } from "../../workflows/contracts/mod.ts";
import type { NodeFacts } from "./node_facts.ts";

type Illness = NonNullable<Member["ill"]>;

/** Rules of pools without repair: unhealthy machines are reported, but never replaced. */
export const neverRepaired: RepairRules = { enabled: false, notReadyFor: 0, conditions: [], maxUnhealthy: 100 };

/** The facts about a machine's node, or since when the node has been missing (epoch ms). */
export type Seen = { facts: NodeFacts } | { goneSince: number; node: string | undefined };

/**
 * Returns what makes a node unhealthy, since when, and when its machine is due for replacement. Of several causes,
 * returns the one that is due first; undefined if there is none. If repair is disabled, no cause is ever due. Pure.
 */
export function illnessOf(seen: Seen, repair: RepairRules): Illness | undefined {
  const [first] = illnesses(seen, repair).sort((a, b) => a.due - b.due);
  if (!first) return undefined;
  return repair.enabled ? first : { ...first, due: Number.MAX_SAFE_INTEGER };
}

/**
 * Returns whether a node has not been Ready, or has been missing, for at least `notReadyFor`, even if repair is off.
 */
export function isLost(seen: Seen, { notReadyFor }: RepairRules): boolean {
  const since = !("facts" in seen) ? seen.goneSince : seen.facts.ready ? Infinity : seen.facts.since;
  return Date.now() - since >= notReadyFor;
}

function illnesses(seen: Seen, { notReadyFor, conditions }: RepairRules): Illness[] {
  if (!("facts" in seen)) {
    const why = seen.node ? `node "${seen.node}" was deleted` : "its node was deleted";
    return [illness(why, seen.goneSince, notReadyFor)];
  }
  const { name, ready, readyReason, since } = seen.facts;
  const unready = ready ? [] : [illness(`node "${name}" is not Ready (${readyReason})`, since, notReadyFor)];
  const others = conditions.flatMap((rule) => {
    const held = seen.facts.conditions.find(({ type, status }) => type === rule.type && status === rule.status);
    return held ? [illness(`node "${name}" has ${rule.type}=${rule.status}`, held.since, rule.for)] : [];
  });
  return [...unready, ...others];
}

function illness(why: string, since: number, lasting: number): Illness {
  return { why, since, due: since + lasting };
}
