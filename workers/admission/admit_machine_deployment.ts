/** Validates MachineDeployments: refuses what can never be rendered, and sets the default profile if none is named. */
import { isDeepStrictEqual } from "node:util";
import { profileAnnotation, profileNamespaceAnnotation } from "../../activities/config/identity.ts";
import { unavailableOf } from "../../activities/kube/machine_deployment.ts";
import type { ObjectName } from "../../activities/kube/resources.ts";
import {
  checkNetworkFits,
  defaultProfileName,
  normaliseKubeletVersion,
  parseKubeletAnnotations,
  parseProviderConfig,
  ProfileRefused,
  type ProviderConfig,
  withoutEffect,
} from "../../profiles/mod.ts";
import {
  type Admission,
  type AdmissionRequest,
  denied,
  type KubeObject,
  type PatchStep,
  unknownOperation,
  type Verdict,
} from "./admission_review.ts";
import { z } from "zod";
import { groupOfPool, nodePoolOf } from "../../workflows/commands/start_options.ts";
import { counted } from "../../workflows/policy/counted.ts";

interface MachineDeploymentAdmission {
  /** Default namespace of profiles. */
  profileNamespace: string;
  /** Returns the spec of a profile; undefined if it does not exist. */
  specOf: (profile: ObjectName) => Promise<unknown>;
}

/** Validates requests on /mutate-v1alpha1-machinedeployment. */
export function admitMachineDeployment(context: MachineDeploymentAdmission): Admission {
  return async (request) => {
    const { operation, object, oldObject } = request;
    if (operation === "DELETE") return {};
    if (!object || !["CREATE", "UPDATE"].includes(operation)) return unknownOperation(request);
    // Finalizers must be removable from any object, even an invalid one.
    if (object.metadata.deletionTimestamp) return {};
    if (operation === "CREATE" && isNameOfOtherKind(request)) return denied([nameTaken(request)]);
    const { template, faults: invalid } = readPoolTemplate(object, subjectOf(request));
    const ofKubelet = kubeletFaultsOf(object);
    const known = oldObject ? kubeletFaultsOf(oldObject) : [];
    const faults = [...invalid, ...ofKubelet.filter((fault) => !known.includes(fault))];
    // Go templates accept more settings than this check, so one that was there before must not block other changes,
    // such as those of Ostler and machine-controller during a rollout.
    const old = ofKubelet.filter((fault) => known.includes(fault));
    // Faults that existed before must not prevent changes of labels, replicas or status.
    if (faults.length > 0) {
      return oldObject && isUntouched(object, oldObject) ? { warnings: [...faults, ...old] } : denied(faults);
    }
    const before = oldObject && readPoolTemplate(oldObject, "");
    const verdict = await chooseProfile(
      { object, template, before: before?.faults.length === 0 ? before.template : undefined },
      context,
    );
    return withWarnings(verdict, [...old, ...template.warnings, ...unpacedBy(object)]);
  };
}

const Amount = z.union([z.number(), z.string()]).nullish();
const Size = z.object({
  replicas: z.number().nullish(),
  strategy: z.object({ rollingUpdate: z.object({ maxSurge: Amount, maxUnavailable: Amount }).nullish() }).nullish(),
});

/**
 * Returns a warning if machine-controller removes machines by itself when the template changes. Ostler cannot delay
 * that, and then admits new machines for the removed ones at any time, because the pool lacks machines.
 */
function unpacedBy({ spec }: KubeObject): string[] {
  const { replicas, strategy } = Size.safeParse(spec).data ?? {};
  // A pool without machines may be scaled up later.
  const count = unavailableOf(strategy?.rollingUpdate ?? {}, Math.max(1, replicas ?? 1));
  if (!(count > 0)) return [];
  return [
    `machine-controller removes ${counted(count, "machine")} at once when the template changes, and continues as new ` +
    "machines join: windows, waves, approvals, budget and drain rules of a RolloutPolicy do not apply; " +
    "set maxUnavailable to 0 and maxSurge to at least 1",
  ];
}

/** Returns whether a new MachineDeployment gets a name that Rollouts of ScalingGroups or NodePools have. */
function isNameOfOtherKind({ namespace, name, object }: AdmissionRequest): boolean {
  const pool = { namespace: namespace ?? object?.metadata.namespace ?? "", name: name || object?.metadata.name || "" };
  return groupOfPool(pool) !== undefined || nodePoolOf(pool) !== undefined;
}

function nameTaken(request: AdmissionRequest): string {
  const subject = subjectOf(request);
  const prefix = subject.slice(subject.indexOf("/") + 1, subject.indexOf(".") + 1);
  return `Failed to create MachineDeployment "${subject}": only Rollouts of ScalingGroups and NodePools have names that ` +
    `begin with "${prefix}"; choose another name`;
}

function withWarnings(verdict: Verdict, more: readonly string[]): Verdict {
  const { warnings = [] } = verdict;
  return more.length > 0 ? { ...verdict, warnings: [...warnings, ...more] } : verdict;
}

