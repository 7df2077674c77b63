/** The control planes of a NodeVersion, and what they run. */
import type { Cluster } from "../cluster.ts";
import type { ClusterObject, ControlPlaneState, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { readSeats } from "../backends/registry.ts";
import { memberAt } from "../etcd/judge.ts";
import { abreast, sideBySide } from "../kube/status.ts";
import type { NodeVersion } from "../kube/update_kinds.ts";
import { isOwnHold } from "../node/holder.ts";
import { same } from "../node_version/classify.ts";
import { readSurvey } from "../node_version/cluster_etcd.ts";
import { type GroupNode, readGroupNodes } from "../node_version/group_nodes.ts";
import { readSlotsOf } from "../pool/slots.ts";
import { holderOfUpgrade } from "../pool/upgraded_nodes.ts";
import { readParts } from "./static_pods.ts";
import { compareVersions, oldestOf, plainStart, plainVersion } from "./versions.ts";

/** Control planes whose pods are read concurrently. */
const width = 5;

/** The control planes by name, and the kubelets of all other nodes. */
export interface Planes {
  controlPlanes: ControlPlaneState[];
  workers: { nodes: number; oldest: string; newest: string };
}

/** Reads all nodes from their shared watch, the slots of the upgrade, and the static pods of control planes. */
export async function readPlanes(
  { kube, profileNamespace }: { kube: Cluster; profileNamespace: string },
  { object, version }: { object: ClusterObject; version: NodeVersion },
): Promise<Planes> {
  const [nodes, seats, etcd, slots] = await sideBySide(
    readGroupNodes(kube),
    readSeats(kube, { version: object.name }),
    readEtcd(kube),
    readSlotsOf({ kube, profileNamespace }, { pool: holderOfUpgrade(object), of: "ControlPlanes" }),
  );
  const planes = nodes.filter(({ isControlPlane }) => isControlPlane).sort(byName);
  const components = version.spec.kubernetesComponentsReference;
  const controlPlanes = await abreast(width, planes, async (node): Promise<ControlPlaneState> => {
    const seat = seats.get(node.name) ?? { group: "", machine: "" };
    return {
      ...{ node: node.name, uid: node.uid, ...seat, kubelet: plainVersion(node.kubelet) },
      components: oldestOf((await readParts(kube, node.name)).map((part) => part.version)),
      ...{ isReady: node.isReady, isLeader: isLeader(etcd, node) },
      isAnnounced: components !== "" && same(node.components, components),
      ...{ isUnderWay: slots.includes(seat.machine), isCordoned: isCordoned(object, node) },
    };
  });
  return { controlPlanes, workers: workersOf(nodes) };
}

function byName(one: GroupNode, other: GroupNode): number {
  return one.name < other.name ? -1 : 1;
}

/** A node that a user has cordoned before has only the mark that keeps the autoscaler off it. */
function isCordoned(object: ClusterObject, { cordonedBy, keptBy }: GroupNode): boolean {
  const holder = holderOfUpgrade(object);
  return isOwnHold(holder, cordonedBy) || isOwnHold(holder, keptBy);
}

/** Without an answer no leader is known, which only decides about the order of control planes. */
async function readEtcd(kube: Cluster): Promise<EtcdSurvey | undefined> {
  try {
    return await readSurvey(kube);
  } catch {
    return undefined;
  }
}

function isLeader(etcd: EtcdSurvey | undefined, { name, addresses }: GroupNode): boolean {
  if (!etcd || etcd.leader === "") return false;
  const member = memberAt(etcd, { addresses, node: name });
  return member !== undefined && member !== "Ambiguous" && member.id === etcd.leader;
}

/** Nodes whose kubelet has not reported a version yet have no part in oldest and newest. */
function workersOf(nodes: readonly GroupNode[]): Planes["workers"] {
  const workers = nodes.filter(({ isControlPlane }) => !isControlPlane);
  const kubelets = [...new Set(workers.map(({ kubelet }) => plainStart(kubelet)))].filter((version) => version !== "")
    .sort(compareVersions);
  return { nodes: workers.length, oldest: kubelets[0] ?? "", newest: kubelets.at(-1) ?? "" };
}
