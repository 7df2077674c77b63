/** `ostler plan`: shows what a rollout would do, with the planner that rollouts use. */
import { clusterFailure } from "../connect/cluster.ts";
import { usualProfileNamespace, type World } from "../connect/world.ts";
import { calledAs, type Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import { asData, type Format } from "../view/output.ts";
import { planText } from "../view/plan_text.ts";
import { upgradePlanText } from "../view/upgrade_plan_text.ts";
import { type FieldPath, placeText, readObjects } from "../yaml_file.ts";
import { unheldAutoscaler } from "../../activities/kube/seen_autoscaler.ts";
import { scalingGroups } from "../../activities/kube/update_kinds.ts";
import { abreast, ifFound } from "../../activities/kube/status.ts";
import { checkHome } from "./check_home.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { type Planned, plannedFor, plannedForFile, type PlanPlace } from "./planned.ts";
import { plannedForNodePool } from "./planned_node_pool.ts";
import { planUpgrade, upgradePlanData } from "./planned_upgrade.ts";
import type { PoolRow } from "./pool_row.ts";
import { chosenBy, hiddenRefusal, noPools, readRows, readSelected } from "./pools.ts";
import { tellFailure } from "./tell_failure.ts";
import { z } from "zod";
import { Metadata, readClusterObject } from "../../activities/kube/resources.ts";
import { findRules } from "../../activities/policy/rules_for.ts";
import { changesPatch, templateChanges } from "../view/template_changes.ts";
import { needVersion, versionNamed, type VersionRow } from "./node_versions.ts";
import type { PendingChange } from "./pending_change.ts";
import { readGroup } from "./scaling_groups.ts";
import { groupOfPool, groupsNamespace } from "../../workflows/commands/start_options.ts";
import { counted } from "../../workflows/policy/counted.ts";

export interface PlanFlags extends ClusterFlags {
  output: Format;
  /** A file with a MachineDeployment that is not applied yet. */
  file?: string;
  profileNamespace?: string;
}

/** Plans that are made concurrently; few, because each plan reads every machine of its pool. */
const atOnce = 4;

/**
 * Prints the plans of the selected pools, or of a file; changes nothing. With several pools, a plan that fails does not
 * prevent the others; returns the highest exit code.
 */
export async function showPlan(terminal: Terminal, world: World, flags: PlanFlags): Promise<number> {
  const cluster = await world.cluster();
  const version = versionNamed(flags.pool);
  if (version !== undefined && flags.file === undefined) {
    return await showUpgrade(terminal, world, { ...flags, version });
  }
  const profileNamespace = flags.profileNamespace ?? usualProfileNamespace;
  const place: PlanPlace = { cluster, profileNamespace, engine: () => world.engine() };
  if (flags.file !== undefined) {
    show(terminal, flags, [await planOfFile(terminal, place, flags)]);
    return 0;
  }
  const chosen = chosenBy(flags, cluster, true);
  const { rows, hidden } = await readSelected(cluster, chosen);
  if (chosen.kind === "one") {
    show(terminal, flags, await Promise.all(rows.map((row) => planOf(place, row))));
    return 0;
  }
  const { planned, code } = await plansOf(terminal, place, rows);
  const refusal = hiddenRefusal("plan", hidden, chosen);
  if (refusal) terminal.err(`${refusal.message}\n`);
  if (rows.length > 0 || !isForPeople(flags)) show(terminal, flags, planned);
  else if (!refusal) terminal.err(`Nothing to plan: ${noPools(chosen)}\n`);
  return Math.max(code, refusal?.exitCode ?? 0);
}

/** Prints the plan of the Kubernetes upgrade that a NodeVersion requests. */
async function showUpgrade(
  terminal: Terminal,
  world: World,
  { version, output, profileNamespace = usualProfileNamespace }: PlanFlags & { version: string },
): Promise<number> {
  const cluster = await world.cluster();
  const rows = await readRows(cluster, { kind: "many", namespace: groupsNamespace });
  const plan = await planUpgrade({ cluster, profileNamespace }, await needVersion(cluster, version, rows), world.now());
  terminal.out(asData(output, upgradePlanData(plan)) ?? upgradePlanText(terminal, plan, output === "wide"));
  return 0;
}

function planOf(place: PlanPlace, row: PoolRow): Promise<Planned> {
  if (row.pool.kind === "ScalingGroup") return plannedForGroup(place, row);
  return row.pool.kind === "NodePool" ? plannedForNodePool(place, row) : plannedFor(place, row);
}

function show(terminal: Terminal, { pool, file, output }: PlanFlags, planned: readonly Planned[]): void {
  const items = planned.map(({ pool, ...rest }) => ({ ...pool, ...rest }));
  const data = asData(output, pool !== undefined || file !== undefined ? items[0] : { items });
  const shape = { wide: output === "wide", program: calledAs(terminal) };
  terminal.out(data ?? planned.map((one) => planText(terminal, one, shape)).join("\n"));
}

function isForPeople({ output }: PlanFlags): boolean {
  return output === "table" || output === "wide";
}

interface Plans {
  planned: Planned[];
  /** The highest exit code of all pools. */
  code: number;
}

// A pool that is being deleted, or cannot be read, must not hide the plans of the others.
async function plansOf(terminal: Terminal, place: PlanPlace, rows: readonly PoolRow[]): Promise<Plans> {
  const codes = [0];
  const plans = await abreast(atOnce, rows, async (row) => {
    try {
      return [await planOf(place, row)];
    } catch (error) {
      codes.push(tellFailure(terminal, row.pool, clusterFailure(place.cluster.server, error)));
      return [];
    }
  });
  return { planned: plans.flat(), code: Math.max(...codes) };
}

async function planOfFile(
  terminal: Terminal,
  place: PlanPlace,
  { file = "", pool, namespace }: PlanFlags,
): Promise<Planned> {
  if (pool !== undefined) throw new UsageError(`Failed to plan "${file}": the file names its pool; omit "${pool}"`);
  const found = (await readObjects(terminal, file)).filter(({ kind }) => kind === "MachineDeployment");
  const [object] = found;
  if (object === undefined || found.length > 1) {
    throw new UsageError(
      `Failed to plan "${file}": it has ${counted(found.length, "MachineDeployment")}; exactly 1 is required`,
    );
  }
  try {
    return await plannedForFile(place, { value: object.value, namespace: namespace ?? place.cluster.namespace });
  } catch (error) {
    const [issue] = (error as { issues?: { path: PropertyKey[]; message: string }[] }).issues ?? [];
    if (issue === undefined) throw error;
    const place = placeText(object.placeOf(issue.path as FieldPath));
    throw new UsageError(`${place}: Failed to plan the MachineDeployment: ${issue.path.join(".")}: ${issue.message}`);
  }
}

// Ostler's worker plans scaling groups, because only that process can read the machines in a cloud.

/**
 * Returns the plan of a scaling group for its NodeVersion; the plan is blocked if the NodeVersion is not released to
 * the group yet.
 */
async function plannedForGroup({ cluster, engine }: PlanPlace, row: PoolRow): Promise<Planned> {
  const { pool, replicas, follows } = row;
  const { metadata } = z.object({ metadata: Metadata }).parse(await readGroup(cluster.kube, pool));
  const [version, { source: policy, approval }] = [
    await needVersion(cluster, follows?.version ?? "", [row]),
    (await findRules(cluster.kube, { metadata }, Date.now())).rules,
  ];
  const worker = await engine();
  checkHome("plan", [row], await worker.home());
  const made = await worker.plan(pool);
  // A NodeVersion that all groups already run needs no release.
  const mayBegin = version.released === follows?.stage || version.ready.status === "True";
  const waits = mayBegin ? [] : [`NodeVersion "${version.name}" is not released to this group yet`];
  const plan = { ...made, blocked: [...waits, ...made.blocked] };
  const unheld = await unheldAutoscaler(
    cluster.kube,
    () => ifFound(readClusterObject(cluster.kube, scalingGroups, groupOfPool(pool) ?? "")),
  );
  return {
    ...{ pool, plan, change: changeOf(row, version), policy, approval, isApplied: true, replicas, isNew: false },
    ...(unheld === "" ? {} : { warnings: [unheld] }),
  };
}

/** Returns the change of the image; leaves out Kubernetes components, because only the nodes show their versions. */
function changeOf({ status }: PoolRow, { image, imageVersion }: VersionRow): PendingChange {
  const rest = { kubelet: "", configDigest: "" };
  const after = { title: imageVersion || image, image, ...rest };
  const good = status?.lastGood;
  if (!good) return { after, changes: [], patch: "" };
  const before = { title: good.revision, image: good.image, ...rest };
  const changes = templateChanges({ image: good.image }, { image });
  return { before, after, changes, patch: changesPatch(changes, before.title, after.title) };
}
