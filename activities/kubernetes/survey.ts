/** Reads what an upgrade of Kubernetes depends on: what a NodeVersion asks for, and which versions the nodes run. */
import { createHash } from "node:crypto";
import type { ClusterObject, ControlPlaneState, UpgradeSurvey, UpgradeTrouble } from "../../workflows/contracts/mod.ts";
import type { Cluster } from "../cluster.ts";
import { News, poll, sourceOf } from "../kube/polling.ts";
import { readClusterObject } from "../kube/resources.ts";
import { attempting, ifFound, sideBySide } from "../kube/status.ts";
import { NodeVersion, nodeVersions } from "../kube/update_kinds.ts";
import { type GroupNode, groupNodesOf } from "../node_version/group_nodes.ts";
import { withoutHandsImage } from "../os/hands_image.ts";
import { type AskedKubernetes, longestText, readAskedKubernetes, retryOf } from "./asked.ts";
import { kubeadmConfig, readClusterVersion } from "./cluster_version.ts";
import { readPlanes } from "./control_planes.ts";
import type { Planes } from "./planes.ts";

/** Annotation of a NodeVersion: the version to which a person approved an upgrade. */
export const approvedAnnotation = "ostler.dev/approved-kubernetes";

/** Maximum nodes that a message names. */
const named = 5;

/** A cluster, the namespace of its shared budgets, and whether Ostler can run pods that execute steps on its nodes. */
export interface UpgradeReader {
  kube: Cluster;
  profileNamespace: string;
  hasHands: boolean;
}

/** Reads everything on which an upgrade depends; Gone if the NodeVersion was or is being deleted. */
export function surveyUpgrade(reader: UpgradeReader, { object }: { object: ClusterObject }): Promise<UpgradeSurvey> {
  const { kube, hasHands } = reader;
  return attempting(`survey the Kubernetes upgrade of NodeVersion "${object.name}"`, async () => {
    const version = await ifFound(readClusterObject(kube, nodeVersions, object.name));
    if (!version || version.metadata.deletionTimestamp) return { state: "Gone" };
    const [asked, cluster, planes] = await sideBySide(
      readAskedKubernetes(kube, version),
      readClusterVersion(kube),
      readPlanes(reader, { object, version }),
    );
    return surveyOf(version, { asked, cluster, planes, hasHands });
  });
}

/** The facts about a cluster besides its NodeVersion. */
interface SurveyFacts {
  asked: AskedKubernetes;
  /** The version that kubeadm recorded; "" for none. */
  cluster: string;
  planes: Planes;
  hasHands: boolean;
}

/** Returns the survey of these facts; pure. */
export function surveyOf(
  { metadata }: Pick<NodeVersion, "metadata">,
  { asked, cluster, planes, hasHands }: SurveyFacts,
): Extract<UpgradeSurvey, { state: "Present" }> {
  const { controlPlanes } = planes;
  const trouble = asked.trouble ?? troubleWith({ cluster, hasHands, controlPlanes });
  const facts = {
    ...{ digest: asked.digest, version: asked.version, components: asked.components, cluster },
    approved: (metadata.annotations?.[approvedAnnotation] ?? "").slice(0, longestText),
    retry: retryOf(metadata),
    trouble,
    ...planes,
  };
  // The fingerprint ignores the setting hands-image: if the worker that surveys and the worker that waits had different
  // settings, every wait would end at once.
  const ofAnyWorker = { ...facts, trouble: asked.trouble ?? troubleWith({ cluster, hasHands: true, controlPlanes }) };
  const fingerprint = createHash("sha256").update(JSON.stringify(ofAnyWorker)).digest("hex").slice(0, 16);
  return { state: "Present", fingerprint, ...facts };
}

function troubleWith(
  { cluster, hasHands, controlPlanes }: { cluster: string; hasHands: boolean; controlPlanes: ControlPlaneState[] },
): UpgradeTrouble | null {
  const trouble = troubleWithOrders({ cluster, hasHands }, "upgrade control planes");
  if (trouble) return trouble;
  const unknown = controlPlanes.flatMap((each) => lackOf(each) ?? []);
  if (unknown.length === 0) return null;
  const rest = unknown.length > named ? `; and ${unknown.length - named} more` : "";
  const message = `Cannot upgrade control planes: ${unknown.slice(0, named).join("; ")}${rest}`;
  return { reason: "ControlPlaneUnknown", message };
}

/** Returns why Ostler cannot do `what`, such as "renew certificates of control planes"; null if it can. */
export function troubleWithOrders(
  { cluster, hasHands }: { cluster: string; hasHands: boolean },
  what: string,
): UpgradeTrouble | null {
  if (cluster === "") {
    const { namespace, name } = kubeadmConfig;
    const state = `ConfigMap "${namespace}/${name}" does not have a kubernetesVersion such as "v1.36.1"`;
    return { reason: "NotKubeadm", message: `Cannot ${what} that kubeadm did not create: ${state}` };
  }
  if (hasHands) return null;
  return { reason: "HandsMissing", message: `Cannot ${what}: ${withoutHandsImage}` };
}

/**
 * Returns which fact about a control plane is missing for an upgrade; undefined if none is. While a control plane is
 * being upgraded, its static pods may be missing.
 */
function lackOf({ node, group, kubelet, components, isUnderWay }: ControlPlaneState): string | undefined {
  if (group === "") return `node "${node}" does not belong to a control plane ScalingGroup of this NodeVersion`;
  if (kubelet === "") return `the kubelet of node "${node}" does not report a version such as "v1.36.1"`;
  if (components !== "" || isUnderWay) return undefined;
  return `node "${node}" does not run the static pods of kubeadm with images of a version such as "v1.36.1"`;
}

/** The fields of a NodeVersion that an upgrade depends on. */
const askedVersions = {
  ...nodeVersions,
  schema: NodeVersion.transform(({ metadata: { annotations, deletionTimestamp }, spec }) =>
    JSON.stringify([spec, annotations, deletionTimestamp])
  ),
};

/** Returns the facts whose change causes a survey: of a worker node only its kubelet version, to keep surveys rare. */
function partOf(node: GroupNode | undefined): string | undefined {
  return node && (node.isControlPlane ? JSON.stringify(node) : node.kubelet);
}

/** Waits until the survey has another fingerprint than `fingerprint`, but at most until `until` (epoch ms). */
export async function awaitUpgradeChanged(
  reader: UpgradeReader,
  { object, fingerprint, until }: { object: ClusterObject; fingerprint: string; until: number },
): Promise<void> {
  const { kube } = reader;
  using news = new News([
    sourceOf(kube.watches.of(askedVersions), ({ key, before, now }) => key === object.name && before !== now),
    sourceOf(groupNodesOf(kube), ({ before, now }) => partOf(before) !== partOf(now)),
  ]);
  return await poll<void>({
    until: Number.MAX_SAFE_INTEGER, // an unchanged survey is a valid result
    news,
    // Changes of many nodes at once cause only one survey.
    ...{ every: 5_000, gap: 1_000, lookBy: () => until },
    look: async () => {
      const survey = await surveyUpgrade(reader, { object });
      const isNews = survey.state === "Gone" || survey.fingerprint !== fingerprint;
      return isNews || Date.now() >= until
        ? { answer: undefined }
        : { missing: "a change of the NodeVersion or a node" };
    },
    expired: (missing) => new Error(missing),
  });
}
