/** `ostler release`: removes the objects of Ostler, except those that Operating System Manager continues to use. */
import { readGetterToken } from "../../activities/handover/getter_token.ts";
import { readWebhooks } from "../../activities/handover/leftovers.ts";
import { readMarked, takeMarks } from "../../activities/handover/machines.ts";
import { haveSameNames, keyOf, seePools } from "../../activities/handover/pools.ts";
import { readProfiles } from "../../activities/handover/profiles.ts";
import { type Belonging, readBelongings } from "../../activities/handover/release_cluster.ts";
import { releasePool } from "../../activities/handover/release_pool.ts";
import { readTokens } from "../../activities/handover/tokens.ts";
import { abreast } from "../../activities/kube/status.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import { inCluster } from "../connect/cluster_name.ts";
import type { World } from "../connect/world.ts";
import { Refusal, Unreachable } from "../failure.ts";
import { objectText } from "../rollout/pools.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { printable } from "../view/printable.ts";
import { hindrancesOf } from "./hindrances.ts";
import type { ReleaseFlags } from "./release_flags.ts";
import { isLeaving, type KeptPool, keptPools, type PlannedPool, plannedPools, releaseLine } from "./release_plan.ts";
import { failureOf, Telling } from "./telling.ts";
import { releaseTemporal } from "./temporal_step.ts";

/** Pools, machines or nodes that are written concurrently. */
const width = 8;

/** Maximum NodePools and ScalingGroups that are named. */
const mostKept = 5;

/** Everything that is read before the first write. */
interface ReleasePlan {
  pools: PlannedPool[];
  kept: KeptPool[];
  getterToken: string;
  belongings: Belonging[];
}

/**
 * Runs the command; returns exit code 1 if a step was refused, else 0. Except in a dry run, throws Refusal before the
 * first change if a reason prevents the release.
 */
export async function release(terminal: Terminal, world: World, flags: ReleaseFlags): Promise<number> {
  const cluster = await world.cluster();
  const { profileNamespace, dryRun = false } = flags;
  const [{ pools, configHeads }, profiles, getter, belongings] = await Promise.all([
    seePools(cluster.kube, { profileNamespace }),
    readProfiles(cluster.kube),
    readGetterToken(cluster.kube),
    readBelongings(cluster.kube, profileNamespace),
  ]);
  const planned = plannedPools(pools, profiles, profileNamespace);
  const kept = keptPools(pools);
  const telling = new Telling(terminal, flags.output);
  const hindrances = await hindrancesOf(world, cluster, { planned, kept, configHeads, getter, flags });
  if (!dryRun && hindrances.length > 0) {
    // A text of another system, such as the holder of a Lease, must not begin a line of its own.
    const lines = hindrances.map((each) => printable(each, Infinity));
    throw new Refusal(`Failed to give the cluster back: ${lines.join("\n")}`);
  }
  telling.pools(planned.map(releaseLine), dryRun);
  for (const { about, needed } of await readWebhooks(cluster.kube)) {
    if (needed !== undefined) telling.step({ about, outcome: "Refused", message: needed });
  }
  for (const message of hindrances) telling.step({ about: "give back", outcome: "Refused", message });
  if (!dryRun) {
    await confirm(terminal, planned.length, flags);
    terminal.seeThrough?.();
  }
  const plan = { pools: planned, kept, getterToken: "token" in getter ? getter.token : "", belongings };
  await carryOut(world, cluster, { plan, telling, flags });
  const code = telling.end();
  if (!dryRun && flags.output === "table") terminal.err(code === 0 ? nextSteps : notYet);
  return code;
}

const notYet = "The release is incomplete: run the command again before you start Operating System Manager.\n";
const nextSteps =
  "Now start Operating System Manager; afterwards `ostler adopt --dry-run` shows the config of each pool. " +
  "`helm uninstall` removes the Deployments and permissions of Ostler, and keeps its CRDs.\n";

