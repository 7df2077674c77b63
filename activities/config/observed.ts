/** The identity of everything a rollout depends on, so that controller and workflow agree on what is news. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../profiles/canonical_json.ts";
import { parameterPrefix } from "../../profiles/mod.ts";
import type { MachineDeployment } from "../kube/resources.ts";
import { profileAnnotation, profileNamespaceAnnotation } from "./identity.ts";
import { revisionAnnotation } from "../kube/machine_deployment.ts";
import type { LinedProfile } from "./profile_line.ts";

const kubeletPrefix = "v1.kubelet-config.machine-controller.kubermatic.io/";

/** What of a MachineDeployment tells whether a rollout has to look again. */
export interface Observable {
  metadata: Pick<MachineDeployment["metadata"], "uid" | "generation" | "annotations" | "deletionTimestamp">;
}

/** Picks that out of all else. */
export function observableOf({ metadata }: MachineDeployment): Observable {
  const { uid, generation, annotations = {}, deletionTimestamp } = metadata;
  const relevant = Object.fromEntries(Object.entries(annotations).filter(([key]) => isRelevant(key)));
  return { metadata: { uid, generation, annotations: relevant, deletionTimestamp } };
}

/** A short text, with the profile's `lineState` in it, that changes when, and only when, a rollout has to look again. */
export function observedOf({ metadata }: Observable, profileState: number | string | undefined): string {
  const { uid, generation, annotations = {}, deletionTimestamp } = metadata;
  const relevant = Object.entries(annotations).filter(([key]) => isRelevant(key)).sort();
  const digest = short([uid, generation, relevant, profileState ?? "none", deletionTimestamp !== undefined]);
  return `g${generation ?? 0}-r${annotations[revisionAnnotation] ?? 0}-${digest}`;
}

/** The same without what scaling changes: the identity of what machines boot with. */
export function changeOf(deployment: MachineDeployment, profileState: number | string | undefined): string {
  const { uid, annotations = {} } = deployment.metadata;
  const relevant = Object.entries(annotations).filter(([key]) => isRelevant(key)).sort();
  return short([uid, relevant, profileState ?? "none"]);
}

/**
 * What a config is rendered from beside the template: the profile and the settings in annotations. By content, so that
 * it is equal again when an earlier profile is put back under a new generation.
 */
export function inputsOf(deployment: MachineDeployment, line: LinedProfile[]): string {
  const said = line.map(({ ref, object }) => object?.spec ?? ref.name);
  return short([settingsOf(deployment.metadata.annotations), said]);
}

/** The annotations that settings of machines stand in. */
export function settingsOf(annotations: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => isSetting(key)));
}

/** The identity of a change without any numbering: of its template, and of its inputs as a part that can be read. */
export function specHashOf(template: unknown, inputs: string): string {
  return `${short(template ?? "none")}-${inputs}`;
}

/** The inputs in a `specHashOf`; "" where there are none. */
export function inputsIn(specHash: string): string {
  return /^[0-9a-f]{16}-([0-9a-f]{16})$/.exec(specHash)?.[1] ?? "";
}

function short(parts: unknown): string {
  return createHash("sha256").update(canonicalJson(parts)).digest("hex").slice(0, 16);
}

function isRelevant(annotation: string): boolean {
  return [profileAnnotation, profileNamespaceAnnotation, revisionAnnotation].includes(annotation) ||
    isSetting(annotation);
}

function isSetting(annotation: string): boolean {
  return annotation.startsWith(kubeletPrefix) || annotation.startsWith(parameterPrefix);
}
