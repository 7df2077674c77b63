/** Hashes of everything that a rollout depends on, so that controller and workflow recognize the same changes. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../profiles/canonical_json.ts";
import { parameterPrefix } from "../../profiles/mod.ts";
import type { MachineDeployment } from "../kube/resources.ts";
import { profileAnnotation, profileNamespaceAnnotation } from "./identity.ts";
import { revisionAnnotation } from "../kube/machine_deployment.ts";
import type { LinedProfile } from "./profile_line.ts";

const kubeletPrefix = "v1.kubelet-config.machine-controller.kubermatic.io/";

/** The fields of a MachineDeployment whose change requires a rollout to reconcile. */
export interface Observable {
  metadata: Pick<MachineDeployment["metadata"], "uid" | "generation" | "annotations" | "deletionTimestamp">;
}

/** Returns only the observable fields of a MachineDeployment. */
export function observableOf({ metadata }: MachineDeployment): Observable {
  const { uid, generation, annotations = {}, deletionTimestamp } = metadata;
  const relevant = Object.fromEntries(Object.entries(annotations).filter(([key]) => isRelevant(key)));
  return { metadata: { uid, generation, annotations: relevant, deletionTimestamp } };
}

/**
 * Returns a short text that changes when, and only when, a rollout has to reconcile. `profileState` is the `lineState`
 * of the profile that the MachineDeployment uses.
 */
export function observedOf({ metadata }: Observable, profileState: number | string | undefined): string {
  const { uid, generation, annotations = {}, deletionTimestamp } = metadata;
  const relevant = Object.entries(annotations).filter(([key]) => isRelevant(key)).sort();
  const digest = short([uid, generation, relevant, profileState ?? "none", deletionTimestamp !== undefined]);
  return `g${generation ?? 0}-r${annotations[revisionAnnotation] ?? 0}-${digest}`;
}

/** Returns a hash of everything that decides what machines boot with; scaling does not change the hash. */
export function changeOf(deployment: MachineDeployment, profileState: number | string | undefined): string {
  const { uid, annotations = {} } = deployment.metadata;
  const relevant = Object.entries(annotations).filter(([key]) => isRelevant(key)).sort();
  return short([uid, relevant, profileState ?? "none"]);
}

/**
 * Returns a hash of a config's inputs besides the template: the profile, those that it extends, and the settings in
 * annotations. Equal content has an equal hash, so that a restored profile is recognized although its generation is
 * new.
 */
export function inputsOf(deployment: MachineDeployment, line: LinedProfile[]): string {
  const said = line.map(({ ref, object }) => object?.spec ?? ref.name);
  return short([settingsOf(deployment.metadata.annotations), said]);
}

/**
 * Returns the digest of a profile's spec, with which a RolloutPolicy approves the profile: the SHA-256 of its JSON
 * without spaces and with sorted keys, as `jq -cjS .spec` prints it.
 */
export function profileDigest(spec: unknown): string {
  return `sha256:${createHash("sha256").update(canonicalJson(spec ?? null)).digest("hex")}`;
}

/** Returns the annotations with machine settings. */
export function settingsOf(annotations: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => isSetting(key)));
}

/**
 * Returns the hash of a template and the hash of the other inputs as one text, which is equal for revisions with equal
 * content.
 */
export function specHashOf(template: unknown, inputs: string): string {
  return `${short(template ?? "none")}-${inputs}`;
}

/** Returns the hash of the inputs in a result of `specHashOf`; "" for any other text. */
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
