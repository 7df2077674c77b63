/** Runs one test file of a working copy, with the permissions that its group has. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { groups } from "../run/groups.ts";

const limitMs = 5 * 60_000;

/** The result of a run of a test file. */
export interface Run {
  /** The JUnit report that Deno writes; undefined when no test began, as after a syntax error. */
  junit: string | undefined;
  output: string;
  seconds: number;
}

/** Runs those tests of a file whose names contain one of `filters`; without filters all of them. */
export async function runTestFile(folder: string, file: string, filters: readonly string[]): Promise<Run> {
  const report = join(folder, "planted-junit.xml");
  rmSync(report, { force: true });
  const begun = performance.now();
  const filter = filters.length === 0 ? [] : [`--filter=/${filters.map(escaped).join("|")}/`];
  const command = new Deno.Command(Deno.execPath(), {
    // Deno does not check types here, because a fault may be a type error, and the tests have to catch the fault.
    args: [
      "test",
      "--no-check",
      "--node-modules-dir=manual",
      ...allowedTo(file),
      `--junit-path=${report}`,
      ...filter,
      file,
    ],
    cwd: folder,
    // Deno compiles the changed modules into a folder of the copy, which is deleted with the copy.
    env: { NO_COLOR: "1", DENO_DIR: join(folder, ".deno") },
    stdin: "null",
    signal: AbortSignal.timeout(limitMs),
  });
  const { stdout, stderr } = await command.output();
  const output = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
  const junit = existsSync(report) ? readFileSync(report, "utf8") : undefined;
  return { junit, output, seconds: (performance.now() - begun) / 1000 };
}

/** Returns the permission flags of the test group that has the file. */
export function allowedTo(file: string): readonly string[] {
  const group = Object.values(groups).find(({ paths }) => paths.some((path) => file.startsWith(`${path}/`)));
  if (!group) throw new Error(`Failed to run "${file}": it is in none of the groups of test/run/groups.ts`);
  return group.allow;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
