/** A story of the demo on the real machine-controller, as a person runs it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { StoryName } from "../../../deploy/local/demo/stories/story_names.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

interface Report {
  ok: boolean;
  story: string;
  checks: { name: string; ok: boolean; detail: string }[];
}

/** Registers the test of one story; each has a file, so that stories are told side by side. */
export function testStory(story: StoryName): void {
  Deno.test(`deno task demo --story ${story} keeps every promise that it checks`, () => keepsPromises(story));
}

interface Telling {
  /** Beside the story's name. */
  flags?: readonly string[];
  minutes?: number;
}

/** Tells a story to its end; rejects when a promise of it was broken. */
export async function keepsPromises(story: StoryName, telling: Telling = {}): Promise<void> {
  const report = await tell(story, telling);
  const broken = report.checks.filter(({ ok }) => !ok);
  assert.deepEqual(broken, []);
  assert.ok(report.checks.length >= 8, `Only ${report.checks.length} checks were made`);
  assert.deepEqual([report.ok, report.story], [true, story]);
}

// A story whose promise was broken ends with code 1, and its report tells which.
async function tell(story: string, { flags = [], minutes = 10 }: Telling): Promise<Report> {
  const args = ["task", "demo", "--json", "--story", story, "--seed", "5", ...flags];
  const options = { cwd: root, timeout: minutes * 60_000, maxBuffer: 16 * 1024 * 1024 };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, options)
    .catch((error: { stdout?: string; stderr?: string }) => ({
      stdout: error.stdout ?? "",
      stderr: error.stderr ?? "",
    }));
  const last = stdout.trim().split("\n").at(-1) ?? "";
  assert.ok(last.startsWith("{"), `The story gave no report; it said:\n${stderr.slice(-4000)}`);
  return JSON.parse(last);
}
