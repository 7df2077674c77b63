/** The static pods of a control plane, as kubeadm names them. */
import type { V1Pod } from "@kubernetes/client-node";
import type { Kube } from "../kube/client.ts";
import { ifFound, sideBySide } from "../kube/status.ts";
import { plainVersion } from "./versions.ts";

const namespace = "kube-system";

/** A component of a control plane. */
export interface Part {
  /** Its name for people. */
  title: string;
  /** Its version by the tag of its image; "" if unknown. */
  version: string;
  isReady: boolean;
}

/** Reads the API server, the controller manager and the scheduler of a node. */
export async function readParts(kube: Kube, node: string): Promise<Part[]> {
  const read = async (name: string, title: string): Promise<Part> =>
    partOf(await ifFound(kube.core.readNamespacedPod({ namespace, name: `${name}-${node}` })), { node, name, title });
  return await sideBySide(
    read("kube-apiserver", "API server"),
    read("kube-controller-manager", "controller manager"),
    read("kube-scheduler", "scheduler"),
  );
}

/** A pod counts only if the kubelet of the node mirrors it, as others may create a pod of this name. */
function partOf(
  pod: V1Pod | undefined,
  { node, name, title }: { node: string; name: string; title: string },
): Part {
  const isMirror = pod?.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined;
  if (!pod || !isMirror || pod.spec?.nodeName !== node || pod.metadata?.deletionTimestamp) {
    return { title, version: "", isReady: false };
  }
  const image = pod.spec.containers.find((each) => each.name === name)?.image ?? "";
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  return { title, version: plainVersion(tagOf(image)), isReady };
}

/** Returns the tag of an image, without its digest; "" without a tag. */
export function tagOf(image: string): string {
  const [named = ""] = image.split("@");
  return /:([^:/]+)$/.exec(named)?.[1] ?? "";
}
