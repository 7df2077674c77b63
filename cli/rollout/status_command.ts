/** `ostler status`: shows the status of rollouts from Kubernetes alone. */
import { groupsNamespace } from "../../workflows/commands/start_options.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import type { Terminal } from "../terminal.ts";
import { asData, type Format } from "../view/output.ts";
import { poolColumns } from "../view/pool_columns.ts";
import { poolStory } from "../view/pool_story.ts";
import { versionTree } from "../view/version_tree.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { needVersion, readVersions, type VersionRow } from "./node_versions.ts";
import { conditionOf, type PoolRow } from "./pool_row.ts";
import { chosenBy, noPools, readRows } from "./pools.ts";
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

/** Prints a table, and one named pool also in full. Always returns exit code 0; `status -w` evaluates the state. */
export async function showStatus(terminal: Terminal, world: World, flags: StatusFlags): Promise<number> {
  const cluster = await world.cluster();
  const [, version] = /^(?:nv|nodeversions?)\/([^/]+)$/i.exec(flags.pool ?? "") ?? [];
  if (version !== undefined) return await showVersion(terminal, cluster, { version, output: flags.output });
  const chosen = chosenBy(flags, cluster, true);
  const [rows, heldBy] = await Promise.all([readRows(cluster, chosen), heldNewcomers(cluster.kube)]);
  const versions = chosen.kind === "one" ? [] : await readVersions(cluster, rows);
  const many = {
    items: rows.map(rowData),
    ...(versions.length === 0 ? {} : { nodeVersions: versions.map(versionData) }),
    ...(heldBy === undefined ? {} : { newMachinesHeldBy: heldBy }),
  };
  const data = asData(flags.output, chosen.kind === "one" ? rows.map(rowData)[0] : many);
  if (data !== undefined) {
    terminal.out(data);
    return 0;
  }
  if (rows.length === 0) {
    terminal.err(`Nothing to show: ${noPools(chosen)}\n`);
    return 0;
  }
  const now = world.now();
  const namespaces = flags.allNamespaces === true;
  terminal.out(poolColumns(terminal, { rows, now, wide: flags.output === "wide", namespaces }));
  const [row] = rows;
  if (chosen.kind === "one" && row) terminal.out(`\n${poolStory(terminal, { row, now }).join("\n")}\n`);
  for (const each of versions) terminal.out(`\n${versionTree(terminal, each).join("\n")}\n`);
  terminal.err(heldLine(heldBy));
  return 0;
}

/** Prints one NodeVersion with its stages and groups. */
async function showVersion(
  terminal: Terminal,
  cluster: NamedCluster,
  { version, output }: { version: string; output: Format },
): Promise<number> {
  const rows = await readRows(cluster, { kind: "many", namespace: groupsNamespace });
  const row = await needVersion(cluster, version, rows);
  terminal.out(asData(output, versionData(row)) ?? `${versionTree(terminal, row).join("\n")}\n`);
  return 0;
}

/** Returns a NodeVersion as data: the names of its groups' pools by stage. */
function versionData({ groups, ...version }: VersionRow): object {
  const names = (rows: readonly PoolRow[]): string[] => rows.map(({ pool }) => pool.name);
  return { ...version, groups: { ControlPlane: names(groups.ControlPlane), Workers: names(groups.Workers) } };
}

/** Returns a pool as data: the status of its Rollout under the pool's name. */
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

/** Returns the component that holds new machines; undefined if the user is not allowed to read that. */
export async function heldNewcomers(kube: Kube): Promise<NewMachinesHeldBy | undefined> {
  try {
    return await newMachinesHeldBy(kube);
  } catch (error) {
    // The table is more important than this line.
    if (statusOf(error) !== undefined) return undefined;
    throw error;
  }
}

const lines: Record<NewMachinesHeldBy, string> = {
  policy: "",
  webhook: "The webhook holds new machines: this API server does not support the admission policy\n",
  nobody: "Nothing holds new machines, so rollouts are not paced: install the admission policy or the webhook\n",
};

/** Returns a line for the user, unless the API server's own policy holds new machines. */
export function heldLine(heldBy: NewMachinesHeldBy | undefined): string {
  return heldBy === undefined ? "" : lines[heldBy];
}
