/** Programs of other projects that check rendered texts, if they are on the PATH. */
import { spawn } from "node:child_process";
import { access, constants, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

/** A finding of a program; the line counts from 1. */
export interface OutsideFinding {
  line?: number;
  severity: "error" | "warning";
  message: string;
}

/** The supported programs, by command. */
export const outsideValidators = ["cloud-init", "shellcheck", "systemd-analyze"] as const;
export type OutsideValidator = typeof outsideValidators[number];

/** Returns whether a program is installed; `path` is the value of the variable PATH. */
export async function isInstalled(name: OutsideValidator, path: string): Promise<boolean> {
  const tries = path.split(delimiter).filter((folder) => folder !== "").map((folder) =>
    access(join(folder, name), constants.X_OK)
  );
  return (await Promise.allSettled(tries)).some(({ status }) => status === "fulfilled");
}

/** Checks user-data against the schema of cloud-init, which reports no lines. */
export async function checkCloudConfig(text: string, signal?: AbortSignal): Promise<OutsideFinding[]> {
  return await inFolder({ "user-data": text }, async (folder) => {
    const { code, output } = await run("cloud-init", ["schema", "--config-file", join(folder, "user-data")], {
      signal,
    });
    if (code === 0) return [];
    const lines = output.split("\n").map((line) => line.trim()).filter((line) => line !== "" && line !== "Error:");
    const message = lines.join(" ").replaceAll(/Cloud config schema \w+: /g, "").replace(
      `File ${folder}/user-data `,
      "it ",
    );
    return [{ severity: "error", message: message || `exit code ${code}` }];
  });
}

interface ShellComment {
  line: number;
  code: number;
  level: string;
  message: string;
}

/** Returns shellcheck's errors and warnings about a script, without notes on style. */
export async function checkScript(text: string, signal?: AbortSignal): Promise<OutsideFinding[]> {
  const { output } = await run("shellcheck", ["--format=json1", "--severity=warning", "-"], { stdin: text, signal });
  const comments = commentsIn(output);
  if (comments === undefined) return [{ severity: "error", message: "shellcheck did not finish" }];
  return comments.map(({ line, code, level, message }) => {
    return { line, severity: level === "error" ? "error" : "warning", message: `SC${code}: ${message}` };
  });
}

/**
 * Parses the output of shellcheck; returns undefined if the output is incomplete, because shellcheck was stopped or
 * printed too much.
 */
function commentsIn(output: string): ShellComment[] | undefined {
  try {
    return (JSON.parse(output) as { comments: ShellComment[] }).comments;
  } catch {
    return undefined;
  }
}

/** Returns whether a text is a script for a shell that shellcheck supports. */
export function isShellScript(text: string): boolean {
  return /^#!\s*\S*\/(env\s+)?(ba|da|k)?sh\b/.test(text);
}

// Errors about missing programs and units are ignored: machines have these programs from the config and these units
// from the image, but the computer that checks does not.
const notHere = /is not executable: No such file or directory|^(Failed to (load|create|add) .*|Unit \S+) not found/;

/**
 * Returns the warnings of `systemd-analyze verify` about units. `units` has their texts by path below
 * /etc/systemd/system, where a path with a slash is a drop-in.
 */
export async function checkUnits(
  units: Record<string, string>,
  signal?: AbortSignal,
): Promise<(OutsideFinding & { unit: string })[]> {
  return await inFolder(units, async (folder) => {
    const files = Object.keys(units).filter((name) => !name.includes("/")).map((name) => join(folder, name));
    if (files.length === 0) return [];
    const { output } = await run("systemd-analyze", ["verify", "--man=no", "--recursive-errors=no", ...files], {
      signal,
    });
    const said = output.split("\n").filter((line) => line !== "" && !notHere.test(line));
    return [...new Set(said)].flatMap((line) => {
      const [, path, number, message] = /^(\S+?):(\d+)?:? ?(.*)$/.exec(line) ?? [];
      const unit = path?.replace(`${folder}/`, "") ?? "";
      // systemd also reads the units of the computer that checks, which are not part of the profile.
      if (!Object.hasOwn(units, unit) || message === undefined) return [];
      return [{ unit, ...(number ? { line: Number(number) } : {}), severity: "warning" as const, message }];
    });
  });
}

async function inFolder<T>(files: Record<string, string>, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "ostler-check-"));
  try {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface RunOptions {
  stdin?: string;
  signal: AbortSignal | undefined;
}

/** Maximum characters of a program's output that are kept. */
const longestOutput = 4 * 1024 * 1024;

/** Runs a program to its end; `output` has both streams. Rejects with the signal's reason when the signal aborts. */
async function run(
  command: string,
  args: string[],
  { stdin = "", signal }: RunOptions,
): Promise<{ code: number | null; output: string }> {
  const running = new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    const child = spawn(command, args, { stdio: "pipe", timeout: 60_000, ...(signal ? { signal } : {}) });
    let output = "";
    const hear = (chunk: string): void => {
      if (output.length < longestOutput) output += chunk;
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    child.on("error", reject).on("close", (code) => resolve({ code, output }));
    child.stdin.on("error", () => {}).end(stdin);
  });
  return await running.catch((error) => {
    throw signal?.aborted ? signal.reason : error;
  });
}
