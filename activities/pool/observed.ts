/** The identity of everything a rollout depends on, so that controller and workflow agree on what is news. */
import { createHash } from "node:crypto";
import type { MachineDeployment } from "../kube/schemas.ts";
import { profileAnnotation, profileNamespaceAnnotation, revisionAnnotation } from "./annotations.ts";

const kubeletPrefix = "v1.kubelet-config.machine-controller.kubermatic.io/";

/** A short text that changes when, and only when, a rollout has to look again. */
export function observedOf(deployment: MachineDeployment, profileGeneration: number | undefined): string {
  const { uid, generation, annotations = {}, deletionTimestamp } = deployment.metadata;
  const relevant = Object.entries(annotations).filter(([key]) => isRelevant(key)).sort();
  const parts = [uid, generation, relevant, profileGeneration ?? "none", deletionTimestamp !== undefined];
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
  return `g${generation ?? 0}-r${annotations[revisionAnnotation] ?? 0}-${digest}`;
}

/** The same without what scaling changes: the identity of what machines boot with. */
export function changeOf(deployment: MachineDeployment, profileGeneration: number | undefined): string {
  const { uid, annotations = {} } = deployment.metadata;
  const relevant = Object.entries(annotations).filter(([key]) => isRelevant(key)).sort();
  return createHash("sha256").update(JSON.stringify([uid, relevant, profileGeneration ?? "none"])).digest("hex")
    .slice(0, 16);
}

function isRelevant(annotation: string): boolean {
  return [profileAnnotation, profileNamespaceAnnotation, revisionAnnotation].includes(annotation) ||
    annotation.startsWith(kubeletPrefix);
}
