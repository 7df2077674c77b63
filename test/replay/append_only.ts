/** Finds recorded histories that were changed or removed: a run that began under an old release must replay. */
import { execFileSync } from "node:child_process";

/** The folder of the histories, and a file that was added together with the rule that histories never change. */
export interface Kept {
  /** Root of the checkout. */
  root: string;
  /** Path of the folder with the histories, from the root. */
  folder: string;
  /** Path of a file that the commit which introduced the rule has added, from the root. */
  since: string;
}

/**
 * Returns the histories that a commit after the rule, or the working tree, has changed or removed, each once. Returns
 * undefined when git cannot compare them: without a checkout, or without its complete history.
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
