/** Plans a rollout as its run would, from the current state. */
import type { Cluster } from "../cluster.ts";
import type { Desired, Member, Memory, PoolKind, PoolRef, RolloutPlan, Rules } from "../../workflows/contracts/mod.ts";
import { moot } from "../failures.ts";
import { attempting } from "../kube/status.ts";
import { recall } from "../status/recall.ts";
import { absenceText, readDesired } from "./read_desired.ts";
import { readMembers } from "./read_pool.ts";
import { byTurn } from "./snapshot.ts";

/** Returns the plan of the whole rollout; `members` are all machines in their removal order, `now` is epoch ms. */
export type Forecast = (
  question: {
    now: number;
    kind?: PoolKind;
    desired: Desired;
    rules: Rules;
    memory: Memory;
    members: readonly Member[];
  },
) => RolloutPlan;

/** Dependencies of planning. `forecast` is passed in, because activities make no decisions. */
interface Planner {
  kube: Cluster;
  profileNamespace: string;
  forecast: Forecast;
}

/**
 * Maximum number of machines per wave that a plan in a workflow's history names; the hash of the plan covers all of
 * them.
 */
const named = 20;

/**
 * Returns the plan with at most `named` machines per wave, because it is stored in a workflow's history. Throws Moot
 * (GenerationStale) if the pool was deleted, or if `templateHash` is given and is not the desired template.
 */
export async function planRollout(
  planner: Planner,
  { pool, templateHash }: { pool: PoolRef; templateHash?: string },
): Promise<RolloutPlan> {
  const { desired, plan } = await planOf(planner, pool);
  if (templateHash !== undefined && desired.templateHash !== templateHash) {
    const state = `the desired template is "${desired.templateHash}", not "${templateHash}"`;
    throw moot("GenerationStale", `Failed to plan the rollout of "${pool.namespace}/${pool.name}": ${state}`);
  }
  return { ...plan, waves: plan.waves.map((wave) => ({ ...wave, machines: wave.machines.slice(0, named) })) };
}

/** Returns the whole plan, with every machine by name. Throws Moot (GenerationStale) if the pool was deleted. */
export async function readPlan(planner: Planner, pool: PoolRef): Promise<RolloutPlan> {
  return (await planOf(planner, pool)).plan;
}

async function planOf(planner: Planner, pool: PoolRef): Promise<{ desired: Desired; plan: RolloutPlan }> {
  const { kube, forecast } = planner;
  const state = await readDesired(planner, pool);
  if (state.state !== "Present") {
    const attempt = `Failed to plan the rollout of "${pool.namespace}/${pool.name}"`;
    throw moot("GenerationStale", `${attempt}: ${absenceText(state)}`);
  }
  const { desired, rules } = state;
  const [memory, members] = await attempting(`read the machines of "${pool.namespace}/${pool.name}"`, () => {
    return Promise.all([recall(kube, pool), readMembers(kube, pool, rules.repair)]);
  });
  return {
    desired,
    plan: forecast({ now: Date.now(), ...kindOf(pool), desired, rules, memory, members: members.sort(byTurn) }),
  };
}

function kindOf({ kind }: PoolRef): { kind?: PoolKind } {
  return kind === undefined ? {} : { kind };
}
