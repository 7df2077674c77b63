// deno-lint-ignore-file no-console -- this program prints a table
/** Plants each fault in a copy of the working tree, runs the test that has to catch it, and prints a table. */
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { plainTable } from "../../cli/view/plain_table.ts";
import { type CatchingTest, type Fault, faults } from "./faults.ts";
import { type Run, runTestFile } from "./run_test_file.ts";
import { reasonAgainst, type Verdict, verdictOf } from "./verdict.ts";
import { WorkingCopy } from "./working_copy.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const help = `Usage: deno run --allow-all test/planted/main.ts [flags]

Plants each fault of test/planted/faults.ts in a copy of the working tree and runs the test that has to catch it.
Ends with code 1 unless all are caught.

Flags:
  --only TEXT    Plant only faults whose name contains TEXT
  -o, --output   Format: table or json (default table)
  -h, --help     Print this help`;

interface Result {
  fault: Fault;
  seconds: number;
  verdict: Verdict;
}

/** Runs the catching tests without a fault; returns the runs by file. */
async function runWithoutFault(folder: string, chosen: readonly Fault[]): Promise<Map<string, Run>> {
  const runs = new Map<string, Run>();
  for (const [file, tests = []] of Object.entries(Object.groupBy(chosen, ({ caughtBy }) => caughtBy.file))) {
    const filters = tests.map(({ caughtBy }) => caughtBy.filter);
    const named = filters.filter((filter) => filter !== undefined);
    const run = await runTestFile(folder, file, named.length < filters.length ? [] : [...new Set(named)]);
    runs.set(file, run);
    console.error(`without a fault: ${file} in ${run.seconds.toFixed(1)} s`);
  }
  return runs;
}

async function tryFault(copy: WorkingCopy, fault: Fault, sound: Run | undefined): Promise<Result> {
  const { file, filter } = fault.caughtBy;
  const why = sound && reasonAgainst(fault.caughtBy, sound);
  if (why !== undefined) return { fault, seconds: 0, verdict: { is: "Unusable", why } };
  using _ = copy.plant(fault);
  const run = await runTestFile(copy.folder, file, filter === undefined ? [] : [filter]);
  return { fault, seconds: run.seconds, verdict: verdictOf(run) };
}

async function tryAll(chosen: readonly Fault[]): Promise<Result[]> {
  using copy = await WorkingCopy.of(root);
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, () => endEarly(copy));
  // Plants and removes each fault first: a fault that does not match the code any more is reported before minutes of
  // tests.
  for (const fault of chosen) copy.plant(fault)[Symbol.dispose]();
  const sound = await runWithoutFault(copy.folder, chosen);
  const results: Result[] = [];
  for (const fault of chosen) {
    const result = await tryFault(copy, fault, sound.get(fault.caughtBy.file));
    results.push(result);
    console.error(`${result.verdict.is.toLowerCase()}: ${fault.name} in ${result.seconds.toFixed(1)} s`);
  }
  return results;
}

// The test that runs is in the same process group, and is interrupted with this process.
function endEarly(copy: WorkingCopy): never {
  copy[Symbol.dispose]();
  Deno.exit(130);
}

function testName({ file, filter }: CatchingTest): string {
  return filter === undefined ? file : `${file}: ${filter}`;
}

function caughtText(verdict: Verdict): string {
  return verdict.is === "Caught" ? "yes" : `no: ${verdict.why}`;
}

function tableOf(results: readonly Result[]): string {
  const rows = results.map(({ fault, seconds, verdict }) => [
    fault.name,
    testName(fault.caughtBy),
    seconds.toFixed(1),
    caughtText(verdict),
  ]);
  return plainTable(rows, ["FAULT", "TEST THAT CATCHES IT", "SECONDS", "CAUGHT"]);
}

function jsonOf(results: readonly Result[]): string {
  return JSON.stringify(
    results.map(({ fault: { name, file, caughtBy }, seconds, verdict }) => ({
      ...{ fault: name, file, test: caughtBy.file, filter: caughtBy.filter ?? "" },
      ...{ seconds: Number(seconds.toFixed(1)), caught: verdict.is === "Caught" },
      ...(verdict.is === "Caught" ? {} : { why: verdict.why }),
    })),
    undefined,
    2,
  );
}

async function main(args: string[]): Promise<number> {
  const { values: { only = "", output, help: isHelp } } = parseArgs({
    args,
    options: {
      only: { type: "string" },
      output: { type: "string", short: "o", default: "table" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (isHelp) {
    console.log(help);
    return 0;
  }
  const chosen = faults.filter(({ name }) => name.includes(only));
  if (chosen.length === 0 || !["table", "json"].includes(output)) {
    console.error(chosen.length === 0 ? `No fault has "${only}" in its name` : `Unknown format "${output}"\n\n${help}`);
    return 2;
  }
  const results = await tryAll(chosen);
  const caught = results.filter(({ verdict }) => verdict.is === "Caught").length;
  console.log(output === "json" ? jsonOf(results) : tableOf(results));
  console.error(`${caught} of ${results.length} planted faults were caught`);
  return caught === results.length ? 0 : 1;
}

if (import.meta.main) {
  Deno.exit(
    await main(Deno.args).catch((error: Error) => {
      console.error(error.message);
      return 1;
    }),
  );
}
