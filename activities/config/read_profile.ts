/**
 * Reads the profile and the settings of a MachineDeployment: the current ones, or while a rollback pins the pool to the
 * last good profile and settings, the copies that Ostler kept of those.
 */
import type { Cluster } from "../cluster.ts";
import { Shelf } from "../kube/cache.ts";
import {
  asGoReads,
  defaultProfileName,
  type OsProfile,
  parseProfile,
  ProfileRefused,
  ReferenceMissing,
  resolveProfile,
} from "../../profiles/mod.ts";
import type { RefusedType } from "../../workflows/contracts/mod.ts";
import { missing, refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import {
  type MachineDeployment,
  type ObjectName,
  type OsProfileObject,
  readObject,
  type RolloutPolicyObject,
  rollouts,
} from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";
import { inputsIn, inputsOf, observedOf, settingsOf } from "./observed.ts";
import { memoryOf } from "../status/recall.ts";
import { pinnedInputs, pinOf } from "../status/pin.ts";
import { type LinedProfile, lineState, readProfileLine } from "./profile_line.ts";
import { readKeptProfile } from "./kept_profile.ts";
import { ownerOf, profileAnnotation, profileNamespaceAnnotation } from "./identity.ts";
import { z } from "zod";

export interface ProfileReader {
  kube: Cluster;
  profileNamespace: string;
  /** Maximum age (ms) of a profile that is reused without a new read; default 0. */
  freshMs?: number;
  /** The desired state, if the caller has read it already. */
  source?: Omit<ConfigSource, "policies">;
}

/** Hashes of the desired and of the last good spec, as read before the config was ordered; see `PublishOrder.seen`. */
export interface SeenInputs {
  specHash: string;
  goodSpecHash: string;
}

/** The inputs of a config besides the template. */
export interface Inputs {
  /** Hash of the inputs, as returned by `inputsOf`. */
  inputs: string;
  profile: OsProfile;
  settings: Record<string, string>;
  /** Hash of the inputs of the last good config, whose profile is kept; "" if there is none. */
  goodInputs: string;
  /** Identity of the desired state, as returned by `observedOf`. */
  observed: string;
  /** The profile objects that `profile` was merged from; empty for a kept profile, which has been published before. */
  line: readonly LinedProfile[];
}

/**
 * Reads the current inputs; for a pool that is pinned to its last good profile, the kept ones. Throws Refused if the
 * MachineDeployment names no profile or one that does not exist, if the profile is invalid, or if the last good profile
 * is not kept any more.
 */
export async function readInputs(
  reader: ProfileReader,
  deployment: MachineDeployment,
  seen?: SeenInputs,
): Promise<Inputs> {
  const { kube, profileNamespace, freshMs = 0, source } = reader;
  const ref = profileRef(deployment, profileNamespace);
  if (!ref) {
    throw refused(
      "ProfileMissing",
      `Failed to render the config of "${ownerOf(deployment.metadata)}": the MachineDeployment names no profile; ` +
        `set annotation ${profileAnnotation}`,
    );
  }
  const settings = settingsOf(deployment.metadata.annotations);
  const line = source?.line ?? await readProfileLine(kube, ref, freshMs);
  const observed = observedOf(deployment, lineState(line));
  const inputs = inputsOf(deployment, line);
  // The caller considered the pin of a rollback when it computed `seen`. So if `seen` contains the hash of the current
  // inputs, the pool is not pinned to its last good inputs.
  if (seen && inputsIn(seen.specHash) === inputs) {
    const goodInputs = inputsIn(seen.goodSpecHash);
    return await asRefusal(async () => {
      return { inputs, profile: await resolved(kube, line, deployment), settings, goodInputs, observed, line };
    });
  }
  const rollout = await ifFound(readObject(kube, rollouts, placeOf(deployment)));
  const goodInputs = inputsIn(memoryOf(rollout).lastGood?.specHash ?? "");
  const pinned = pinnedInputs(pinOf(rollout), inputs);
  return await asRefusal(async () => {
    if (pinned !== undefined) return { ...await readPinned(kube, deployment, pinned), goodInputs, observed, line: [] };
    return { inputs, profile: await resolved(kube, line, deployment), settings, goodInputs, observed, line };
  });
}

/** Reads the hash of the last good inputs from the Rollout; "" if there are none. */
export async function readGoodInputs(kube: Kube, { namespace, name }: ObjectName): Promise<string> {
  const rollout = await ifFound(readObject(kube, rollouts, { namespace, name }));
  return inputsIn(memoryOf(rollout).lastGood?.specHash ?? "");
}

function placeOf({ metadata: { namespace, name } }: MachineDeployment): ObjectName {
  return { namespace, name };
}

async function resolved(kube: Cluster, line: LinedProfile[], deployment: MachineDeployment): Promise<OsProfile> {
  const [first] = line;
  if (first?.object) return await resolvedProfile(kube, first.object, line);
  const state = `OperatingSystemProfile "${first?.ref.namespace}/${first?.ref.name}" does not exist`;
  throw refused("ProfileMissing", `Failed to render the config of "${ownerOf(deployment.metadata)}": ${state}`);
}

async function readPinned(
  kube: Kube,
  { metadata }: MachineDeployment,
  inputs: string,
): Promise<Omit<Inputs, "goodInputs" | "observed" | "line">> {
  const kept = await readKeptProfile(kube, metadata, inputs);
  if (kept) return { inputs, ...kept };
  const state = "the MachineDeployment was rolled back to its last good profile, which is not kept any more; " +
    "restore that OperatingSystemProfile by hand";
  throw refused("LastGoodMissing", `Failed to render the config of "${ownerOf(metadata)}": ${state}`);
}

/**
 * Converts the refusal of a profile into a failure that halts the rollout immediately, and a missing reference into one
 * that halts it after some retries; throws other errors unchanged.
 */
export async function asRefusal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProfileRefused) throw refused(error.reason satisfies RefusedType, error.message);
    if (error instanceof ReferenceMissing) throw missing(error.message);
    throw error;
  }
}

