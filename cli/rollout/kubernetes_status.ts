/** The Kubernetes versions that control planes and nodes of a cluster run, as far as the user may read them. */
import { kubeadmConfig, readClusterVersion } from "../../activities/kubernetes/cluster_version.ts";
import { controlPlanesIn, type Planes, planesOf, readPartsOf } from "../../activities/kubernetes/planes.ts";
import type { Part } from "../../activities/kubernetes/static_pods.ts";
import { compareVersions, plainVersion } from "../../activities/kubernetes/versions.ts";
import { type GroupNode, listGroupNodes } from "../../activities/node_version/group_nodes.ts";
import { readSlotsOf } from "../../activities/pool/slots.ts";
import { holderOfUpgrade } from "../../activities/pool/upgraded_nodes.ts";
import type { ClusterObject, ControlPlaneState } from "../../workflows/contracts/mod.ts";
import { hasBegun } from "../../workflows/kubernetes/next_upgrade_step.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import { MissingPermissions } from "../connect/missing_permissions.ts";
import { usualProfileNamespace } from "../connect/world.ts";
import type { VersionRow } from "./node_versions.ts";
import { type EtcdSeen, memberOn, type MemberSeen, type ReportedEtcd, reportedEtcd, seatsOf } from "./reported_etcd.ts";
import { type BrokenSkew, brokenSkew } from "./version_skew.ts";

/** The state of one control plane in an upgrade. */
export type PlaneState = "UpToDate" | "BeingUpgraded" | "Halted" | "Waits" | "Newer" | "Unknown" | "NothingWanted";

/** A control plane and what it runs; versions are "" if unknown. */
export interface PlaneRow {
  node: string;
  /** The version of the kubelet as the Node reports it, including a vendor's suffix. */
  kubelet: string;
  apiServer: string;
  /** The oldest version among the control plane's API server, controller manager and scheduler. */
  components: string;
  /** The control plane's etcd member, as a Rollout reported the member. */
  etcd: MemberSeen | undefined;
  isReady: boolean;
  state: PlaneState;
}

/** The Kubernetes versions in a cluster, for one NodeVersion. */
export interface KubernetesRow {
  /** The version that kubeadm recorded; "" for none, undefined if the user may not read it. */
  recorded: string | undefined;
  /** Undefined if the user may not list nodes. */
  controlPlanes: PlaneRow[] | undefined;
  workers: Planes["workers"] | undefined;
  /** Undefined if no Rollout has reported the state of etcd. */
  etcd: EtcdSeen | undefined;
  skew: BrokenSkew[];
  /** Permissions that the user lacks, such as "list nodes". */
  missing: string[];
}

/** Returns the row as data; a value that is unknown, or that kubeadm did not record, is null. */
export function kubernetesData({ recorded, controlPlanes, workers, etcd, skew, missing }: KubernetesRow): object {
  const unknown = (version: string): string | null => version || null;
  return {
    recordedVersion: recorded || null,
    controlPlanes: controlPlanes?.map(({ node, kubelet, apiServer, components, etcd, isReady, state }) => ({
      ...{ node, kubelet: unknown(kubelet), apiServer: unknown(apiServer), components: unknown(components) },
      ...{ etcd: etcd ?? null, ready: isReady, state },
    })) ?? null,
    workers: workers ?? null,
    etcd: etcd ? { ...etcd, mayFail: Math.max(0, etcd.healthy - etcd.quorum) } : null,
    skew,
    missingPermissions: missing,
  };
}

/** The facts from which the status of a NodeVersion, and the plan of its upgrade, are made. */
export interface KubernetesFacts {
  row: KubernetesRow;
  nodes: readonly GroupNode[] | undefined;
  /** Undefined if the user may not list nodes. */
  planes: Planes | undefined;
}

interface ReadOptions {
  permissions?: MissingPermissions;
  /** Namespace of the ConfigMaps with shared budgets, one of which is ConfigMap ostler-control-planes. */
  profileNamespace?: string;
}

