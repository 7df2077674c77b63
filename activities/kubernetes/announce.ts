/**
 * Completes the upgrade of a control plane: annotates its Node with the installed components, uncordons the Node, and
 * writes the condition KubernetesUpgraded of the NodeVersion.
 */
import type { V1Node } from "@kubernetes/client-node";
import type { Cluster } from "../cluster.ts";
import type { ClusterObject, UpgradeStanding } from "../../workflows/contracts/mod.ts";
import { moot, refused, unavailable } from "../failures.ts";
import { asMergePatch, type Kube } from "../kube/client.ts";
import { readClusterObject } from "../kube/resources.ts";
import { abreast, attempting, ifFound } from "../kube/status.ts";
import { nodeVersions } from "../kube/update_kinds.ts";
import { same } from "../node_version/classify.ts";
import { marks } from "../node_version/marks.ts";
import { tellCondition } from "../node_version/version_release.ts";
import { ensureNodeUncordoned } from "../node/cordon.ts";
import { isOwnHold } from "../node/holder.ts";
import { readGroupNodes } from "../node_version/group_nodes.ts";
import { isControlPlane } from "../node/node_facts.ts";
import { holderOfUpgrade } from "../pool/upgraded_nodes.ts";
import { askedUpgrade, cancelledReason, upgradeCondition } from "./cancelled_upgrade.ts";

/**
 * Annotates a control plane with the components that it runs. If the NodeVersion names these components, throws
 * Transient until the kubelet reports the NodeVersion's Kubernetes version: worker nodes get the new kubelet only after
 * this annotation, and their kubelet must not be newer than the API server.
 */
export function ensureControlPlaneAnnounced(
  kube: Cluster,
  { object, node, uid, components }: { object: ClusterObject; node: string; uid: string; components: string },
): Promise<void> {
  const what = `annotate control plane "${node}" with its components`;
  return attempting(what, async () => {
    const { metadata, status } = await needControlPlane(kube, { node, uid, what });
    if (metadata?.annotations?.[marks.components] === components) return;
    const version = await ifFound(readClusterObject(kube, nodeVersions, object.name));
    const { kubernetesClusterVersion: wanted = "", kubernetesComponentsReference = "" } = version?.spec ?? {};
    const kubelet = status?.nodeInfo?.kubeletVersion ?? "";
    if (same(kubernetesComponentsReference, components) && kubelet !== wanted) {
      throw unavailable(
        `Failed to ${what}: its kubelet reports version "${kubelet}", but components "${components}" are for version "${wanted}"`,
      );
    }
    // The UID makes the API server refuse the patch for another node of this name.
    const body = { metadata: { uid, annotations: { [marks.components]: components } } };
    await kube.core.patchNode({ name: node, body }, asMergePatch);
  });
}

/**
 * Reads the Node of a control plane. Throws Moot (MachineGone) if the Node was deleted, even if a later Node has its
 * name. Throws Refused (ControlPlaneRefused) for a worker, because a client of Temporal's namespace can name any node.
 */
export async function needControlPlane(
  kube: Kube,
  { node, uid, what }: { node: string; uid: string; what: string },
): Promise<V1Node> {
  const found = await ifFound(kube.core.readNode({ name: node }));
  if (!found || found.metadata?.uid !== uid) {
    const state = found ? `it was replaced by a Node with UID "${found.metadata?.uid}"` : "the Node was deleted";
    throw moot("MachineGone", `Failed to ${what}: ${state}`);
  }
  if (isControlPlane(found)) return found;
  throw refused("ControlPlaneRefused", `Failed to ${what}: node "${node}" is not a control plane`);
}

/** Undoes the upgrade's own cordon of a node; does nothing if the Node with this UID was deleted. */
export async function ensureControlPlaneUncordoned(
  kube: Kube,
  { object, node, uid }: { object: ClusterObject; node: string; uid: string },
): Promise<void> {
  const found = await attempting(`uncordon node "${node}"`, () => ifFound(kube.core.readNode({ name: node })));
  if (found?.metadata?.uid === uid) await ensureNodeUncordoned(kube, { pool: holderOfUpgrade(object), node });
}

/** Maximum nodes that are uncordoned concurrently. */
const width = 5;

/** Undoes every cordon of an upgrade whose NodeVersion was deleted; cordons by users and other controllers remain. */
export async function ensureUpgradeEnded(kube: Cluster, { object }: { object: ClusterObject }): Promise<void> {
  const pool = holderOfUpgrade(object);
  const nodes = await attempting("list nodes", () => readGroupNodes(kube));
  const own = nodes.filter(({ cordonedBy, keptBy }) => isOwnHold(pool, cordonedBy) || isOwnHold(pool, keptBy));
  await abreast(width, own, ({ name }) => ensureNodeUncordoned(kube, { pool, node: name }));
}

/** The reason of a completed upgrade, and the reasons that require no action. */
const done = "UpToDate";
const inProgress = ["Checking", "Upgrading", "EtcdSaved", "ClusterBudget", "OutsideWindow"];

/** Writes the condition KubernetesUpgraded, and emits an Event for a new reason. */
export function ensureUpgradeReported(
  kube: Kube,
  { object: { name }, standing }: { object: ClusterObject; standing: UpgradeStanding },
): Promise<void> {
  const { reason, message } = standing;
  const status = reason === done ? "True" : "False";
  const isWell = reason === done || inProgress.includes(reason);
  return tellCondition(kube, name, (version) => {
    const beside = { cancelledUpgrade: reason === cancelledReason ? askedUpgrade(version) : null };
    return { type: upgradeCondition, status, reason, message, isWell, beside };
  });
}
