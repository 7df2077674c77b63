/** The source of a release: one commit, whose time is the time of all files in the archives of the release. */
import process from "node:process";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };
import { definedVariables } from "../local/tools/environment.ts";
import { runCommand } from "../local/tools/run_command.ts";

/** Folder of the checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Source {
  readonly version: string;
  readonly commit: string;
  /** Time of the commit in epoch seconds. */
  readonly time: number;
  /** Whether files differ from the commit. */
  readonly isChanged: boolean;
}

/** Reads the version and the commit of this checkout. */
export async function readSource(): Promise<Source> {
  const [commit = "", time = ""] = (await run("git", ["log", "-1", "--format=%H %ct"])).trim().split(" ");
  const isChanged = (await run("git", ["status", "--porcelain"])).trim() !== "";
  return { version: manifest.version, commit, time: Number(time), isChanged };
}

/** Runs a program, by default in the checkout, and returns its stdout; throws with the last lines of its output. */
export async function run(program: string, args: readonly string[], cwd: string = root): Promise<string> {
  const { code, stdout, lines } = await runCommand({ program, args, cwd, env: definedVariables(process.env) });
  if (code === 0) return stdout;
  const said = [...lines, ...stdout.split("\n")].map((line) => line.trim()).filter(Boolean).slice(-3).join("; ");
  throw new Error(`Failed to run "${program} ${args.slice(0, 2).join(" ")}": ${said || `exit code ${code}`}`);
}
