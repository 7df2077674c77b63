/** Why a release must not be, in words that say what to do first. */
import { readAtWork } from "../../activities/handover/presence.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import { keyOf, type PoolsSeen, strayNamespaces } from "../../activities/handover/pools.ts";
import { workflowIdOf } from "../../workflows/commands/start_options.ts";
import { inCluster } from "../connect/cluster_name.ts";
import { osmAtWork, whoIsAtWork } from "./guard.ts";
import type { ReleaseFlags } from "./release_flags.ts";
import type { PlannedPool } from "./release_plan.ts";
import { few } from "./telling.ts";

/** What is known. */
export interface ReleaseFacts {
  planned: PlannedPool[];
  configHeads: PoolsSeen["configHeads"];
  getter: { token: string } | { fault: string };
  flags: ReleaseFlags;
}

/** All of them, so that nobody has to try again for each. */
export async function hindrancesOf(
  world: World,
  cluster: NamedCluster,
  { planned, configHeads, getter, flags }: ReleaseFacts,
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
    ...osm.map((each) => `${each}, and start it again afterwards`),
    ...stray.map((namespace) =>
      `configs of Ostler are in namespace "${namespace}", and not only in "${flags.profileNamespace}": ` +
      `give --profile-namespace ${namespace}, or delete those that nobody uses`
    ),
    ...(flags.withoutTemporal ? [] : misnamed(planned, cluster.name ?? "")),
    ...("fault" in getter
      ? [`${getter.fault}: apply deploy/cloud-init-settings.yaml of Operating System Manager first`]
      : []),
    ...named(planned, {
      ...{ which: "unfinished", isAccepted: flags.unfinished === true, words: "not at rest" },
      remedy: "let it come to its end, abort it, or give --unfinished",
    }),
    ...named(planned, {
      ...{ which: "unrenderable", isAccepted: flags.unrenderable === true },
      words: "nothing that Operating System Manager can render",
      remedy: "have it use another profile, or give --unrenderable",
    }),
  ];
}

/** Else the runs of another cluster that bear such names would be ended. */
function misnamed(planned: PlannedPool[], cluster: string): string[] {
  for (const { pool } of planned) {
    const { namespace, name, workflowId } = pool;
    const wanted = workflowIdOf(inCluster(cluster, { namespace, name }));
    if (workflowId === undefined || workflowId === wanted) continue;
    return [
      `the runs of pool ${keyOf(pool)} are "${workflowId}", and not "${wanted}": give the cluster's name by --cluster`,
    ];
  }
  return [];
}

interface Reason {
  which: "unfinished" | "unrenderable";
  isAccepted: boolean;
  words: string;
  remedy: string;
}

function named(planned: PlannedPool[], { which, isAccepted, words, remedy }: Reason): string[] {
  const found = planned.filter((pool) => pool[which] !== undefined);
  const [first] = found;
  if (first === undefined || isAccepted) return [];
  const names = few(found.map(({ pool }) => keyOf(pool)));
  return [`${found.length === 1 ? "pool" : "pools"} ${names}: ${words}: ${first[which]}; ${remedy}`];
}
