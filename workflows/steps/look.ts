/** How a run looks at its machines. */
import type { Desired, Member, PoolQuestion, PoolSnapshot, Rules } from "../contracts/mod.ts";
import { machinesOf } from "../policy/amounts.ts";
import { supplierOf } from "../policy/supplier/supplier_of.ts";
import { read } from "../proxies.ts";
import type { Rollout } from "../state/rollout.ts";

/** How this run looks at its pool. */
export function questionOf(rollout: Rollout, desired: Desired, rules: Rules): PoolQuestion {
  const most = machinesOf(rules.budget.machines, desired.replicas);
  const limit = Math.max(20, 2 * Math.min(most, supplierOf().roomOf(desired) || most));
  const { pool, booting } = rollout;
  return {
    pool,
    templateHash: desired.templateHash,
    unproven: [...Object.keys(booting), ...rollout.failed],
    repair: rules.repair,
    limit,
  };
}

/** Reads the machines, as many as matter next. */
export async function look(rollout: Rollout, desired: Desired, rules: Rules): Promise<PoolSnapshot> {
  const question = questionOf(rollout, desired, rules);
  rollout.justEnded = [];
  const pool = await read.readPool.executeWithOptions({ summary: "Read the machines" }, [question]);
  rollout.snapshot = pool;
  rollout.failed = stillThere(rollout.failed, pool, question.limit);
  const isOfAnother = ({ templateHash }: Member): boolean => templateHash !== desired.templateHash;
  rollout.rolled ||= pool.counts.old > 0 || pool.leaving.some(isOfAnother);
  return pool;
}

/** Without those that somebody removed; one that is Ready is listed nowhere, so in doubt all are there. */
function stillThere(failed: string[], { counts, waiting, joining }: PoolSnapshot, limit: number): string[] {
  const unlisted = counts.updated - counts.updatedReady - waiting.length - joining.length;
  if (unlisted > 0 || joining.length >= limit) return failed;
  return failed.filter((machine) => joining.some(({ id }) => id === machine));
}