// The profile that a MachineDeployment names.

const Provider = z.object({
  operatingSystem: z.string(),
  cloudProvider: z.string(),
  operatingSystemSpec: z.unknown().optional(),
});

/**
 * Returns name and namespace of the profile that the annotations name; without them, of the default profile, so that no
 * MachineDeployment waits until a webhook has set the annotations. Undefined if its provider has no default profile.
 */
export function profileRef(
  deployment: MachineDeployment,
  defaultNamespace: string,
): { name: string; namespace: string } | undefined {
  const annotations = deployment.metadata.annotations ?? {};
  const name = annotations[profileAnnotation] || defaultOf(deployment);
  if (!name) return undefined;
  return { name, namespace: annotations[profileNamespaceAnnotation] || defaultNamespace };
}

function defaultOf({ spec }: MachineDeployment): string | undefined {
  const provider = Provider.safeParse(asGoReads(spec.template?.spec?.providerSpec?.value));
  return provider.success ? defaultProfileName(provider.data) : undefined;
}

// Profiles that are merged with all profiles that they extend: each is parsed once for all pools that use it.

/** Number of merged profiles that are kept: enough for a fleet; each takes as much memory as its profile objects. */
const resolvedLines = new Shelf<OsProfile>(16);

/**
 * Returns profile `first` merged with all that it extends, which `line` contains. The result must never be changed,
 * because other callers share it. Throws ProfileRefused for an invalid profile, or one that extends too many.
 */
export async function resolvedProfile(
  kube: Cluster,
  first: OsProfileObject,
  line: readonly LinedProfile[],
): Promise<OsProfile> {
  const key = lineKey(line);
  const kept = kube.cache.shelf(resolvedLines);
  const found = key === undefined ? undefined : kept.get(key);
  if (found) return found;
  const profile = await resolveProfile(parseProfile(first.spec), (name) => {
    const parent = line.find(({ ref }) => ref.name === name)?.object;
    return Promise.resolve(parent).then((object) => object && parseProfile(object.spec));
  });
  if (key !== undefined) kept.set(key, profile);
  return profile;
}

/** Returns a key that changes with any of the objects; undefined if any of them does not exist. */
function lineKey(line: readonly LinedProfile[]): string | undefined {
  const versions = line.map(({ object }) => object?.metadata.resourceVersion);
  if (versions.includes(undefined)) return undefined;
  return line.map(({ object }, nth) => `${object?.metadata.uid}@${versions[nth]}`).join(",");
}

/** The objects that a config is rendered from. */
export interface ConfigSource {
  deployment: MachineDeployment;
  /** The profile of the MachineDeployment, and those that it extends. */
  line: LinedProfile[];
  /** All RolloutPolicies of the pool's namespace. */
  policies: RolloutPolicyObject[];
  /** When the read of these objects began, on the clock of `performance.now()`. */
  since: number;
}