async function confirm(terminal: Terminal, count: number, { yes }: ReleaseFlags): Promise<void> {
  if (yes === true) return;
  const what = counted(count, "pool");
  if (terminal.ask === undefined) {
    throw new UsageError(`Failed to confirm the release of ${what}: no terminal; give --yes`);
  }
  const answer = await terminal.ask(`Give ${what} back to Operating System Manager? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Refusal("Release cancelled: nothing was changed");
}

interface Carrying {
  plan: ReleasePlan;
  telling: Telling;
  flags: ReleaseFlags;
}

// Stops the runs in Temporal, then removes the objects that act on pools, such as webhooks, so that no further machine
// is held. Then releases pools and machines, and last removes the objects that pools use.
async function carryOut(world: World, cluster: NamedCluster, carrying: Carrying): Promise<void> {
  const { plan: { belongings }, flags } = carrying;
  if (flags.withoutTemporal !== true) await leaveTemporal(world, cluster, carrying);
  for (const each of belongings.filter(({ isFirst }) => isFirst)) await removeOne(each, carrying);
  await releasePools(world, cluster, carrying);
  tellKept(carrying);
  await releaseMachines(cluster, carrying);
  for (const each of belongings.filter(({ isFirst }) => !isFirst)) await removeOne(each, carrying);
}

async function leaveTemporal(world: World, cluster: NamedCluster, { plan, telling, flags }: Carrying): Promise<void> {
  const { metadata } = await cluster.kube.core.readNamespace({ name: "kube-system" });
  // Terminates only runs of pools whose Rollout has a workflow id: nothing else proves that a run belongs to this
  // cluster.
  const known = plan.pools.filter(({ pool }) => pool.workflowId !== undefined);
  const others = plan.kept.filter(({ workflowId }) => workflowId !== undefined);
  const pools = [
    ...known.map(({ pool: { namespace, name } }) => ({ namespace, name })),
    ...others.map(({ pool }) => pool),
  ]
    .map((pool) => inCluster(cluster.name ?? "", pool));
  const wish = { pools, dryRun: flags.dryRun === true, uid: metadata?.uid ?? "" };
  try {
    for (const step of await releaseTemporal(await world.server(), wish)) telling.step(step);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    throw new Unreachable(`${error.message}; no pool was released; to skip Temporal, give --without-temporal`);
  }
}

// The Rollouts of NodePools and ScalingGroups stay, because Operating System Manager does not manage such pools, and
// Ostler continues from these Rollouts if it is installed again.
function tellKept({ plan: { kept }, telling }: Carrying): void {
  if (kept.length === 0) return;
  const names = kept.slice(0, mostKept).map(({ pool }) => objectText(pool)).join(", ");
  const more = kept.length > mostKept ? ` and ${kept.length - mostKept} more` : "";
  const message = `${names}${more} kept: Operating System Manager does not manage pools of this kind`;
  telling.step({ about: "pools of other kinds", outcome: "Present", message });
}

async function removeOne({ about, remove }: Belonging, { telling, flags }: Carrying): Promise<void> {
  if (flags.dryRun) return telling.step({ about, outcome: "Wanted", message: "would be removed" });
  await remove();
  telling.step({ about, outcome: "Removed", message: "removed" });
}

async function releasePools(world: World, { kube }: NamedCluster, { plan, telling, flags }: Carrying): Promise<void> {
  const { profileNamespace, dryRun } = flags;
  const { pools, getterToken } = plan;
  const about = "pools of Ostler";
  if (dryRun) {
    return telling.step({ about, outcome: "Wanted", message: `${counted(pools.length, "pool")} would be given back` });
  }
  const releaser = { kube, profileNamespace, getterToken, tokens: await readTokens(kube), now: world.now() };
  let done = 0;
  const give = async (planned: PlannedPool): Promise<Failed[]> => {
    const failure = await failureOf(releasePool(releaser, planned));
    telling.progress("given back", ++done, pools.length);
    return failure === undefined ? [] : [{ planned, failure }];
  };
  // Deleted pools are cleaned up before existing pools are released. An existing pool can have objects with the same
  // names, and its release removes the owner annotation of these objects.
  const going = pools.filter(isLeaving);
  const cleaned = await abreast(width, going, give);
  const staying = pools.filter((pool) => !going.includes(pool));
  const waiting = overlapped(staying, cleaned.flat());
  const given = await abreast(width, staying.filter((pool) => !waiting.some(({ planned }) => planned === pool)), give);
  const failures = [...cleaned, ...given, waiting].flat();
  for (const { planned: { pool }, failure } of failures) {
    telling.step({ about: `pool "${keyOf(pool)}"`, outcome: "Refused", message: failure });
  }
  telling.step({ about, outcome: "Changed", message: `${counted(pools.length - failures.length, "pool")} given back` });
}

interface Failed {
  planned: PlannedPool;
  failure: string;
}

// Finds existing pools whose objects have the same names as those of a deleted pool whose cleanup failed. Such a pool
// is not released: the release would remove the owner annotation, which alone shows that the cleanup is unfinished.
function overlapped(staying: PlannedPool[], failed: Failed[]): Failed[] {
  return staying.flatMap((planned) => {
    const rival = failed.find((each) => haveSameNames(planned.pool, each.planned.pool));
    if (rival === undefined) return [];
    const other = `"${keyOf(rival.planned.pool)}"`;
    const failure =
      `its objects have the same names as the objects of ${other}, whose cleanup failed; fix that failure, and retry`;
    return [{ planned, failure }];
  });
}

async function releaseMachines({ kube }: NamedCluster, { telling, flags }: Carrying): Promise<void> {
  const marked = await readMarked(kube);
  const about = "holds, marks and cordons of Ostler";
  const on = `on ${counted(marked.length, "machine or node")}`;
  if (marked.length === 0) return telling.step({ about, outcome: "Present", message: "none found" });
  if (flags.dryRun) return telling.step({ about, outcome: "Wanted", message: `${on}: would be removed` });
  const failures = await abreast(width, marked, (each) => failureOf(takeMarks(kube, each)));
  const [first] = failures.flatMap((failure) => failure ?? []);
  telling.step({ about, ...(first === undefined ? gone(on) : { outcome: "Refused", message: first }) });
}

function gone(on: string): { outcome: "Removed"; message: string } {
  return { outcome: "Removed", message: `${on}: removed` };
}
