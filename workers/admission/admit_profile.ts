/** Validates OperatingSystemProfiles: refuses what would break a MachineDeployment later, with file and line. */
import { isDeepStrictEqual } from "node:util";
import type { ObjectName } from "../../activities/kube/resources.ts";
import {
  type OsProfile,
  parseProfile,
  ProfileRefused,
  resolveProfile,
  type TemplateEngines,
  tryProfile,
  unknownProviders,
} from "../../profiles/mod.ts";
import { type Admission, type AdmissionRequest, denied, unknownOperation, type Verdict } from "./admission_review.ts";
import semver from "semver";

interface ProfileAdmission {
  /** Returns the spec of another profile; undefined if it does not exist. */
  specOf: (ref: ObjectName) => Promise<unknown>;
  /** User names of Ostler, which may decrease the version: an older release restores its own profiles. */
  trustedUsers: readonly string[];
  engines?: TemplateEngines;
}

/** Validates requests on /operatingsystemprofile. */
export function admitProfile(context: ProfileAdmission): Admission {
  return async (request, signal) => {
    const { operation, object, oldObject } = request;
    if (operation === "DELETE") return {};
    if (!object || !["CREATE", "UPDATE"].includes(operation)) return unknownOperation(request);
    if (oldObject && isDeepStrictEqual(object.spec, oldObject.spec)) return {};
    try {
      const profile = parseProfile(object.spec);
      const faults = [...unitFaults(profile), ...versionFaults(request, profile, context.trustedUsers)];
      return faults.length > 0 ? denied(faults) : await judgeTemplates(profile, request, { ...context, signal });
    } catch (error) {
      if (error instanceof ProfileRefused) return denied([error.message]);
      throw error;
    }
  };
}

async function judgeTemplates(
  profile: OsProfile,
  { namespace = "", name = "" }: AdmissionRequest,
  { specOf, engines, signal }: ProfileAdmission & { signal: AbortSignal },
): Promise<Verdict> {
  try {
    const whole = await resolveProfile(profile, async (parent) => {
      // If a profile extends itself, its spec is taken from the request, because the cluster has no spec or an old one.
      if (parent === name) return profile;
      const spec = await specOf({ namespace, name: parent });
      return spec === undefined ? undefined : parseProfile(spec);
    });
    const { faults, warnings: tried } = await tryProfile(whole, { signal, ...(engines ? { engines } : {}) });
    const warnings = [...unknownProviders(profile).map(({ message }) => message), ...tried];
    return faults.length > 0 ? denied(faults, warnings) : { warnings };
  } catch (error) {
    // A profile may be applied before the profile that it extends, for example from one folder.
    if (!(error instanceof ProfileRefused) || error.reason !== "ProfileMissing") throw error;
    return { warnings: [`${error.message}; the profile was not rendered`] };
  }
}

function unitFaults({ osName, bootstrapConfig, provisioningConfig }: OsProfile): string[] {
  const hasUnits = [bootstrapConfig, provisioningConfig].some(({ units = [] }) => units.length > 0);
  return hasUnits && osName !== "flatcar" ? [`Failed to use units for "${osName}": only flatcar supports them`] : [];
}

function versionFaults(
  { oldObject, userInfo }: AdmissionRequest,
  { version }: OsProfile,
  trustedUsers: readonly string[],
): string[] {
  const before = oldObject?.spec?.["version"];
  if (typeof before !== "string") return [];
  if (before !== version && trustedUsers.includes(userInfo.username)) return [];
  const fault = versionFault(before, version);
  return fault ? [`Failed to use this version of the profile: ${fault}`] : [];
}

// Checks whether the version of a profile changes with its content.

/** Returns why the new version must not follow the old one; undefined if it is allowed to. */
export function versionFault(before: string, after: string): string | undefined {
  if (before === after) return `the spec changed, but the version is still "${after}"; increase it`;
  // A version that is not a semantic version, such as one with letters before the v, may be followed by any other.
  if (semver.valid(before) === null || semver.valid(after) === null) return undefined;
  return semver.gt(before, after)
    ? `the version decreases from "${before}" to "${after}"; use a higher one`
    : undefined;
}
