/** Plans the Kubernetes upgrade that a NodeVersion requests, with the functions by which the workflow decides. */
import { z } from "zod";
import { type AskedKubernetes, readAskedKubernetes } from "../../activities/kubernetes/asked.ts";
import { apiFindings, drainsImpossible, nodesNotReady } from "../../activities/kubernetes/check.ts";
import type { Planes } from "../../activities/kubernetes/planes.ts";
import { removedIn } from "../../activities/kubernetes/removed_apis.ts";
import { surveyOf } from "../../activities/kubernetes/survey.ts";
import { Metadata, readClusterObject } from "../../activities/kube/resources.ts";
import { type NodeVersion, nodeVersions } from "../../activities/kube/update_kinds.ts";
import { findRules } from "../../activities/policy/rules_for.ts";
import type { ControlPlaneState, Rules, UpgradeFinding, UpgradeStanding } from "../../workflows/contracts/mod.ts";
import { nextUpgradeStep, type UpgradeStep } from "../../workflows/kubernetes/next_upgrade_step.ts";
import { haltOfRules } from "../../workflows/kubernetes/upgrade_halts.ts";
import { type PlannedUpgrade, upgradeOrder } from "../../workflows/kubernetes/upgrade_order.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import { MissingPermissions } from "../connect/missing_permissions.ts";
import { type KubernetesFacts, type KubernetesRow, readKubernetes } from "./kubernetes_status.ts";
import type { VersionRow } from "./node_versions.ts";
import type { PlanPlace } from "./planned.ts";
import type { PoolRow } from "./pool_row.ts";
import { readGroup } from "./scaling_groups.ts";

/** The effect of an upgrade, as far as the user may read the facts that decide it. */
export interface UpgradePlan {
  version: VersionRow;
  kubernetes: KubernetesRow;
  /** The present step; undefined if the user may not read the facts that decide it. */
  step: UpgradeStep["step"] | undefined;
  /** Reason and message of the present step; undefined if `step` is undefined. */
  standing: UpgradeStanding | undefined;
  /** The control planes in the order of their upgrades; undefined if `step` is undefined. */
  order: PlannedUpgrade[] | undefined;
  /**
   * Why the upgrade would end before all control planes run the version; undefined if nothing would end it, or if
   * `step` is undefined.
   */
  end: UpgradeStanding | undefined;
  isApproved: boolean;
  findings: UpgradeFinding[];
  /**
   * Checks that this plan leaves out, because only Ostler's worker makes them, or because the user lacks a permission.
   */
  unchecked: string[];
  /** Whether policies require a snapshot of etcd before each upgrade of a control plane; undefined if unknown. */
  keepsSnapshot: boolean | undefined;
  /** Permissions that the user lacks. */
  missing: string[];
}

/** Returns the plan as data; null is unknown. */
export function upgradePlanData(plan: UpgradePlan): object {
  const { version: { name, kubernetes, groups }, kubernetes: { recorded }, step, standing, order, end, ...rest } = plan;
  const { isApproved, findings, unchecked, keepsSnapshot, missing } = rest;
  const names = (rows: readonly PoolRow[]): string[] => rows.map(({ pool }) => pool.name);
  return {
    ...{ nodeVersion: name, version: kubernetes.version, recordedVersion: recorded || null },
    now: standing ? { step, ...standing } : null,
    order: order?.map(({ controlPlane: { node, kubelet, components, isLeader, isUnderWay }, verb }) => ({
      ...{ node, kubelet, components, verb, leadsEtcd: isLeader, underWay: isUnderWay },
    })) ?? null,
    ...(end ? { end } : {}),
    approved: isApproved,
    ...{ findings, unchecked, keepsSnapshot: keepsSnapshot ?? null, missingPermissions: missing },
    groups: { ControlPlane: names(groups.ControlPlane), Workers: names(groups.Workers) },
  };
}

