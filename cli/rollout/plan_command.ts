/** `ostler plan`: what a rollout would do, by the planner that the run itself uses. */
import type { World } from "../connect/world.ts";
import { calledAs, type Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import { asData, type Format } from "../view/output.ts";
import { planText } from "../view/plan_text.ts";
import { readObjects } from "../yaml_file.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { type Planned, plannedFor, plannedForFile, type PlanPlace } from "./planned.ts";
import { chosenBy, noPools, readRows } from "./pools.ts";

export interface PlanFlags extends ClusterFlags {
  output: Format;
  /** A MachineDeployment that is not applied yet. */
  file?: string;
  profileNamespace?: string;
}

/** Where profiles are unless the workers were told otherwise. */
export const usualProfileNamespace = "kube-system";

/** Shows the plans of the chosen pools, or of a file; changes nothing. */
export async function showPlan(terminal: Terminal, world: World, flags: PlanFlags): Promise<number> {
  const cluster = await world.cluster();
  const place: PlanPlace = { cluster, profileNamespace: flags.profileNamespace ?? usualProfileNamespace };
  const isOne = flags.pool !== undefined || flags.file !== undefined;
  const planned = flags.file === undefined ? await plansOf(place, flags) : [await planOfFile(terminal, place, flags)];
  if (planned.length === 0) {
    terminal.err(`Nothing to plan: ${noPools(chosenBy(flags, cluster, true))}\n`);
    return 0;
  }
  const items = planned.map(({ pool, ...rest }) => ({ ...pool, ...rest }));
  const data = asData(flags.output, isOne ? items[0] : { items });
  const shape = { wide: flags.output === "wide", program: calledAs(terminal) };
  terminal.out(data ?? planned.map((one) => planText(terminal, one, shape)).join("\n"));
  return 0;
}

async function plansOf(place: PlanPlace, flags: PlanFlags): Promise<Planned[]> {
  const planned: Planned[] = [];
  // One after another: a plan reads every machine of its pool.
  for (const row of await readRows(place.cluster, chosenBy(flags, place.cluster, true))) {
    planned.push(await plannedFor(place, row));
  }
  return planned;
}

async function planOfFile(
  terminal: Terminal,
  place: PlanPlace,
  { file = "", pool, namespace }: PlanFlags,
): Promise<Planned> {
  if (pool !== undefined) throw new UsageError(`Cannot plan "${pool}" and "${file}" at once: the file names its pool`);
  const found = (await readObjects(terminal, file)).filter(({ kind }) => kind === "MachineDeployment");
  const [object] = found;
  if (object === undefined || found.length > 1) {
    throw new UsageError(`Cannot plan "${file}": it holds ${found.length} MachineDeployments, one is wanted`);
  }
  try {
    return await plannedForFile(place, { value: object.value, namespace: namespace ?? place.cluster.namespace });
  } catch (error) {
    const [issue] = (error as { issues?: { path: PropertyKey[]; message: string }[] }).issues ?? [];
    if (issue === undefined) throw error;
    throw new UsageError(`Cannot plan "${file}": ${issue.path.join(".")}: ${issue.message}`);
  }
}
