/** A copy of the working tree in a temporary folder: faults are planted there, and the repository is unchanged. */
import { execFile } from "node:child_process";
import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Fault } from "./faults.ts";

export class WorkingCopy implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "ostler-planted-"));

  /** Copies what Git tracks or would track; the npm packages are those of the repository. */
  static async of(root: string): Promise<WorkingCopy> {
    const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const { stdout } = await promisify(execFile)("git", args, { cwd: root, maxBuffer: 2 ** 26 });
    const copy = new WorkingCopy();
    try {
      for (const file of stdout.split("\0").filter(Boolean)) copyFile(join(root, file), join(copy.folder, file));
      symlinkSync(join(root, "node_modules"), join(copy.folder, "node_modules"));
      return copy;
    } catch (error) {
      copy[Symbol.dispose]();
      throw error;
    }
  }

  /** Plants a fault, until the result is disposed of. */
  plant({ file, from, to }: Pick<Fault, "file" | "from" | "to">): Disposable {
    const path = join(this.folder, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, planted(text, { file, from, to }));
    return { [Symbol.dispose]: (): void => writeFileSync(path, text) };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Copies a file or a symbolic link; Git also lists files that were deleted and not committed. */
function copyFile(from: string, to: string): void {
  const found = lstatSync(from, { throwIfNoEntry: false });
  if (!found) return;
  mkdirSync(dirname(to), { recursive: true });
  if (found.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else copyFileSync(from, to);
}

/** Returns the text with the fault; throws unless the text contains `from` exactly once. */
export function planted(text: string, { file, from, to }: Pick<Fault, "file" | "from" | "to">): string {
  const parts = text.split(from);
  if (parts.length !== 2) {
    const state = `its text is there ${parts.length - 1} times, and must be there once; correct test/planted/faults.ts`;
    throw new Error(`Failed to plant a fault in "${file}": ${state}: ${from}`);
  }
  return parts.join(to);
}