/** Returns the plan of an upgrade at `now` (epoch ms); changes nothing. */
export async function planUpgrade(
  { cluster, profileNamespace }: Pick<PlanPlace, "cluster" | "profileNamespace">,
  version: VersionRow,
  now: number,
): Promise<UpgradePlan> {
  const { kube } = cluster;
  const permissions = new MissingPermissions();
  const object = await readClusterObject(kube, nodeVersions, version.name);
  const facts = await readKubernetes(cluster, version, { permissions, profileNamespace });
  const [asked, checked, rules] = await Promise.all([
    permissions.reading("get ConfigMaps in kube-system", readAskedKubernetes(kube, object)),
    findingsFor(cluster, { version, facts, permissions }),
    rulesOf(cluster, { groups: version.groups.ControlPlane, now, permissions }),
  ]);
  const survey = surveyed(object, { version, facts, asked });
  const next = survey && nextUpgradeStep(survey, { digest: survey.digest, findings: checked.findings });
  const held = next?.step === "Upgrade" ? heldBy(rules ?? [], next.controlPlane, now) : undefined;
  const foreseen = survey && upgradeOrder(survey);
  return {
    ...{ version, kubernetes: facts.row, ...checked, step: held ? "Wait" : next?.step },
    standing: held ?? next?.standing,
    order: foreseen?.order,
    end: foreseen?.end,
    isApproved: survey !== undefined && survey.approved === survey.version,
    keepsSnapshot: rules && rules.length > 0 && rules.every(({ etcd }) => etcd !== undefined),
    missing: permissions.list(),
  };
}

/**
 * Returns why a policy delays the upgrade of a control plane; undefined if none does. The policies of all groups count,
 * because only Ostler's worker knows the group of a control plane.
 */
function heldBy(rules: readonly Rules[], controlPlane: ControlPlaneState, now: number): UpgradeStanding | undefined {
  return rules.map((each) => haltOfRules(controlPlane, each, now)).find((each) => each !== undefined)?.standing;
}

/** Returns the facts from which the workflow run of the upgrade decides; undefined if one of them cannot be read. */
function surveyed(
  object: NodeVersion,
  { version, facts: { row, planes }, asked }: {
    version: VersionRow;
    facts: KubernetesFacts;
    asked: AskedKubernetes | undefined;
  },
): ReturnType<typeof surveyOf> | undefined {
  const { recorded, missing } = row;
  if (!planes || recorded === undefined || !asked || missing.some((each) => each.startsWith("get pods"))) {
    return undefined;
  }
  return surveyOf(object, { asked, cluster: recorded, hasHands: true, planes: inGroups(planes, version) });
}

/**
 * Assigns each control plane whose group is unknown to the first group, because only Ostler's worker knows the machines
 * of a group.
 */
function inGroups(planes: Planes, { groups }: VersionRow): Planes {
  const [first] = groups.ControlPlane;
  if (!first) return planes;
  const controlPlanes = planes.controlPlanes.map((each) => ({ ...each, group: each.group || first.pool.name }));
  return { ...planes, controlPlanes };
}

async function findingsFor(
  { kube }: NamedCluster,
  { version: { kubernetes: { version } }, facts: { row, nodes = [] }, permissions }: {
    version: VersionRow;
    facts: KubernetesFacts;
    permissions: MissingPermissions;
  },
): Promise<Pick<UpgradePlan, "findings" | "unchecked">> {
  // Reads metrics only from the API server of the kubeconfig: no other API server must get the user's credentials.
  const [metrics, drains] = await Promise.all([
    permissions.reading("get /metrics", kube.metrics.read()),
    permissions.reading("list pods and PodDisruptionBudgets", drainsImpossible(kube, nodes)),
  ]);
  const apis = metrics === undefined ? [] : apiFindings(version, { inUse: removedIn(metrics, version), unread: [] });
  const doubts = row.etcd?.doubts ?? [];
  const etcd = doubts.length === 0 ? [] : [{ kind: "EtcdInDoubt", stops: false, message: doubts.join("; ") } as const];
  return {
    findings: [...apis, ...drains ?? [], ...etcd, ...nodesNotReady(nodes)],
    unchecked: [
      ...(metrics === undefined ? ["removed APIs"] : ["removed APIs that clients used on other API servers"]),
      ...(drains === undefined ? ["pods that cannot be evicted"] : []),
      "present members of etcd",
      "the plan of kubeadm",
    ],
  };
}

/** Returns the rules of all groups; undefined if the user may not read policies. */
async function rulesOf(
  { kube }: NamedCluster,
  { groups, now, permissions }: { groups: readonly PoolRow[]; now: number; permissions: MissingPermissions },
): Promise<Rules[] | undefined> {
  const found = await Promise.all(groups.map(async ({ pool }) => {
    const { metadata } = z.object({ metadata: Metadata }).parse(await readGroup(kube, pool));
    const permission = `list RolloutPolicies in ${pool.namespace}`;
    return (await permissions.reading(permission, findRules(kube, { metadata }, now)))?.rules;
  }));
  return found.includes(undefined) ? undefined : found.filter((each) => each !== undefined);
}
