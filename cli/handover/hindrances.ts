/** The reasons that prevent a release, each with its remedy. */
import { readAtWork } from "../../activities/handover/presence.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import { keyOf, type PoolsSeen, strayNamespaces } from "../../activities/handover/pools.ts";
import { workflowIdOf } from "../../workflows/commands/start_options.ts";
import { inCluster } from "../connect/cluster_name.ts";
import { osmAtWork, whoIsAtWork } from "./guard.ts";
import type { ReleaseFlags } from "./release_flags.ts";
import { objectText } from "../rollout/pools.ts";
import { isUnfinished, type KeptPool, type PlannedPool } from "./release_plan.ts";
import { few } from "./telling.ts";

/** The facts that decide about a release. */
interface ReleaseFacts {
  planned: PlannedPool[];
  kept: KeptPool[];
  configHeads: PoolsSeen["configHeads"];
  getter: { token: string } | { fault: string };
  flags: ReleaseFlags;
}

/** Returns all reasons together, so that the administrator can resolve them before the next attempt. */
export async function hindrancesOf(
  world: World,
  cluster: NamedCluster,
  { planned, kept, configHeads, getter, flags }: ReleaseFacts,
): Promise<string[]> {
  const pools = planned.map(({ pool }) => pool);
  const { ours } = await readAtWork(cluster.kube, flags.systemNamespace);
  const stray = strayNamespaces(pools, configHeads, flags);
  const leases = [{ namespace: flags.systemNamespace, name: "ostler-controller" }];
  const [ostler, osm] = await Promise.all([
    whoIsAtWork(world, cluster, { what: "Ostler", leases, deployments: ours }),
    osmAtWork(world, cluster, flags.profileNamespace),
  ]);
  return [
    ...ostler,
    ...osm.map((each) => `${each}, and start it after the release`),
    ...stray.map((namespace) =>
      `OperatingSystemConfigs of Ostler are in namespace "${namespace}", not in "${flags.profileNamespace}": ` +
      `give --profile-namespace ${namespace}, or delete unused configs`
    ),
    ...(flags.withoutTemporal ? [] : misnamed([...planned.map(workflowOf), ...kept], cluster.name ?? "")),
    ...("fault" in getter
      ? [`${getter.fault}: apply deploy/cloud-init-settings.yaml of Operating System Manager first`]
      : []),
    ...named(planned, {
      ...{ which: "unfinished", isAccepted: flags.unfinished === true, words: "unfinished rollout" },
      remedy: "wait until the rollout ends, abort it, or give --unfinished",
    }),
    ...(flags.unfinished ? [] : unfinishedText(kept.filter(isUnfinished))),
    ...named(planned, {
      ...{ which: "unrenderable", isAccepted: flags.unrenderable === true },
      words: "Operating System Manager cannot render the profile",
      remedy: "select another profile, or give --unrenderable",
    }),
  ];
}

/**
 * Returns a sentence about the first pool whose workflow id has another cluster name than this command: the command
 * would terminate the runs of another cluster. Returns none if all names agree.
 */
function misnamed(pools: Pick<KeptPool, "pool" | "workflowId">[], cluster: string): string[] {
  for (const { pool, workflowId } of pools) {
    const wanted = workflowIdOf(inCluster(cluster, pool));
    if (workflowId === undefined || workflowId === wanted) continue;
    return [
      `the workflow of pool "${
        keyOf(pool)
      }" is "${workflowId}", not "${wanted}": set the cluster's name with --cluster`,
    ];
  }
  return [];
}

function workflowOf({ pool: { namespace, name, workflowId } }: PlannedPool): Pick<KeptPool, "pool" | "workflowId"> {
  return { pool: { namespace, name }, ...(workflowId ? { workflowId } : {}) };
}

/** Returns a sentence about the NodePools and ScalingGroups with a rollout in progress; none without any. */
function unfinishedText(kept: KeptPool[]): string[] {
  if (kept.length === 0) return [];
  const told = kept.slice(0, mostReasons).map(({ pool, phase }) => `${objectText(pool)} (${phase})`);
  const more = kept.length > told.length ? ` and ${kept.length - told.length} more` : "";
  return [
    `unfinished rollouts: ${told.join(", ")}${more}; wait until each rollout ends, abort it, or give --unfinished; ` +
    "without Ostler nothing continues these rollouts",
  ];
}

interface Reason {
  which: "unfinished" | "unrenderable";
  isAccepted: boolean;
  words: string;
  remedy: string;
}

/**
 * Maximum reasons of one kind that get a sentence each; all further ones share a sentence, because in a large fleet
 * each pool can have a reason of its own.
 */
const mostReasons = 5;

function named(planned: PlannedPool[], { which, isAccepted, words, remedy }: Reason): string[] {
  if (isAccepted) return [];
  const byReason = Map.groupBy(planned.filter((pool) => pool[which] !== undefined), (pool) => pool[which]);
  const all = [...byReason];
  const rest = all.slice(mostReasons).flatMap(([, pools]) => pools);
  return [
    ...all.slice(0, mostReasons).map(([reason, pools]) => `${poolsText(pools)}: ${words}: ${reason}; ${remedy}`),
    ...(rest.length === 0 ? [] : [`${poolsText(rest)}: ${words}, for other reasons; ${remedy}`]),
  ];
}

function poolsText(pools: PlannedPool[]): string {
  return `${pools.length === 1 ? "pool" : "pools"} ${few(pools.map(({ pool }) => keyOf(pool)))}`;
}
