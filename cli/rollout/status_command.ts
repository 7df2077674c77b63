/** `ostler status`: shows the status of rollouts from Kubernetes alone. */
import { groupsNamespace } from "../../workflows/commands/start_options.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import type { Terminal } from "../terminal.ts";
import { asData, type Format } from "../view/output.ts";
import { poolColumns } from "../view/pool_columns.ts";
import { poolStory } from "../view/pool_story.ts";
import { trustLines } from "../view/trust_text.ts";
import { certificateLines, mostCertificates, mostUrgent } from "../view/certificate_lines.ts";
import { kubernetesLines, mostPlanes, upgradeLines } from "../view/kubernetes_lines.ts";
import { versionTree } from "../view/version_tree.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { ownTrust } from "./ca_trust.ts";
import { byUrgency, stateOf } from "../../activities/status/certificate_record.ts";
import { kubernetesData, type KubernetesRow, readKubernetes } from "./kubernetes_status.ts";
import { needVersion, readVersions, versionNamed, type VersionRow } from "./node_versions.ts";
import { conditionOf, type PoolRow } from "./pool_row.ts";
import { chosenBy, hiddenRefusal, noPools, readRows, readSelected } from "./pools.ts";
import type { Kube } from "../../activities/kube/client.ts";
import { type NewMachinesHeldBy, newMachinesHeldBy } from "../../activities/kube/machine_deployment.ts";
import { statusOf } from "../../activities/kube/status.ts";

export interface StatusFlags extends ClusterFlags {
  output: Format;
  watch?: boolean;
  /** Whether to show all clusters, from Temporal. */
  allClusters?: boolean;
  timeout?: string;
}

/** Prints a table, and one named pool also in full. Returns exit code 0 in every state, unlike `status -w`. */
export async function showStatus(terminal: Terminal, world: World, flags: StatusFlags): Promise<number> {
  const cluster = await world.cluster();
  const version = versionNamed(flags.pool);
  if (version !== undefined) {
    return await showVersion(terminal, cluster, { version, output: flags.output, now: world.now() });
  }
  const chosen = chosenBy(flags, cluster, true);
  const [{ rows, hidden }, heldBy] = await Promise.all([readSelected(cluster, chosen), heldNewcomers(cluster.kube)]);
  const refusal = hiddenRefusal("show", hidden, chosen);
  const versions = chosen.kind === "one" ? [] : await readVersions(cluster, rows);
  const now = world.now();
  const many = {
    items: rows.map(rowData),
    ...(versions.length === 0 ? {} : { nodeVersions: versions.map((each) => versionData(each, now)) }),
    ...(heldBy === undefined ? {} : { newMachinesHeldBy: heldBy }),
  };
  const data = asData(flags.output, chosen.kind === "one" ? rows.map(rowData)[0] : many);
  if (refusal) terminal.err(`${refusal.message}\n`);
  if (data !== undefined) {
    terminal.out(data);
    return 0;
  }
  if (rows.length === 0) {
    if (!refusal) terminal.err(`Nothing to show: ${noPools(chosen)}\n`);
    return 0;
  }
  const namespaces = flags.allNamespaces === true;
  terminal.out(poolColumns(terminal, { rows, now, wide: flags.output === "wide", namespaces }));
  const [row] = rows;
  if (chosen.kind === "one" && row) {
    const trust = await ownTrust(cluster.kube, row, now);
    terminal.out(`\n${[...poolStory(terminal, { row, now }), ...trustLines(terminal, trust)].join("\n")}\n`);
  }
  for (const each of versions) {
    const upgrade = upgradeLines(terminal, each);
    const certificates = certificateLines(terminal, each, { now, most: mostUrgent });
    const lines = [...versionTree(terminal, each), ...(upgrade.length > 0 ? ["", ...upgrade] : []), ...certificates];
    terminal.out(`\n${lines.join("\n")}\n`);
  }
  terminal.err(heldLine(heldBy));
  return 0;
}

/** Prints one NodeVersion with its stages, groups, control planes and certificates. */
async function showVersion(
  terminal: Terminal,
  cluster: NamedCluster,
  { version, output, now }: { version: string; output: Format; now: number },
): Promise<number> {
  const rows = await readRows(cluster, { kind: "many", namespace: groupsNamespace });
  const row = await needVersion(cluster, version, rows);
  const { row: kubernetes } = await readKubernetes(cluster, row);
  const isWide = output === "wide";
  const planes = kubernetesLines(terminal, row, { row: kubernetes, most: isWide ? Infinity : mostPlanes });
  const lines = [
    ...versionTree(terminal, row),
    ...(planes.length > 0 ? ["", ...planes] : []),
    ...certificateLines(terminal, row, { now, most: isWide ? Infinity : mostCertificates, isWhole: true }),
  ];
  terminal.out(asData(output, versionData(row, now, kubernetes)) ?? `${lines.join("\n")}\n`);
  return 0;
}

/**
 * Returns a NodeVersion as data: the names of its groups' pools by stage, its Kubernetes versions, and its certificates
 * with their states.
 */
function versionData(
  { groups, certificates, kubernetes, ...version }: VersionRow,
  now: number,
  seen?: KubernetesRow,
): object {
  const names = (rows: readonly PoolRow[]): string[] => rows.map(({ pool }) => pool.name);
  const told = byUrgency(certificates, now).map((each) => ({ ...each, state: stateOf(each, now) }));
  const hasKubernetes = seen !== undefined || kubernetes.version !== "" || kubernetes.upgraded !== undefined;
  return {
    ...version,
    groups: { ControlPlane: names(groups.ControlPlane), Workers: names(groups.Workers) },
    ...(hasKubernetes ? { kubernetes: { ...kubernetes, ...(seen ? kubernetesData(seen) : {}) } } : {}),
    ...(told.length === 0 ? {} : { certificates: told }),
  };
}

/** Returns a pool as data, with the unparsed status of its Rollout, or null without a status. */
export function rowData({ pool, generation, replicas, createdAt, raw, status }: PoolRow): object {
  return {
    ...pool,
    generation,
    replicas,
    ...(createdAt === undefined ? {} : { createdAt }),
    ready: status !== undefined && conditionOf(status, "Ready")?.status === "True",
    status: raw ?? null,
  };
}

/**
 * Returns what holds new machines until their rollout starts them: a MutatingAdmissionPolicy, the webhook, or nothing.
 * Returns undefined if the API server refuses the read.
 */
async function heldNewcomers(kube: Kube): Promise<NewMachinesHeldBy | undefined> {
  try {
    return await newMachinesHeldBy(kube);
  } catch (error) {
    // A failed read of this optional line must not prevent the table.
    if (statusOf(error) !== undefined) return undefined;
    throw error;
  }
}

const lines: Record<NewMachinesHeldBy, string> = {
  policy: "",
  webhook: "The webhook holds new machines, because the MutatingAdmissionPolicy for this is not installed\n",
  nobody: "Nothing holds new machines, so they boot at once and rollouts are not paced: install the " +
    "MutatingAdmissionPolicy or the webhook\n",
};

/**
 * Returns a line if only the webhook, or nothing, holds new machines; "" if a MutatingAdmissionPolicy holds them, or if
 * that is unknown.
 */
function heldLine(heldBy: NewMachinesHeldBy | undefined): string {
  return heldBy === undefined ? "" : lines[heldBy];
}
