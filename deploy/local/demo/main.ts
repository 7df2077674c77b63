// Entry point: plays the story of the demo, and exits with a code that `--help` explains.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Demo, runDemo } from "./demo.ts";
import { type Course, type Ending, endingOf, explain } from "./ending.ts";
import { onInterruption, onMishap } from "./interruption.ts";
import { createNarrator, type Narrator } from "./narrator.ts";
import { type DemoOptions, parseOptions, usage, UsageError } from "./options.ts";
import { Waits } from "./waits.ts";

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options.help) {
    await print(usage);
    return 0;
  }
  const narrator = createNarrator(options.json ? process.stderr : process.stdout);
  const course = await play(options, narrator);
  const ending = endingOf(course);
  if (!ending.keepsDirectory) await rm(course.directory, { recursive: true, force: true, maxRetries: 3 });
  narrator.say(ending.text);
  if (options.json) await printJson(ending);
  return ending.exitCode;
}

async function play(options: DemoOptions, narrator: Narrator): Promise<Course> {
  const { seed, replicas, story } = options;
  const title = story === undefined ? `Rollout of ${replicas} machines` : `Story "${story}"`;
  narrator.say(`${title}, seed ${seed}`);
  const waits = new Waits();
  onInterruption((interruption) => waits.end(interruption));
  onMishap((failure) => waits.end(failure));
  const directory = await mkdtemp(join(tmpdir(), "ostler-demo-"));
  let report: Course["report"];
  const onReport: Demo["onReport"] = async (received) => {
    report = received;
    if (options.json) await print(`${JSON.stringify(received)}\n`);
  };
  try {
    await runDemo({ options, narrator, waits, directory, onReport });
    return { seed, replicas, directory, report, failure: undefined };
  } catch (error) {
    // If a signal such as SIGINT, a crash or the time limit ended the demo, this error is only a consequence, so the
    // reason of the end is reported instead.
    const failure: unknown = waits.signal.aborted ? waits.signal.reason : error;
    return { seed, replicas, directory, report, failure };
  }
}

async function printJson({ json }: Ending): Promise<void> {
  if (json !== undefined) await print(`${JSON.stringify(json)}\n`);
}

function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
}
