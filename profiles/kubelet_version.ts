import { ProfileRefused } from "./refusal.ts";

/**
 * The minor versions of kubelets that Ostler's own profiles support: Ostler needs an API server of 1.33 or later, and
 * Kubernetes allows kubelets three minor versions older than the API server.
 */
export const supportedMinors = [30, 31, 32, 33, 34, 35, 36];

// SemVer 2.0, with an optional v, and with minor and patch optional.
const version = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/;

/** Returns "v1.36.1" for "1.36.1" and "v1.36.0" for "1.36"; throws ProfileRefused (KubeletVersionInvalid). */
export function normaliseKubeletVersion(text: string): string {
  const [match, major, minor = "0", patch = "0", prerelease, build] = version.exec(text.trim()) ?? [];
  const isBad = prerelease?.split(".").some((part) => /^$|^0\d+$/.test(part)) || build?.split(".").includes("");
  if (match === undefined || isBad) {
    throw new ProfileRefused(
      "KubeletVersionInvalid",
      `Invalid kubelet version "${text}": must be a version like 1.36.1`,
    );
  }
  const rest = (prerelease === undefined ? "" : `-${prerelease}`) + (build === undefined ? "" : `+${build}`);
  return `v${Number(major)}.${Number(minor)}.${Number(patch)}${rest}`;
}

/**
 * Normalises a version like `normaliseKubeletVersion`, and refuses versions that Ostler's own profiles do not support.
 */
export function supportedKubeletVersion(text: string): string {
  const normal = normaliseKubeletVersion(text);
  const [major, minor] = normal.slice(1).split(".").map(Number);
  if (major === 1 && minor !== undefined && supportedMinors.includes(minor)) return normal;
  const supported = `supported versions are 1.${supportedMinors[0]} to 1.${supportedMinors.at(-1)}`;
  throw new ProfileRefused("KubeletVersionInvalid", `Unsupported kubelet version "${text}": ${supported}`);
}

/** Returns whether a normalised version is a pre-release, such as "v1.36.0-rc.1". */
export function isPrerelease(normal: string): boolean {
  return /^[v\d.]+-/.test(normal);
}
