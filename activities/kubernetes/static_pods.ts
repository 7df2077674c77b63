/** The static pods of a control plane, as kubeadm names them. */
import type { V1Pod } from "@kubernetes/client-node";
import type { Kube } from "../kube/client.ts";
import { ifFound, sideBySide } from "../kube/status.ts";
import { plainVersion } from "./versions.ts";

const namespace = "kube-system";

/** Annotation with the time of the last renewal (epoch s), which `renew_certificates.sh` writes into the manifests. */
const renewedAnnotation = "ostler.dev/certificates-renewed";

/** A component of a control plane. */
export interface Part {
  /** Its name in messages. */
  title: string;
  /** Its version according to the tag of its image; "" if unknown. */
  version: string;
  isReady: boolean;
  /** The time of the last renewal of certificates (epoch s) before its pod was created; "" if there was none. */
  renewed: string;
}

/** Reads the API server, the controller manager and the scheduler of a node. */
export async function readParts(kube: Kube, node: string): Promise<Part[]> {
  return await sideBySide(
    readPart(kube, node, ["kube-apiserver", "API server"]),
    readPart(kube, node, ["kube-controller-manager", "controller manager"]),
    readPart(kube, node, ["kube-scheduler", "scheduler"]),
  );
}

/** Reads the etcd pod of a node; `version` of the result is not a version of Kubernetes. */
export function readEtcdPart(kube: Kube, node: string): Promise<Part> {
  return readPart(kube, node, ["etcd", "etcd"]);
}

async function readPart(kube: Kube, node: string, [name, title]: [string, string]): Promise<Part> {
  return partOf(await ifFound(kube.core.readNamespacedPod({ namespace, name: `${name}-${node}` })), {
    node,
    name,
    title,
  });
}

/** A pod counts only if it mirrors a static pod of the node, because users may create a pod with this name. */
function partOf(
  pod: V1Pod | undefined,
  { node, name, title }: { node: string; name: string; title: string },
): Part {
  const isMirror = pod?.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined;
  if (!pod || !isMirror || pod.spec?.nodeName !== node || pod.metadata?.deletionTimestamp) {
    return { title, version: "", isReady: false, renewed: "" };
  }
  const image = pod.spec.containers.find((each) => each.name === name)?.image ?? "";
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  const renewed = pod.metadata?.annotations?.[renewedAnnotation] ?? "";
  return { title, version: plainVersion(tagOf(image)), isReady, renewed };
}

/** Returns the tag of an image, without its digest; "" without a tag. */
export function tagOf(image: string): string {
  const [named = ""] = image.split("@");
  return /:([^:/]+)$/.exec(named)?.[1] ?? "";
}
