/** Computes the state of a NodeVersion's control planes from the objects that were read. */
import type { ClusterObject, ControlPlaneState } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { abreast } from "../kube/status.ts";
import type { NodeVersion } from "../kube/update_kinds.ts";
import { isOwnHold } from "../node/holder.ts";
import { same } from "../node_version/classify.ts";
import type { GroupNode } from "../node_version/group_nodes.ts";
import { holderOfUpgrade, isSlotOf } from "../pool/upgraded_nodes.ts";
import { type Part, readParts } from "./static_pods.ts";
import { compareVersions, oldestOf, plainStart, plainVersion } from "./versions.ts";

/** Maximum control planes whose pods are read concurrently. */
const width = 5;

/** The control planes, sorted by name, and the number and kubelet versions of all other nodes. */
export interface Planes {
  controlPlanes: ControlPlaneState[];
  workers: { nodes: number; oldest: string; newest: string };
}

/** The facts about all nodes; a map lacks the nodes whose facts are unknown. */
interface PlaneSources {
  nodes: readonly GroupNode[];
  /** The ScalingGroup and the machine of a control plane, by the name of its node. */
  seats: ReadonlyMap<string, { group: string; machine: string }>;
  /** The static pods of a control plane, by the name of its node. */
  parts: ReadonlyMap<string, readonly Part[]>;
  /**
   * The machines for which the upgrade, or the renewal of certificates, has slots of the shared budget, as the keys of
   * the slots name them (`isSlotOf`).
   */
  slots: readonly string[];
  /** Returns whether the etcd member of a node leads. */
  leads: (node: GroupNode) => boolean;
}

/** Returns the facts about control planes and workers on which an upgrade depends; pure. */
export function planesOf(
  { object, version: { spec } }: { object: ClusterObject; version: Pick<NodeVersion, "spec"> },
  { nodes, seats, parts, slots, leads }: PlaneSources,
): Planes {
  const components = spec.kubernetesComponentsReference;
  const controlPlanes = controlPlanesIn(nodes).map((node): ControlPlaneState => {
    const seat = seats.get(node.name) ?? { group: "", machine: "" };
    return {
      ...{ node: node.name, uid: node.uid, ...seat, kubelet: plainVersion(node.kubelet) },
      components: oldestOf((parts.get(node.name) ?? []).map((part) => part.version)),
      ...{ isReady: node.isReady, isLeader: leads(node) },
      isAnnounced: components !== "" && same(node.components, components),
      // Absent otherwise, because recorded histories have surveys without this field.
      ...(node.components === "" ? { isUnannotated: true } : {}),
      ...{ isUnderWay: slots.some((slot) => isSlotOf(slot, seat.machine)), isCordoned: isCordoned(object, node) },
    };
  });
  return { controlPlanes, workers: workersOf(nodes) };
}

/** Returns the control planes, sorted by name. */
export function controlPlanesIn(nodes: readonly GroupNode[]): GroupNode[] {
  return nodes.filter(({ isControlPlane }) => isControlPlane).sort((one, other) => one.name < other.name ? -1 : 1);
}

/** Reads the static pods of control planes, by the names of their nodes. */
export async function readPartsOf(kube: Kube, planes: readonly GroupNode[]): Promise<Map<string, Part[]>> {
  return new Map(await abreast(width, planes, async ({ name }) => [name, await readParts(kube, name)] as const));
}

/**
 * Returns whether the upgrade has cordoned the node, or has found it cordoned by a user: the upgrade then only sets the
 * mark that keeps the autoscaler off the node, and that mark suffices here.
 */
function isCordoned(object: ClusterObject, { cordonedBy, keptBy }: GroupNode): boolean {
  const holder = holderOfUpgrade(object);
  return isOwnHold(holder, cordonedBy) || isOwnHold(holder, keptBy);
}

/**
 * Nodes whose kubelet has not reported a version yet do not count for `oldest` and `newest`. If any kubelet reports a
 * text that is not a version, both are "", because the skew between versions is unknown then.
 */
function workersOf(nodes: readonly GroupNode[]): Planes["workers"] {
  const workers = nodes.filter(({ isControlPlane }) => !isControlPlane);
  const isUnknown = workers.some(({ kubelet }) => kubelet !== "" && plainStart(kubelet) === "");
  if (isUnknown) return { nodes: workers.length, oldest: "", newest: "" };
  const kubelets = [...new Set(workers.map(({ kubelet }) => plainStart(kubelet)))].filter((version) => version !== "")
    .sort(compareVersions);
  return { nodes: workers.length, oldest: kubelets[0] ?? "", newest: kubelets.at(-1) ?? "" };
}
