import { ProfileRefused } from "./refusal.ts";

/** The Kubernetes minors that our profiles are written for. */
export const supportedMinors = [33, 34, 35, 36];

// SemVer 2.0, with an optional v, and with minor and patch optional.
const version = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/;

/** Gives "v1.36.1" for "1.36.1" and "v1.36.0" for "1.36"; throws ProfileRefused (KubeletVersionInvalid) for what is no version. */
export function normaliseKubeletVersion(text: string): string {
  const [match, major, minor = "0", patch = "0", prerelease, build] = version.exec(text.trim()) ?? [];
  const isBad = prerelease?.split(".").some((part) => /^$|^0\d+$/.test(part)) || build?.split(".").includes("");
  if (match === undefined || isBad) {
    const state = text === "" ? "none is given" : "it is no version";
    throw new ProfileRefused("KubeletVersionInvalid", `Cannot use kubelet version "${text}": ${state}`);
  }
  const rest = (prerelease === undefined ? "" : `-${prerelease}`) + (build === undefined ? "" : `+${build}`);
  return `v${Number(major)}.${Number(minor)}.${Number(patch)}${rest}`;
}

/** The same, refusing also what our own profiles are not written for. */
export function supportedKubeletVersion(text: string): string {
  const normal = normaliseKubeletVersion(text);
  const [major, minor] = normal.slice(1).split(".").map(Number);
  if (major === 1 && minor !== undefined && supportedMinors.includes(minor)) return normal;
  const supported = `supported are 1.${supportedMinors[0]} to 1.${supportedMinors.at(-1)}`;
  throw new ProfileRefused("KubeletVersionInvalid", `Cannot use kubelet version "${text}": ${supported}`);
}

/** Whether a normal version comes before its release, as "v1.36.0-rc.1" does. */
export function isPrerelease(normal: string): boolean {
  return /^[v\d.]+-/.test(normal);
}