/**
 * Reads, with the permissions of the user, the nodes, the static pods of control planes, the version that kubeadm
 * recorded, and the slots of the shared budget of control planes.
 */
export async function readKubernetes(
  cluster: NamedCluster,
  version: VersionRow,
  { permissions = new MissingPermissions(), profileNamespace = usualProfileNamespace }: ReadOptions = {},
): Promise<KubernetesFacts> {
  const { kube } = cluster;
  const object: ClusterObject = { ...(cluster.name ? { cluster: cluster.name } : {}), name: version.name };
  const { namespace, name } = kubeadmConfig;
  const [nodes, recorded] = await Promise.all([
    permissions.reading("list nodes", listGroupNodes(kube)),
    permissions.reading(`get ConfigMap ${namespace}/${name}`, readClusterVersion(kube)),
  ]);
  const etcd = reportedEtcd(version);
  if (nodes === undefined) return { nodes, planes: undefined, row: rowWithout(recorded, etcd, permissions) };
  const [parts, slots] = await Promise.all([
    permissions.reading(`get pods in ${namespace}`, readPartsOf(kube, controlPlanesIn(nodes))),
    permissions.reading(
      `get ConfigMap ${profileNamespace}/ostler-control-planes`,
      readSlotsOf(
        { kube, profileNamespace },
        { pool: holderOfUpgrade(object), of: "ControlPlanes" },
      ),
    ),
  ]);
  const seats = seatsOf(nodes, version);
  const spec = { ...noSpec, kubernetesComponentsReference: version.components };
  const planes = planesOf({ object, version: { spec } }, {
    ...{ nodes, seats, parts: parts ?? new Map(), slots: slots ?? [] },
    leads: (node) => memberOn(etcd, node)?.role === "Leader",
  });
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const controlPlanes = planes.controlPlanes.map((each): PlaneRow => {
    const node = byName.get(each.node);
    return {
      ...{ node: each.node, kubelet: node?.kubelet ?? "", components: each.components, isReady: each.isReady },
      ...{ apiServer: apiServerIn(parts?.get(each.node)), etcd: node && memberOn(etcd, node) },
      state: stateOf(each, version),
    };
  });
  const servers = new Map(controlPlanes.map(({ node, apiServer }) => [node, apiServer]));
  const skew = brokenSkew(nodes.map((node) => {
    const apiServer = servers.get(node.name);
    return { name: node.name, kubelet: node.kubelet, ...(apiServer === undefined ? {} : { apiServer }) };
  }));
  const row = { ...rowWithout(recorded, etcd, permissions), controlPlanes, workers: planes.workers, skew };
  return { nodes, planes, row };
}

const noSpec = { image: "", imageVersion: "", kubernetesClusterVersion: "" };

function rowWithout(
  recorded: string | undefined,
  etcd: ReportedEtcd | undefined,
  permissions: MissingPermissions,
): KubernetesRow {
  const unseen = { controlPlanes: undefined, workers: undefined, skew: [] };
  return { recorded, etcd: etcd?.seen, ...unseen, missing: permissions.list() };
}

/** Returns the version of the API server among the static pods of a node; "" if unknown. */
function apiServerIn(parts: readonly Part[] | undefined): string {
  return parts?.find(({ title }) => title === "API server")?.version ?? "";
}

function stateOf(plane: ControlPlaneState, { kubernetes: { version, upgraded } }: VersionRow): PlaneState {
  if (hasBegun(plane)) return upgraded?.reason === "UpgradeHalted" ? "Halted" : "BeingUpgraded";
  const { kubelet, components } = plane;
  if (plainVersion(version) === "") return "NothingWanted";
  if (kubelet === "" || components === "") return "Unknown";
  if (kubelet === version && components === version) return "UpToDate";
  return [kubelet, components].some((each) => compareVersions(each, version) > 0) ? "Newer" : "Waits";
}
