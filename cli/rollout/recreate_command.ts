/** `ostler recreate --outdated-ca`: requests the replacement of machines that do not trust exactly the present CAs. */
import { machineDeployments } from "../../activities/kube/resources.ts";
import { abreast } from "../../activities/kube/status.ts";
import { absenceText, readDesired } from "../../activities/pool/read_desired.ts";
import { recreation, requestRecreation } from "../../activities/kube/recreate_machines.ts";
import { clusterFailure } from "../connect/cluster.ts";
import { usualProfileNamespace, type World } from "../connect/world.ts";
import { Refusal } from "../failure.ts";
import { calledAs, type Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { planText } from "../view/plan_text.ts";
import { trustFaults } from "../view/trust_text.ts";
import { clusterTrust, noGivenPools, type TrustRow } from "./ca_trust.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { type Planned, plannedForFile, type PlanPlace } from "./planned.ts";
import { chosenBy, poolName, rawObject, readRows } from "./pools.ts";
import { tellFailure } from "./tell_failure.ts";

export interface RecreateFlags extends ClusterFlags {
  outdatedCa?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

/** Pools that are planned or changed concurrently. */
const atOnce = 4;

/**
 * Shows the plan of each pool with outdated machines, asks for confirmation, and requests their replacement; returns
 * exit code 1 if a pool cannot be changed.
 */
export async function recreateOutdated(terminal: Terminal, world: World, flags: RecreateFlags): Promise<number> {
  const cluster = await world.cluster();
  const chosen = chosenBy(flags, cluster, false);
  const found = await readRows(cluster, chosen);
  const rows = found.filter(({ pool }) => pool.kind === undefined);
  if (rows.length === 0) throw new Refusal(`Failed to recreate machines: ${noGivenPools(chosen, found)}`);
  const namespace = chosen.kind === "one" ? chosen.pool.namespace : chosen.namespace;
  const trust = await clusterTrust(cluster.kube, rows, { namespace, now: world.now() });
  const profileNamespace = flags.profileNamespace ?? usualProfileNamespace;
  const place: PlanPlace = { cluster, profileNamespace, engine: () => world.engine() };
  const codes = [0];
  const attempt = async <T>({ pool }: Pick<TrustRow, "pool">, work: () => Promise<T>): Promise<T[]> => {
    try {
      return [await work()];
    } catch (error) {
      codes.push(tellFailure(terminal, pool, clusterFailure(cluster.server, error)));
      return [];
    }
  };
  const planned = (await abreast(atOnce, trust.rows, (row) => attempt(row, () => planOf(place, row, world.now()))))
    .flat();
  for (const { pool, plan, why } of planned) {
    terminal.out(
      plan
        ? `${planText(terminal, plan, { wide: false, program: calledAs(terminal) })}\n`
        : `${poolName(pool)}: ${why}\n`,
    );
  }
  const wanted = planned.filter(({ plan }) => plan !== undefined);
  if (wanted.length === 0 || flags.dryRun) return Math.max(...codes);
  await confirm(terminal, wanted.length, flags);
  terminal.seeThrough?.();
  await abreast(atOnce, wanted, (one) =>
    attempt(one, async () => {
      const outcome = await requestRecreation(cluster.kube, { ...one, now: world.now() });
      if (outcome === "Changed") {
        throw new Refusal("the MachineDeployment was changed after this plan; run the command again");
      }
      const show = `${calledAs(terminal)} status -n ${one.pool.namespace} ${one.pool.name}`;
      terminal.out(`${poolName(one.pool)}: replacement requested; its policy sets the pace; see \`${show}\`\n`);
    }));
  return Math.max(...codes);
}

interface PlannedRow {
  pool: TrustRow["pool"];
  /** The generation of the MachineDeployment that was planned. */
  generation: number | undefined;
  /** Missing if nothing has to be requested. */
  plan?: Planned;
  /** Why nothing has to be requested. */
  why?: string;
}

/**
 * Returns the plan of a pool with outdated machines, or why nothing has to be requested. Throws Refusal if new machines
 * would be outdated as well, or if the pool is deleted or being deleted.
 */
async function planOf(place: PlanPlace, row: TrustRow, now: number): Promise<PlannedRow> {
  const { cluster: { kube }, profileNamespace } = place;
  const { pool, isPublished, outdatedTemplates } = row;
  const deployment = await rawObject(kube, machineDeployments, pool);
  const generation = (deployment as Raw | undefined)?.metadata?.generation;
  if (trustFaults(row).length === 0) return { pool, generation, why: "all its machines trust exactly the present CAs" };
  if (!isPublished) {
    throw new Refusal("new machines do not get the present CA bundle yet; run `ostler ca` to see when they do");
  }
  const desired = await readDesired({ kube, profileNamespace }, pool);
  if (desired.state !== "Present") throw new Refusal(absenceText(desired));
  // A second request would also replace the machines that the first request has already replaced.
  const { settled, templateHash } = desired.desired;
  if (!settled || !outdatedTemplates.includes(templateHash)) {
    return { pool, generation, why: "a rollout already replaces its outdated machines, because the template changed" };
  }
  const value = { ...withRecreation(deployment, now), kind: "MachineDeployment" };
  const { namespace } = pool;
  return { pool, generation, plan: await plannedForFile(place, { value, namespace, title: "recreated" }) };
}

interface Raw {
  metadata?: { generation?: number };
  spec?: { template?: { metadata?: { annotations?: Record<string, string> } } };
}

function withRecreation(deployment: unknown, now: number): Raw {
  const { spec = {}, ...rest } = deployment as Raw;
  const { template = {} } = spec;
  const { annotations } = recreation(now).spec.template.metadata;
  const metadata = { ...template.metadata, annotations: { ...template.metadata?.annotations, ...annotations } };
  return { ...rest, spec: { ...spec, template: { ...template, metadata } } };
}

async function confirm(terminal: Terminal, count: number, { yes }: RecreateFlags): Promise<void> {
  if (yes === true) return;
  const what = `all machines of ${counted(count, "pool")}`;
  if (terminal.ask === undefined) {
    throw new UsageError(`Failed to confirm the replacement of ${what}: no terminal; give --yes`);
  }
  const answer = await terminal.ask(`Replace ${what}, as planned above? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Refusal("Cancelled: nothing was changed");
}
