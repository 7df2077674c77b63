/** Versions of Kubernetes: only "vX.Y.Z", which is the form that kubeadm takes; any other text is unknown. */

/** A released version. */
export interface KubernetesVersion {
  major: number;
  minor: number;
  patch: number;
}

const strict = /^v(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$/;

/** Returns the version that the text names; undefined for a prerelease, a vendor's version, or anything else. */
export function versionIn(text: string): KubernetesVersion | undefined {
  const [, major, minor, patch] = strict.exec(text) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

/** Returns a negative number if `one` is older, 0 if both are the same, and a positive number if `one` is newer. */
export function compareVersions(one: KubernetesVersion, other: KubernetesVersion): number {
  return one.major - other.major || one.minor - other.minor || one.patch - other.patch;
}

/** Returns how many minor versions `newer` is above `older`; undefined if the major versions differ. */
export function minorsBetween(older: KubernetesVersion, newer: KubernetesVersion): number | undefined {
  return older.major === newer.major ? newer.minor - older.minor : undefined;
}
