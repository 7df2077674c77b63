/** Whether the version of a profile follows its content. */

/** Undefined when the new version may follow the old one; else why not. */
export function versionFault(before: string, after: string): string | undefined {
  if (before === after) return `it is still "${after}" though the spec changed; raise it`;
  const order = compareVersions(before, after);
  // What was never a version, such as one with letters before the v, may be followed by anything.
  return order !== undefined && order > 0
    ? `it goes down from "${before}" to "${after}"; versions only rise`
    : undefined;
}

/** Precedence by SemVer 2.0, section 11; undefined when one is no version. */
export function compareVersions(left: string, right: string): number | undefined {
  const [one, two] = [partsOf(left), partsOf(right)];
  if (!one || !two) return undefined;
  const core = one.core.map((number, at) => number - (two.core[at] ?? 0)).find((difference) => difference !== 0);
  if (core !== undefined) return core;
  if (one.pre.length === 0 || two.pre.length === 0) return two.pre.length - one.pre.length;
  const pre = one.pre.map((part, at) => comparePart(part, two.pre[at])).find((difference) => difference !== 0);
  return pre ?? one.pre.length - two.pre.length;
}

function partsOf(version: string): { core: number[]; pre: string[] } | undefined {
  const match = /^v(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/.exec(version);
  if (!match) return undefined;
  const [, major, minor, patch, pre] = match;
  return { core: [major, minor, patch].map(Number), pre: pre?.split(".") ?? [] };
}

function comparePart(left: string, right: string | undefined): number {
  if (right === undefined) return 1;
  const [isLeft, isRight] = [left, right].map((part) => /^\d+$/.test(part));
  if (isLeft && isRight) return Number(left) - Number(right);
  if (isLeft !== isRight) return isLeft ? -1 : 1;
  return left < right ? -1 : Number(left > right);
}
