/** Whether the version of a profile follows its content. */
import semver from "semver";

/** Undefined when the new version may follow the old one; else why not. */
export function versionFault(before: string, after: string): string | undefined {
  if (before === after) return `it is still "${after}" though the spec changed; raise it`;
  // What was never a version, such as one with letters before the v, may be followed by anything.
  if (semver.valid(before) === null || semver.valid(after) === null) return undefined;
  return semver.gt(before, after) ? `it goes down from "${before}" to "${after}"; versions only rise` : undefined;
}
