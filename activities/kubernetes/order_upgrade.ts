/** Runs one step of an upgrade of Kubernetes on a control plane, through a hand: a pod on that node. */
import type { RenewalOrder, UpgradeOrder, UpgradeOutcome } from "../../workflows/contracts/mod.ts";
import { moot, refused } from "../failures.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { readClusterObject } from "../kube/resources.ts";
import { nodeVersions } from "../kube/update_kinds.ts";
import { byHand, type HandDeps } from "../os/hand.ts";
import { handsNamespace } from "../os/hand_pod.ts";
import { handsImagePattern, withoutHandsImage } from "../os/hands_image.ts";
import { type Component, componentsIn, componentsKey, upgradeDigestOf } from "./components.ts";
import {
  componentsOfHand,
  renewalHandOf,
  upgradeHandOf,
  upgradeNameOf,
  validateRenewal,
  validateUpgrade,
} from "./upgrade_hand.ts";

const namespace = "kube-system";

/**
 * Creates the pod that executes the order, and waits until the order's deadline for the pod's result (see `byHand`).
 * Throws Moot (GenerationStale) if the desired version or its components changed before the pod was created, and
 * Refused (HandsMissing) if the setting hands-image is not an image with a digest.
 */
export async function awaitUpgradeOrdered({ kube, image }: HandDeps, order: UpgradeOrder): Promise<UpgradeOutcome> {
  validateUpgrade(order);
  needImage(image, `start an upgrade step on node "${order.node}"`);
  const attempt = `read the components of NodeVersion "${order.object.name}"`;
  const components = await attempting(
    attempt,
    async () => await givenComponents({ kube }, order) ?? await orderedComponents({ kube }, order),
  );
  return await byHand({ kube, image }, upgradeHandOf(order, components));
}

/** Renews the certificates of a control plane through a pod, like `awaitUpgradeOrdered`, but without components. */
export async function awaitRenewalOrdered({ kube, image }: HandDeps, order: RenewalOrder): Promise<UpgradeOutcome> {
  validateRenewal(order);
  needImage(image, `start a renewal of certificates on node "${order.node}"`);
  return await byHand({ kube, image }, renewalHandOf(order));
}

function needImage(image: string, what: string): void {
  if (handsImagePattern.test(image)) return;
  throw refused("HandsMissing", `Failed to ${what}: ${withoutHandsImage}`);
}

/**
 * Returns the components of the order's pod; undefined if the pod does not exist or its components are invalid. If the
 * pod exists, its node may be running kubeadm, so its result is awaited even if the NodeVersion has changed.
 */
async function givenComponents(
  { kube }: Pick<HandDeps, "kube">,
  order: UpgradeOrder,
): Promise<Component[] | undefined> {
  const name = upgradeNameOf(order);
  const pod = await ifFound(kube.core.readNamespacedPod({ namespace: handsNamespace, name }));
  return pod && componentsOfHand(pod);
}

/** Reads the components for a new pod, which contains them, so that a later change does not affect the order. */
async function orderedComponents({ kube }: Pick<HandDeps, "kube">, order: UpgradeOrder): Promise<Component[]> {
  const { object, version, digest } = order;
  const found = await ifFound(readClusterObject(kube, nodeVersions, object.name));
  const { kubernetesClusterVersion, kubernetesComponentsReference: name = "" } = found?.spec ?? {};
  const map = name === "" ? undefined : await ifFound(kube.core.readNamespacedConfigMap({ namespace, name }));
  const list = map?.data?.[componentsKey] ?? "";
  if (kubernetesClusterVersion !== version || upgradeDigestOf(version, list) !== digest) {
    const state = "the desired version or its components changed";
    throw moot("GenerationStale", `Failed to start the upgrade to ${version} on node "${order.node}": ${state}`);
  }
  const read = componentsIn(list);
  if ("components" in read) return read.components;
  throw refused("ObjectInvalid", `Failed to read the components in ConfigMap "${namespace}/${name}": ${read.fault}`);
}
