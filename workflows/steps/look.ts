/** How a run looks at its machines. */
import type { Desired, DesiredState, Member, PoolQuestion, PoolSnapshot, Rules } from "../contracts/mod.ts";
import { machinesOf } from "../policy/amounts.ts";
import { stillNews } from "../policy/in_place.ts";
import { supplierOf } from "../policy/supplier/supplier_of.ts";
import { readBeside } from "../proxies.ts";
import { dropOut } from "../state/machines.ts";
import type { Part, Seen } from "../state/rollout.ts";
import { warn } from "../state/view.ts";

/** How this run looks at its pool. */
export function questionOf(
  { settings, machines, people }: Seen<"settings" | "machines"> & Partial<Seen<"people">>,
  desired: Desired,
  rules: Rules,
): PoolQuestion {
  const most = machinesOf(rules.budget.machines, desired.replicas);
  return {
    pool: settings.pool,
    templateHash: desired.templateHash,
    unproven: [...Object.keys(machines.booting), ...machines.failed, ...Object.keys(machines.updating)],
    repair: rules.repair,
    ...(people && people.retriedAt > 0 && settings.pool.kind === "NodePool" ? { retriedAt: people.retriedAt } : {}),
    limit: Math.max(20, 2 * Math.min(most, supplierOf(settings.pool.kind).roomOf(desired) || most)),
  };
}

/** The same for a look, which finds out about those that people named too. */
function lookQuestionOf(
  { people, ...rollout }: Seen<"settings" | "people" | "machines">,
  desired: Desired,
  rules: Rules,
): PoolQuestion {
  const out = Object.entries(rollout.machines.updating).flatMap(([id, { isOut }]) => isOut ? [id] : []);
  const named = [...people.skipped, ...out];
  return { ...questionOf({ ...rollout, people }, desired, rules), ...(named.length > 0 ? { named } : {}) };
}

/** What the next look will ask unless something else is desired; undefined while nobody knows what is. */
export function nextQuestionOf(
  { settings, people, machines, target: { desired, rules } }: Seen<"settings" | "people" | "machines" | "target">,
): PoolQuestion | undefined {
  if (!desired?.settled || !rules) return undefined;
  return lookQuestionOf({ settings, people, machines }, desired, rules);
}

/** Reads what is desired, and the machines with it: the look of this round takes them unless it would ask something else. */
export async function readRound(
  { machines, tasks }: Part<"machines" | "tasks">,
  question: PoolQuestion,
): Promise<DesiredState> {
  const [summary, asked] = ["Read what is desired, and the machines", JSON.stringify(question)];
  tasks.justEnded = [];
  const { seen, pool } = await readBeside(tasks).readRound.executeWithOptions({ summary }, [question]);
  if (pool) machines.glance = { asked, pool };
  return seen;
}

/** Reads the machines, as many as matter next. */
export async function look(
  { settings, people, machines, tasks, waves, view }:
    & Seen<"settings">
    & Part<"people" | "machines" | "tasks" | "waves" | "view">,
  desired: Desired,
  rules: Rules,
): Promise<PoolSnapshot> {
  const question = lookQuestionOf({ settings, people, machines }, desired, rules);
  const glance = machines.glance?.asked === JSON.stringify(question) ? machines.glance.pool : undefined;
  machines.glance = undefined;
  if (!glance) tasks.justEnded = [];
  const pool = glance ??
    await readBeside(tasks).readPool.executeWithOptions({ summary: "Read the machines" }, [question]);
  machines.lately = stillNews(machines.lately, pool, Date.now());
  machines.snapshot = pool;
  machines.failed = stillThere(machines.failed, pool, question.limit);
  const isOfAnother = ({ templateHash }: Member): boolean => templateHash !== desired.templateHash;
  dropOut(machines, (id, update) => update.templateHash !== desired.templateHash || isUnknown(pool, id));
  dropUnknown({ people, view }, pool);
  waves.rolled ||= pool.counts.old > 0 || pool.leaving.some(isOfAnother);
  return pool;
}

function isUnknown({ unknown = [] }: PoolSnapshot, machine: string): boolean {
  return unknown.includes(machine);
}

/** No list names all machines, so only a look can tell that a name was mistyped, or that its machine is gone. */
function dropUnknown({ people, view }: Part<"people" | "view">, { unknown = [] }: PoolSnapshot): void {
  const mistyped = people.skipped.filter((machine) => unknown.includes(machine));
  if (mistyped.length === 0) return;
  people.skipped = people.skipped.filter((machine) => !unknown.includes(machine));
  const names = mistyped.map((machine) => `"${machine}"`).join(", ");
  warn(view, "CommandIgnored", `Cannot skip ${names}: the pool has no such machine`);
}

/** Without those that somebody removed; one that is Ready is listed nowhere, so in doubt all are there. */
function stillThere(failed: string[], { counts, waiting, joining }: PoolSnapshot, limit: number): string[] {
  const unlisted = counts.updated - counts.updatedReady - waiting.length - joining.length;
  if (unlisted > 0 || joining.length >= limit) return failed;
  return failed.filter((machine) => joining.some(({ id }) => id === machine));
}
