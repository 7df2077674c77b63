/** The identity of everything a rollout depends on, so that controller and workflow agree on what is news. */
import { createHash } from "node:crypto";
import { parameterPrefix } from "../../profiles/mod.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { profileAnnotation, profileNamespaceAnnotation, revisionAnnotation } from "./annotations.ts";

const kubeletPrefix = "v1.kubelet-config.machine-controller.kubermatic.io/";

/** A short text, with the profile's `lineState` in it, that changes when, and only when, a rollout has to look again. */
export function observedOf(deployment: MachineDeployment, profileState: number | string | undefined): string {
  const { uid, generation, annotations = {}, deletionTimestamp } = deployment.metadata;
  const relevant = Object.entries(annotations).filter(([key]) => isRelevant(key)).sort();
  const parts = [uid, generation, relevant, profileState ?? "none", deletionTimestamp !== undefined];
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
  return `g${generation ?? 0}-r${annotations[revisionAnnotation] ?? 0}-${digest}`;
}

/** The same without what scaling changes: the identity of what machines boot with. */
export function changeOf(deployment: MachineDeployment, profileState: number | string | undefined): string {
  const { uid, annotations = {} } = deployment.metadata;
  const relevant = Object.entries(annotations).filter(([key]) => isRelevant(key)).sort();
  return createHash("sha256").update(JSON.stringify([uid, relevant, profileState ?? "none"])).digest("hex")
    .slice(0, 16);
}

function isRelevant(annotation: string): boolean {
  return [profileAnnotation, profileNamespaceAnnotation, revisionAnnotation].includes(annotation) ||
    annotation.startsWith(kubeletPrefix) || annotation.startsWith(parameterPrefix);
}
