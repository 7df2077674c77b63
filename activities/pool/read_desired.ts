/** Reads the desired state of a pool, and its rules. */
import type { Cluster } from "../cluster.ts";
import type { DesiredState, PoolRef, Rules } from "../../workflows/contracts/mod.ts";
import type { Wanted, WantedPool, WantedQuestion } from "../backends/contract.ts";
import { backendOf, strayNode } from "../backends/registry.ts";
import type { ConfigSource } from "../config/read_profile.ts";
import { expired } from "../failures.ts";
import { poll } from "../kube/polling.ts";
import { attempting } from "../kube/status.ts";
import { findRules } from "../policy/rules_for.ts";

export interface DesiredReader {
  kube: Cluster;
  profileNamespace: string;
}

/** Returns whether the pool is deleted, being deleted or present; if present, with the desired state and the rules. */
export async function readDesired(reader: DesiredReader, pool: PoolRef): Promise<DesiredState> {
  const { seen } = await findDesired(reader, pool);
  return seen;
}

/** Returns in words why a pool has no desired state. */
export function absenceText({ state }: Exclude<DesiredState, { state: "Present" }>): string {
  return state === "Gone" ? "the pool was deleted" : "the pool is being deleted";
}

/** The desired state; also the objects of its config, and facts of the pool. */
export interface FoundDesired extends Pick<WantedPool, "isUnused" | "keepsGood"> {
  seen: DesiredState;
  /** The objects from which the pool's config is rendered; absent for a backend that itself sets what machines boot. */
  source?: ConfigSource;
}

/** Reads the desired state; `rollout` is the pool's Rollout if it was just read, null for a pool without one. */
export function findDesired(
  { kube, profileNamespace }: DesiredReader,
  pool: PoolRef,
  { rollout }: Pick<WantedQuestion, "rollout"> = {},
): Promise<FoundDesired> {
  const question = { profileNamespace, ...(rollout === undefined ? {} : { rollout }) };
  return attempting(`read the desired state of "${pool.namespace}/${pool.name}"`, async () => {
    const since = performance.now();
    const wanted: Wanted = await backendOf(kube, pool).wanted(pool, question);
    if (wanted.state !== "Present") return { seen: wanted };
    const { state, desired, labels, source, ...found } = wanted;
    const { namespace, name } = pool;
    const { rules, policies } = await findRules(kube, { metadata: { namespace, name, labels } }, Date.now());
    const seen = { state, desired, rules: desired.isControlPlane ? oneAtATime(rules) : rules };
    return { seen, ...found, ...(source ? { source: { ...source, policies, since } } : {}) };
  });
}

/**
 * Sets the budget of a pool of control planes to one machine, whatever budget its policy has, because etcd can lose
 * only one member at a time.
 */
function oneAtATime(rules: Rules): Rules {
  const { urgency } = rules.budget;
  const budget = { machines: 1, perZone: null, zones: "Parallel" as const, cluster: 1 };
  return { ...rules, budget: { ...budget, ...(urgency ? { urgency } : {}) } };
}

/** Milliseconds without an observed state after which, and between which, `keepUnobserved` is called. */
const keepEveryMs = 15_000;

/**
 * Waits until the controller that creates the machines has observed the desired state, or until the pool is deleted or
 * being deleted. Returns the state; throws Expired (SettleExpired) at `until` (epoch ms). Meanwhile keeps the machines
 * of a pool whose image changes in place, for which the controller may otherwise never observe the change.
 */
export async function awaitDesiredSettled(
  reader: DesiredReader,
  { pool, until }: { pool: PoolRef; until: number },
  keepEvery = keepEveryMs,
): Promise<DesiredState> {
  let missing = "";
  let keptAt = Date.now();
  const backend = backendOf(reader.kube, pool);
  using news = backend.newsOfWanted(pool);
  return await poll<DesiredState>({
    ...{ until, news },
    every: 250,
    look: async () => {
      // While the watch shows that the controller has not observed the desired state, an event does not cause a read
      // from the API server. Calls that no event caused read from the API server in any case, because the watch may
      // have missed an event.
      if (missing && news.isNew && backend.templates?.isSurelyUnsettled(pool)) return { missing };
      const seen = await readDesired(reader, pool);
      if (seen.state !== "Present" || seen.desired.settled) return { answer: seen };
      missing = `${backend.maker} has not observed generation ${seen.desired.generation}`;
      if (Date.now() - keptAt >= keepEvery) {
        keptAt = Date.now();
        await keepUnobserved(reader.kube, pool, seen.rules);
      }
      return { missing };
    },
    expired: (missing) =>
      expired(
        "SettleExpired",
        `Failed to roll out "${pool.namespace}/${pool.name}": ${missing}; check that ${backend.maker} is running`,
      ),
  });
}

/**
 * Keeps the machines of a pool whose image changes in place, although its controller has not observed the change: some
 * controllers cannot observe it before (`keepMachines`).
 */
async function keepUnobserved(kube: Cluster, pool: PoolRef, { onImageChange = "Replace" }: Rules): Promise<void> {
  if (onImageChange === "Replace") return;
  // A refusal changes nothing, and the rollout reports it once the controller has observed the change.
  await backendOf(kube, pool).keep?.(pool, (nodes) => strayNode(kube, nodes));
}
