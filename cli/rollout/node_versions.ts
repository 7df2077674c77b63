/** NodeVersions with their desired image, released stage and groups, and the certificates of their control planes. */
import { type CertificateRecord, recordsIn } from "../../activities/status/certificate_record.ts";
import { askedBy, hashOf, releasedStage } from "../../activities/node_version/version_release.ts";
import { NodeVersion, nodeVersions } from "../../activities/kube/update_kinds.ts";
import { ifAllowed, listAll, type NamedCluster } from "../connect/cluster.ts";
import { Refusal } from "../failure.ts";
import { nearText } from "./near_names.ts";
import type { PoolRow } from "./pool_row.ts";

/** The stages in the order in which a NodeVersion is released to their scaling groups. */
export const stages = ["ControlPlane", "Workers"] as const;
export type Stage = typeof stages[number];

export interface VersionRow {
  name: string;
  image: string;
  imageVersion: string;
  components: string;
  /** The condition Ready; its fields are empty before the first evaluation. */
  ready: { status: string; reason: string; message: string };
  /**
   * The last stage to whose scaling groups the NodeVersion is released; undefined if it is released to no stage yet.
   */
  released: Stage | undefined;
  groups: Record<Stage, PoolRow[]>;
  /**
   * The wanted Kubernetes version, "" for none; `upgraded` is missing until Ostler's worker has read the control
   * planes.
   */
  kubernetes: { version: string; upgraded?: { status: string; reason: string; message: string } };
  /** Certificates of the control planes; empty without any. */
  certificates: CertificateRecord[];
}

/** Returns the name in "nodeversion/NAME"; undefined for another text. */
export function versionNamed(text = ""): string | undefined {
  return /^(?:nv|nodeversions?)\/([^/]+)$/i.exec(text)?.[1];
}

/** Returns the NodeVersions that the scaling groups among these pools follow. */
export async function readVersions(cluster: NamedCluster, rows: readonly PoolRow[]): Promise<VersionRow[]> {
  const followed = new Set(rows.flatMap(({ follows }) => follows?.version ?? []));
  if (followed.size === 0) return [];
  return (await allVersions(cluster, rows)).filter(({ name }) => followed.has(name));
}

/**
 * Returns the rows, with the hash of the target that their NodeVersion now asks for; unchanged if the user may not read
 * NodeVersions, or the NodeVersion does not exist.
 */
export async function withTargets({ kube }: NamedCluster, rows: readonly PoolRow[]): Promise<PoolRow[]> {
  if (!rows.some(({ follows }) => follows)) return [...rows];
  const objects = await ifAllowed(listAll(kube, nodeVersions)) ?? [];
  const versions = objects.flatMap((object) => NodeVersion.safeParse(object).data ?? []);
  const hashes = new Map(versions.map((version) => [version.metadata.name, hashOf(askedBy(version))]));
  return rows.map((row) => {
    const target = hashes.get(row.follows?.version ?? "");
    return row.follows && target !== undefined ? { ...row, follows: { ...row.follows, target } } : row;
  });
}

/**
 * Returns a NodeVersion with its groups among `rows`, even if no group follows it; throws Refusal with similar names if
 * it does not exist.
 */
export async function needVersion(cluster: NamedCluster, name: string, rows: readonly PoolRow[]): Promise<VersionRow> {
  const all = await allVersions(cluster, rows);
  const found = all.find((each) => each.name === name);
  if (found) return found;
  throw new Refusal(
    `Failed to find NodeVersion "${name}": no such name${nearText(name, all.map((each) => each.name))}`,
  );
}

async function allVersions({ kube }: NamedCluster, rows: readonly PoolRow[]): Promise<VersionRow[]> {
  const objects = await ifAllowed(listAll(kube, nodeVersions)) ?? [];
  return objects.flatMap((object) => versionRow(object, rows) ?? []).sort((a, b) => a.name.localeCompare(b.name));
}

function versionRow(object: unknown, rows: readonly PoolRow[]): VersionRow | undefined {
  const { data } = NodeVersion.safeParse(object);
  if (data === undefined) return undefined;
  const { metadata: { name }, spec, status } = data;
  const own = rows.filter(({ follows }) => follows?.version === name);
  const of = (stage: Stage): PoolRow[] => own.filter(({ follows }) => follows?.stage === stage);
  const conditionOf = (wanted: string): VersionRow["ready"] | undefined => {
    const found = status?.conditions.find(({ type }) => type === wanted);
    return found && { status: found.status, reason: found.reason, message: found.message };
  };
  const upgraded = conditionOf("KubernetesUpgraded");
  return {
    ...{ name, image: spec.image, imageVersion: spec.imageVersion, components: spec.kubernetesComponentsReference },
    ready: conditionOf("Ready") ?? { status: "", reason: "", message: "" },
    released: releasedStage({ spec, status }),
    groups: { ControlPlane: of("ControlPlane"), Workers: of("Workers") },
    kubernetes: { version: spec.kubernetesClusterVersion, ...(upgraded ? { upgraded } : {}) },
    certificates: recordsIn(status),
  };
}
