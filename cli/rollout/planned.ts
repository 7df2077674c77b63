/** Plans the rollout of a pool as the workflow run of the pool would, from the current state. */
import { z } from "zod";
import { imageOf, kubeletOf, surgeOf } from "../../activities/kube/machine_deployment.ts";
import { MachineDeployment, machineDeployments } from "../../activities/kube/resources.ts";
import { inWords } from "../../profiles/mod.ts";
import { findRules } from "../../activities/policy/rules_for.ts";
import { readPlan } from "../../activities/pool/plan_rollout.ts";
import { absenceText, readDesired } from "../../activities/pool/read_desired.ts";
import { readMembers } from "../../activities/pool/read_pool.ts";
import { byTurn } from "../../activities/pool/snapshot.ts";
import { recall } from "../../activities/status/recall.ts";
import type { Desired, PoolKind, PoolRef, RolloutPlan, Rules } from "../../workflows/contracts/mod.ts";
import { forecast } from "../../workflows/policy/forecast.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import type { Engine } from "../connect/engine.ts";
import { Refusal } from "../failure.ts";
import { templateChanges } from "../view/template_changes.ts";
import { trustFaults } from "../view/trust_text.ts";
import { ownTrust } from "./ca_trust.ts";
import { type PendingChange, pendingChange, templateOf } from "./pending_change.ts";
import { type PoolRow, poolRow } from "./pool_row.ts";
import { poolName, rawObject, readRow } from "./pools.ts";

/** The effect of a rollout of one pool. */
export interface Planned {
  pool: PoolRef;
  plan: RolloutPlan;
  change: PendingChange;
  policy: string;
  /** When a run waits for approval of the plan. */
  approval: Rules["approval"];
  /**
   * Whether the plan is for the applied MachineDeployment; the plan for a change that is not applied cannot be
   * approved.
   */
  isApplied: boolean;
  replicas: number;
  /** Whether the pool has no machine yet. */
  isNew: boolean;
  /** Risks that do not block the rollout, such as a cluster-autoscaler that Ostler cannot pause. */
  warnings?: string[];
}

/**
 * The inputs of a plan: the cluster, the namespace that Ostler's worker uses for profiles and configs, and access to
 * Temporal.
 */
export interface PlanPlace {
  cluster: NamedCluster;
  profileNamespace: string;
  /** Connects to Temporal, so that Ostler's worker plans the pools whose machines only that process can read. */
  engine: () => Promise<Pick<Engine, "home" | "plan">>;
}

/** Returns the plan for the current MachineDeployment; throws Refusal if it was deleted. */
export async function plannedFor({ cluster, profileNamespace }: PlanPlace, row: PoolRow): Promise<Planned> {
  const { kube } = cluster;
  const { pool, replicas } = row;
  const reader = { kube, profileNamespace };
  const [state, deployment] = [await readDesired(reader, pool), await rawObject(kube, machineDeployments, pool)];
  if (state.state !== "Present") {
    throw new Refusal(`Failed to plan the rollout of "${poolName(pool)}": ${absenceText(state)}`);
  }
  const { source: policy, approval } = state.rules;
  const [plan, change] = [
    await readPlan({ ...reader, forecast }, pool),
    await pendingChange(kube, { row, deployment }),
  ];
  const trust = await ownTrust(kube, row, Date.now());
  const warnings = trust ? trustFaults(trust) : [];
  return {
    ...{ pool, plan, change, policy, approval, isApplied: true, replicas, isNew: plan.machines === 0 },
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

const FileDeployment = z.object({
  kind: z.literal("MachineDeployment"),
  metadata: z.object({ name: z.string().min(1), namespace: z.string().optional() }).loose(),
  spec: z.object({ template: z.object({ spec: z.unknown() }).loose() }).loose(),
}).loose();

/** Returns the plan by which existing machines would get the spec of a MachineDeployment that is not applied yet. */
export async function plannedForFile(
  { cluster, profileNamespace }: PlanPlace,
  { value, namespace, title = "the file" }: { value: unknown; namespace: string; title?: string },
): Promise<Planned> {
  const { kube } = cluster;
  const { kind, given } = fileDeployment(value, namespace);
  const pool = { namespace: given.metadata.namespace, name: given.metadata.name };
  const present = await rawObject(kube, machineDeployments, pool);
  const state = await readDesired({ kube, profileNamespace }, pool);
  const { rules } = await findRules(kube, given, Date.now());
  const isChanged = templateChanges(templateOf(present), templateOf(value)).length > 0;
  const desired = desiredOf(given, state.state === "Present" ? state.desired : undefined, isChanged);
  const isNew = present === undefined;
  const members = isNew ? [] : (await readMembers(kube, pool, rules.repair)).sort(byTurn);
  const plan = forecast({ now: Date.now(), kind, desired, rules, memory: await recall(kube, pool), members });
  const row = isNew ? poolRow(given, undefined) as PoolRow : await readRow(cluster, pool);
  const instead = { title, template: templateOf(value) };
  const change = await pendingChange(kube, { row, deployment: present, instead });
  const { source: policy, approval } = rules;
  return { pool, plan, change, policy, approval, isApplied: false, replicas: desired.replicas, isNew };
}

// Adds the fields that the API server sets, so that the file can be parsed as the object after `kubectl apply`.
function fileDeployment(value: unknown, usual: string): { kind: PoolKind; given: MachineDeployment } {
  const { kind, metadata, ...rest } = FileDeployment.parse(value, { error: inWords });
  const { namespace = usual } = metadata;
  const added = { namespace, uid: "", creationTimestamp: new Date(0).toISOString() };
  const whole = { ...rest, metadata: { ...metadata, ...added } };
  return { kind, given: MachineDeployment.parse(whole, { error: inWords }) };
}

/** Replaces the hashes of a template that is not applied yet; no machine has this value as its template hash. */
const unapplied = "not-applied";

function desiredOf(given: MachineDeployment, present: Desired | undefined, isChanged: boolean): Desired {
  const { spec } = given;
  // Fields that the file leaves out keep their value in the cluster.
  const replicas = spec.replicas ?? present?.replicas ?? 1;
  const size = { replicas, surge: surgeOf(spec.strategy?.rollingUpdate?.maxSurge ?? present?.surge, replicas) };
  // Image and kubelet of `present` are those of the template in use, which a paused MachineDeployment may not have.
  if (present !== undefined && !isChanged) return { ...present, ...size };
  return {
    ...(present ?? nothingYet),
    ...size,
    image: imageOf(spec.template?.spec),
    kubelet: kubeletOf(spec.template?.spec),
    observed: unapplied,
    change: unapplied,
    specHash: unapplied,
    templateHash: unapplied,
    settled: true,
  };
}

const nothingYet = {
  generation: 0,
  actor: "",
  revision: "",
  profile: { name: "", namespace: "" },
};
