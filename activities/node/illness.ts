/** What is wrong with the node of a machine that had joined. */
import type { Member, RepairRules } from "../../workflows/contracts/mod.ts";
import type { NodeFacts } from "./node_facts.ts";

export type Illness = NonNullable<Member["ill"]>;

/** Of pools that repair nothing: who is ill still counts. */
export const neverRepaired: RepairRules = { enabled: false, notReadyFor: 0, conditions: [], maxUnhealthy: 100 };

/** The node of a machine, or when it was first missed (epoch ms). */
export type Seen = { facts: NodeFacts } | { goneSince: number; node: string | undefined };

/** The illness that is due first, or undefined for a sound node; where nothing is repaired, none is ever due. Pure. */
export function illnessOf(seen: Seen, repair: RepairRules): Illness | undefined {
  const [first] = illnesses(seen, repair).sort((a, b) => a.due - b.due);
  if (!first) return undefined;
  return repair.enabled ? first : { ...first, due: Number.MAX_SAFE_INTEGER };
}

/** Not Ready, or gone, for as long as makes a machine ill, whether or not anything is repaired. */
export function isLost(seen: Seen, { notReadyFor }: RepairRules): boolean {
  const since = !("facts" in seen) ? seen.goneSince : seen.facts.ready ? Infinity : seen.facts.since;
  return Date.now() - since >= notReadyFor;
}

function illnesses(seen: Seen, { notReadyFor, conditions }: RepairRules): Illness[] {
  if (!("facts" in seen)) {
    const why = seen.node ? `node "${seen.node}" is gone` : "its node is gone";
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
