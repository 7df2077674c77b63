/** Stories of the demo on the real machine-controller. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { simulatedGround } from "../../../deploy/local/demo/ground.ts";
import { imageNodes } from "../../../deploy/local/demo/images_ground.ts";
import { PlainNarrator } from "../../../deploy/local/demo/narrator.ts";
import { parseOptions } from "../../../deploy/local/demo/options.ts";
import { Waits } from "../../../deploy/local/demo/waits.ts";
import { storyOf } from "../../../deploy/local/demo/stories/catalogue.ts";
import { playStory } from "../../../deploy/local/demo/stories/play_story.ts";
import type { StoryName } from "../../../deploy/local/demo/stories/story_names.ts";
import { inSharedWorld } from "../shared_world.ts";

const secondsForAStory = 600;
const root = fileURLToPath(new URL("../../../", import.meta.url));

interface Report {
  ok: boolean;
  story: string;
  checks: { name: string; ok: boolean; detail: string }[];
}

/** Registers the test of one story, which runs on the site that this process shares. */
export function testStory(name: StoryName): void {
  // The resources of the site outlive the test that started it.
  const fn = (): Promise<void> => playsWell(name);
  const title = `story ${name} of the demo: every promise that it checks is kept`;
  Deno.test({ name: title, sanitizeOps: false, sanitizeResources: false, fn });
}

async function playsWell(name: StoryName): Promise<void> {
  const ground = name === "in-place" ? imageNodes() : simulatedGround;
  const { script = {} } = storyOf(name, "simulated");
  const lines: string[] = [];
  try {
    await inSharedWorld({ seed: 5, script, settings: { ...ground.images?.settings } }, async ({ site }) => {
      const waits = new Waits();
      waits.limit(secondsForAStory);
      const options = { ...parseOptions(["--story", name, "--seed", "5"]), story: name };
      const narrator = new PlainNarrator((line) => void lines.push(line));
      const report = await playStory({ name, options, narrator, waits, site, ground });
      waits.unlimit();
      judge(name, report, lines);
    });
  } finally {
    await ground.stop();
  }
}

function judge(story: string, report: Report, lines: readonly string[]): void {
  const broken = report.checks.filter(({ ok }) => !ok);
  const told = broken.map(({ name, detail }) => `${name}: ${detail}`).join("\n");
  assert.equal(broken.length, 0, `Broke these promises:\n${told}\n\n${lines.slice(-40).join("\n")}`);
  assert.ok(report.checks.length >= 8, `Made only ${report.checks.length} checks`);
  assert.deepEqual([report.ok, report.story], [true, story]);
}

interface Telling {
  /** Flags of the command in addition to the story's name. */
  flags?: readonly string[];
  minutes?: number;
}

/** Runs a story to its end as a person does, with `deno task demo`; rejects when one of its promises was broken. */
export async function keepsPromises(story: StoryName, telling: Telling = {}): Promise<void> {
  judge(story, await tell(story, telling), []);
}

// A story with a broken promise exits with code 1, and its report names the promise.
async function tell(story: string, { flags = [], minutes = 10 }: Telling): Promise<Report> {
  const args = ["task", "demo", "--json", "--story", story, "--seed", "5", ...flags];
  const options = { cwd: root, timeout: minutes * 60_000, maxBuffer: 16 * 1024 * 1024 };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, options)
    .catch((error: { stdout?: string; stderr?: string }) => ({
      stdout: error.stdout ?? "",
      stderr: error.stderr ?? "",
    }));
  const last = stdout.trim().split("\n").at(-1) ?? "";
  assert.ok(last.startsWith("{"), `The story printed no report; its output was:\n${stderr.slice(-4000)}`);
  const report = JSON.parse(last) as Report;
  // The report of a story that could not end has only the cause.
  assert.ok("checks" in report, `${last}\n${stderr.slice(-4000)}`);
  return report;
}
