/** `ostler adopt`: makes Ostler the owner of the objects of Operating System Manager. */
import { type Adoption, adoptionOf, adoptPool } from "../../activities/handover/adopt_pool.ts";
import { type Leftover, readLeftovers, readWebhooks } from "../../activities/handover/leftovers.ts";
import { type HandoverPool, keyOf, readPools, seePools, strayNamespaces } from "../../activities/handover/pools.ts";
import { type KnownProfile, readProfiles } from "../../activities/handover/profiles.ts";
import { readTokens } from "../../activities/handover/tokens.ts";
import { abreast } from "../../activities/kube/status.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import type { ConnectOptions, World } from "../connect/world.ts";
import { Refusal } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { counted } from "../../workflows/policy/counted.ts";
import type { Format } from "../view/output.ts";
import { printable } from "../view/printable.ts";
import { tellConfigs } from "./expected_configs.ts";
import { osmAtWork } from "./guard.ts";
import { bootsOf, type PoolLine } from "./pool_line.ts";
import { failureOf, Telling } from "./telling.ts";

export interface AdoptFlags extends ConnectOptions {
  /** The whole command line, which can contain settings of the machines. */
  argv: string[];
  output: Format;
  dryRun?: boolean;
  removeLeftovers?: boolean;
  systemNamespace: string;
  profileNamespace: string;
}

/** Pools that are written concurrently. */
const width = 8;

/** Runs the command; returns exit code 1 if a step was refused, such as the take-over of one pool, else 0. */
export async function adopt(terminal: Terminal, world: World, flags: AdoptFlags): Promise<number> {
  const cluster = await world.cluster();
  const { profileNamespace, dryRun = false } = flags;
  const [{ pools, configHeads }, profiles, atWork] = await Promise.all([
    seePools(cluster.kube, { profileNamespace }),
    readProfiles(cluster.kube),
    osmAtWork(world, cluster, profileNamespace),
  ]);
  const hindrances = [
    ...atWork,
    ...strayNamespaces(pools, configHeads, flags).map((namespace) =>
      `OperatingSystemConfigs of this cluster's pools are in namespace "${namespace}", not in "${profileNamespace}": ` +
      `give --profile-namespace ${namespace}, or delete unused configs`
    ),
  ];
  const telling = new Telling(terminal, flags.output);
  const lines = pools.filter(({ deployment }) => deployment).map((pool) => lineOf(pool, profiles));
  if (!dryRun && hindrances[0] !== undefined) {
    throw new Refusal(printable(`Failed to take the cluster over: ${hindrances.join("; ")}`, Infinity));
  }
  telling.pools(lines, dryRun);
  if (!dryRun) terminal.seeThrough?.();
  if (dryRun) await tellConfigs(terminal, cluster, { pools, telling, flags });
  for (const message of hindrances) telling.step({ about: "take over", outcome: "Refused", message });
  for (const left of await readWebhooks(cluster.kube)) await tellLeftover(left, telling, flags);
  await claimPools(cluster, { pools, telling, flags });
  await tellLeftovers(world, cluster, { telling, flags });
  return telling.end();
}

/** The subject of the step that takes over all pools. */
const claimed = "pools of Operating System Manager";

interface Claiming {
  pools: HandoverPool[];
  telling: Telling;
  flags: AdoptFlags;
}

async function claimPools({ kube }: NamedCluster, { pools, telling, flags }: Claiming): Promise<void> {
  const { dryRun, profileNamespace } = flags;
  const open = pools.filter((pool) => adoptionOf(pool) === "Claim");
  if (dryRun) {
    telling.step({ about: claimed, outcome: "Wanted", message: `${counted(open.length, "pool")} would be taken over` });
  } else await claimAll(kube, { pools: open, telling, profileNamespace });
  for (const pool of pools.filter((each) => adoptionOf(each) === "Collision")) {
    telling.step({ about: `pool "${keyOf(pool)}"`, outcome: "Refused", message: notes.Collision(pool) });
  }
}

async function claimAll(
  kube: NamedCluster["kube"],
  { pools, telling, profileNamespace }: Omit<Claiming, "flags"> & { profileNamespace: string },
): Promise<void> {
  let done = 0;
  const failures = await abreast(width, pools, async (pool) => {
    const failure = await failureOf(adoptPool({ kube, profileNamespace }, pool));
    telling.progress("taken over", ++done, pools.length);
    return failure === undefined ? [] : [{ pool, failure }];
  });
  for (const { pool, failure } of failures.flat()) {
    telling.step({ about: `pool "${keyOf(pool)}"`, outcome: "Refused", message: failure });
  }
  const taken = pools.length - failures.flat().length;
  const outcome = taken > 0 ? "Changed" : "Present";
  telling.step({ about: claimed, outcome, message: `${counted(taken, "pool")} taken over` });
}

async function tellLeftovers(
  world: World,
  { kube }: NamedCluster,
  { telling, flags }: Omit<Claiming, "pools">,
): Promise<void> {
  const { profileNamespace } = flags;
  const [pools, tokens] = await Promise.all([readPools(kube, { profileNamespace }), readTokens(kube)]);
  const known = { pools, tokens: [...tokens.values()].flat(), profileNamespace, now: world.now() };
  for (const left of await readLeftovers(kube, known)) await tellLeftover(left, telling, flags);
}

async function tellLeftover(left: Leftover, telling: Telling, flags: AdoptFlags): Promise<void> {
  const { about, needed, harm } = left;
  const isAsked = flags.removeLeftovers === true;
  if (isAsked && needed === undefined && !flags.dryRun) {
    await left.remove();
    return telling.step({ about, outcome: "Removed", message: "removed" });
  }
  if (isAsked && needed === undefined) return telling.step({ about, outcome: "Wanted", message: "would be removed" });
  const message = `left by Operating System Manager: ${harm}; ${needed ?? "remove with --remove-leftovers"}`;
  telling.step({ about, outcome: isAsked ? "Refused" : "Present", message });
}

const notes: Record<Adoption, (pool: HandoverPool) => string> = {
  Claim: () => "",
  Claimed: () => "",
  Unpublished: () => "has no config yet; Ostler publishes one when it runs",
  Collision: ({ rivals }) =>
    `its objects have the same names as the objects of "${rivals[0] ?? "another pool"}"; rename one of the pools`,
  Leaving: () => "being deleted",
};

const outcomes: Record<Adoption, string> = {
  ...{ Claim: "take over", Claimed: "already taken over", Unpublished: "nothing to take over" },
  ...{ Collision: "refused", Leaving: "skipped" },
};

function lineOf(pool: HandoverPool, profiles: Map<string, KnownProfile>): PoolLine {
  const adoption = adoptionOf(pool);
  const { deployment } = pool;
  const ref = deployment?.profile ?? { namespace: "", name: "" };
  const fault = profiles.get(`${ref.namespace}/${ref.name}`)?.fault;
  const unread = fault === undefined ? [] : [`profile cannot be read: ${fault}`];
  const unnamed = deployment?.isNamed === false
    ? ["has no profile annotation; Operating System Manager skipped it"]
    : [];
  return {
    ...{ pool: keyOf(pool), profile: ref.name, boots: bootsOf(pool), outcome: outcomes[adoption] },
    note: [notes[adoption](pool), ...unread, ...unnamed].filter(Boolean).join("; "),
  };
}
