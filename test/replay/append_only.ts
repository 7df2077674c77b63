/** Finds recorded histories that were changed or removed: a run that began under an old release must replay. */
import { execFileSync } from "node:child_process";

/** Where the histories are, and the file that introduced the rule: earlier records count. */
export interface Kept {
  /** Root of the checkout. */
  root: string;
  /** Of the histories, from the root. */
  folder: string;
  /** A file of the same commit as the rule, from the root. */
  since: string;
}

/**
 * Returns the files that a commit, or the working tree, has changed or removed since the rule, each once. Undefined
 * when git cannot say: without a checkout, or without its history.
 */
export function rewrittenHistories({ root, folder, since }: Kept): string[] | undefined {
  const added = lines(root, "log", "--diff-filter=A", "--format=%H", "--", since);
  if (added === undefined || isShallow(root)) return undefined;
  const base = added.at(-1);
  const range = base === undefined ? [] : [`${base}..HEAD`];
  const wanted = ["--no-renames", "--diff-filter=MDT", "--name-only"];
  const committed = range.length === 0 ? [] : lines(root, "log", ...wanted, "--format=", ...range, "--", folder) ?? [];
  const standing = lines(root, "diff", ...wanted, "HEAD", "--", folder) ?? [];
  return [...new Set([...committed, ...standing])].sort();
}

function isShallow(root: string): boolean {
  return lines(root, "rev-parse", "--is-shallow-repository")?.[0] !== "false";
}

function lines(root: string, ...args: string[]): string[] | undefined {
  try {
    const output = execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return output.split("\n").filter((line) => line !== "");
  } catch {
    return undefined; // no git, or no checkout
  }
}
