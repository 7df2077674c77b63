/** All facts about one machine, for the paragraph about it. */
import type { Machine } from "../../activities/kube/resources.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { lastBootReport, silenceOf } from "../../activities/pool/boot_report.ts";
import { backendOf } from "../../activities/backends/registry.ts";
import { readPlan } from "../../activities/pool/plan_rollout.ts";
import { readDesired } from "../../activities/pool/read_desired.ts";
import { readMembers } from "../../activities/pool/read_pool.ts";
import type { Member, PoolRef, Progress, RolloutPlan, Rules } from "../../workflows/contracts/mod.ts";
import { forecast } from "../../workflows/policy/forecast.ts";
import { type ClusterEvent, eventsAbout, ifAllowed } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import { Refusal } from "../failure.ts";
import type { FoundMachine } from "./find_machine.ts";
import type { PoolRow } from "./pool_row.ts";
import { readRow } from "./pools.ts";

export interface MachineFacts {
  now: number;
  member: Member;
  /** Epoch ms at which the deletion of the machine was requested. */
  leavingSince: number | undefined;
  /** The terminal error that machine-controller wrote into the status of the machine. */
  error: string;
  /** Undefined for a machine without a MachineDeployment. */
  row: PoolRow | undefined;
  node: NodeState | undefined;
  lastEvent: ClusterEvent | undefined;
  bootReport: string | undefined;
  /** The likely reason why a booting machine has sent no boot report; undefined if unknown. */
  silence: string | undefined;
  /** Objects that the user is not allowed to read, such as `its node "w-1"`. */
  forbidden: string[];
  /** Rules, plan and progress are missing if they cannot be read. */
  rules?: Rules;
  plan?: RolloutPlan;
  progress?: Progress;
}

interface NodeState {
  name: string;
  ready: boolean;
  /** Reason and message of condition Ready; "" without that condition. */
  why: string;
  /** Time of the last transition of condition Ready, in RFC 3339; "" if unknown. */
  since: string;
  cordoned: boolean;
}

/**
 * Reads the machine, its node, its pool and the workflow run of the pool; optional facts are left out if they cannot be
 * read. Throws Refusal if the machine was deleted.
 */
export async function readMachineFacts(
  world: World,
  { found, profileNamespace }: { found: FoundMachine; profileNamespace: string },
): Promise<MachineFacts> {
  const { kube } = await world.cluster();
  const { machine, pool } = found;
  const { name, namespace, deletionTimestamp } = machine.metadata;
  const owner = pool ?? { namespace, name: "" };
  const member = await backendOf(kube, owner).member({ pool: owner, machine: name });
  if (member === undefined) throw new Refusal(`Failed to explain machine "${name}": the machine was deleted`);
  const [row, seen, events, report] = await Promise.all([
    pool && readRow(await world.cluster(), pool),
    member.node === undefined ? { node: undefined } : ifAllowed(readNode(world, member.node)),
    ifAllowed(eventsAbout(kube, { kind: "Machine", namespace, name })),
    readReport(world, owner, machine),
  ]);
  const errorText = [machine.status?.errorReason, machine.status?.errorMessage].filter(Boolean).join(": ");
  return {
    now: world.now(),
    row,
    node: seen?.node,
    ...report,
    error: errorText,
    lastEvent: events?.at(-1),
    forbidden: [...(seen ? [] : [`its node "${member.node}"`]), ...(events ? [] : ["its Events"])],
    leavingSince: deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp),
    ...await outlook(world, { pool, member, profileNamespace }),
  };
}

type Outlook = Pick<MachineFacts, "member" | "rules" | "plan" | "progress">;

// Reads the rules, the plan and the progress of the run, each of which is optional.
async function outlook(
  world: World,
  { pool, member, profileNamespace }: {
    pool: FoundMachine["pool"];
    member: Member;
    profileNamespace: string;
  },
): Promise<Outlook> {
  if (pool === undefined) return { member };
  const { kube } = await world.cluster();
  const reader = { kube, profileNamespace };
  const [state, plan, progress] = await Promise.all([
    readDesired(reader, pool).catch(() => undefined),
    readPlan({ ...reader, forecast }, pool).catch(() => undefined),
    world.engine().then((engine) => engine.progress(pool)).catch(() => undefined),
  ]);
  const rules = state?.state === "Present" ? state.rules : undefined;
  const members = await readMembers(kube, pool, rules?.repair).catch(() => []);
  return {
    member: members.find(({ id }) => id === member.id) ?? member,
    ...(rules === undefined ? {} : { rules }),
    ...(plan === undefined ? {} : { plan }),
    ...(progress === undefined ? {} : { progress }),
  };
}

async function readNode(world: World, name: string): Promise<{ node: NodeState | undefined }> {
  const { kube } = await world.cluster();
  const node = await ifFound(kube.core.readNode({ name }));
  if (node === undefined) return { node };
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  const since = ready?.lastTransitionTime;
  const state = {
    name,
    ready: ready?.status === "True",
    why: [ready?.reason, ready?.message].filter(Boolean).join(": "),
    since: since === undefined ? "" : new Date(since).toISOString(),
    cordoned: node.spec?.unschedulable === true,
  };
  return { node: state };
}

// Machines report under their host name, which some clouds choose, so every name and address of a machine is tried. If
// the ConfigMap with the boot reports cannot be read, for example without permission, the last report and the reason
// for its absence are unknown.
async function readReport(
  world: World,
  owner: PoolRef,
  { metadata, status }: Machine,
): Promise<Pick<MachineFacts, "bootReport" | "silence">> {
  const { kube } = await world.cluster();
  const addresses = (status?.addresses ?? []).map(({ address }) => address);
  const names = [metadata.name, ...(status?.nodeRef ? [status.nodeRef.name] : []), ...addresses];
  try {
    const bootReport = await lastBootReport(kube, owner, names);
    return { bootReport, silence: bootReport === undefined ? silenceOf(addresses) : undefined };
  } catch {
    return { bootReport: undefined, silence: undefined };
  }
}