interface Change {
  object: KubeObject;
  template: PoolTemplate;
  /** The template of the old object; undefined for a new object, and if the old object is invalid. */
  before: PoolTemplate | undefined;
}

async function chooseProfile(change: Change, context: MachineDeploymentAdmission): Promise<Verdict> {
  const { object, template: { provider, profile }, before } = change;
  const name = defaultProfileName(provider);
  if (!profile) return name ? { patch: annotate(object, name) } : denied([noDefault(provider)]);
  const isSystemChanged = before && before.provider.operatingSystem !== provider.operatingSystem;
  if (!isSystemChanged || before.profile !== profile) return {};
  if (profile === defaultProfileName(before.provider) && name) {
    return {
      patch: annotate(object, name),
      warnings: [`profile "${profile}" was replaced by "${name}", because the operating system changed`],
    };
  }
  return await keepProfile(change, context);
}

/**
 * Accepts a changed operating system if the profile that the annotation still names supports it; otherwise denies the
 * change.
 */
async function keepProfile(
  { object, template: { provider, profile }, before }: Change,
  { profileNamespace, specOf }: MachineDeploymentAdmission,
): Promise<Verdict> {
  const namespace = object.metadata.annotations?.[profileNamespaceAnnotation] || profileNamespace;
  const spec = await specOf({ namespace, name: profile }) as { osName?: string } | undefined;
  if (spec?.osName === provider.operatingSystem) return {};
  const systems = `from "${before?.provider.operatingSystem}" to "${provider.operatingSystem}"`;
  const cure = `set annotation "${profileAnnotation}" to a profile for "${provider.operatingSystem}", or remove it`;
  return denied([
    `Failed to change the operating system ${systems}: profile "${profile}" does not support it; ${cure}`,
  ]);
}

function noDefault({ operatingSystem, cloudProvider }: ProviderConfig): string {
  const what = `Failed to choose a profile for "${operatingSystem}" on "${cloudProvider}"`;
  if (operatingSystem === "flatcar") {
    return `${what}: the provider does not support Ignition; set operatingSystemSpec.provisioningUtility to cloud-init`;
  }
  return `${what}: no default profile; set annotation "${profileAnnotation}" to a profile`;
}

/** Returns a patch that sets only the annotation with the profile. */
function annotate({ metadata }: KubeObject, name: string): PatchStep[] {
  if (!metadata.annotations) {
    return [{ op: "add", path: "/metadata/annotations", value: { [profileAnnotation]: name } }];
  }
  return [{ op: "add", path: `/metadata/annotations/${profileAnnotation.replaceAll("/", "~1")}`, value: name }];
}

function isUntouched(object: KubeObject, old: KubeObject): boolean {
  const judged = ({ metadata, spec }: KubeObject): unknown => [metadata.annotations ?? {}, spec?.["template"]];
  return isDeepStrictEqual(judged(object), judged(old));
}

function subjectOf({ namespace, name, object }: AdmissionRequest): string {
  return `${namespace ?? object?.metadata.namespace}/${name || object?.metadata.name || "new"}`;
}

// Reads the template of a MachineDeployment, and reports its faults.

/** The part of a template that decides about the profile. */
interface PoolTemplate {
  provider: ProviderConfig;
  /** "" if the annotation is missing. */
  profile: string;
  /** Warnings about fields without effect. */
  warnings: string[];
}

const Template = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()).optional().catch({}) }).loose().optional().catch(
    {},
  ),
  spec: z.object({
    versions: z.object({ kubelet: z.string().default("") }).loose().default({ kubelet: "" }),
    providerSpec: z.object({ value: z.unknown() }).loose().default({ value: undefined }),
  }).loose(),
}).loose();

/** Reads a MachineDeployment; `template` is valid only without faults, and `subject` names the object in messages. */
function readPoolTemplate(
  { metadata, spec }: KubeObject,
  subject: string,
): { template: PoolTemplate; faults: string[] } {
  const annotations = metadata.annotations ?? {};
  const { metadata: written, spec: { versions, providerSpec } } = Template.catch({
    spec: { versions: { kubelet: "" }, providerSpec: { value: undefined } },
  }).parse(spec?.["template"]);
  const nothing: ProviderConfig = { operatingSystem: "", cloudProvider: "" };
  let provider = nothing;
  let warnings: string[] = [];
  const faults = [
    () => void (provider = parseProviderConfig(providerSpec.value, subject)),
    () => void checkNetworkFits(provider),
    () => void normaliseKubeletVersion(versions.kubelet),
    () => void (warnings = withoutEffect({ templateAnnotations: written?.annotations ?? {}, provider })),
  ].flatMap(faultOf);
  return { template: { provider, profile: annotations[profileAnnotation] ?? "", warnings }, faults };
}

/** Returns why the kubelet settings in the annotations are invalid; empty if they are valid. */
function kubeletFaultsOf({ metadata }: KubeObject): string[] {
  return faultOf(() => void parseKubeletAnnotations(metadata.annotations ?? {}));
}

function faultOf(check: () => void): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof ProfileRefused) return [error.message];
    throw error;
  }
}
