/** Versions of Kubernetes such as "v1.36.1". */

const plain = /^v(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})$/;

/** Returns the version if it is only "v" and three numbers; "" otherwise, for example for "v1.36.1-rc.0". */
export function plainVersion(version: string): string {
  return plain.test(version) ? version : "";
}

/** Returns the plain version at the start of a version such as "v1.36.1+k3s1"; "" if there is none. */
export function plainStart(version: string): string {
  return plainVersion(/^v\d+\.\d+\.\d+/.exec(version)?.[0] ?? "");
}

/** Compares two plain versions; the result is negative if the first one is older. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [numbersOf(one), numbersOf(other)];
  return a.map((number, nth) => number - (b[nth] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

/** Returns the oldest of some versions; "" if one of them is "" (unknown), or if the list is empty. */
export function oldestOf(versions: readonly string[]): string {
  return versions.includes("") ? "" : versions.toSorted(compareVersions)[0] ?? "";
}

/**
 * Returns the major and minor version as one number that can be compared, for example of "1.36" or "v1.36.1-gke.7";
 * undefined for other text.
 */
export function minorOf(version: string): number | undefined {
  const [, major, minor] = /^v?(\d{1,4})\.(\d{1,4})(\D|$)/.exec(version) ?? [];
  return minor === undefined ? undefined : Number(major) * 10_000 + Number(minor);
}

function numbersOf(version: string): number[] {
  return version.replace(/^v/, "").split(".").map(Number);
}
