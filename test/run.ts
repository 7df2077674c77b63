// deno-lint-ignore-file no-console -- saying what passed and what failed is this program's job
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** How many tests ended how; steps inside a test are not counted. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

interface Group {
  paths: string[];
  allow: string[];
  parallel: boolean;
  /** Each file in a process of its own: threads of Temporal's native client may outlive the file that started them, and crash. */
  alone?: boolean;
  /** For each process. */
  limitMinutes: number;
}

interface Exit {
  isSuccess: boolean;
  isStopped: boolean;
  note?: string;
}

interface Ending {
  counts: Counts;
  note: string;
}

const root = fileURLToPath(new URL("../", import.meta.url));

const noServer = [
  ...["--allow-read", "--allow-write", "--allow-env", "--allow-sys", "--allow-ffi", "--allow-run"],
  "--allow-net=127.0.0.1,localhost",
];

interface Step {
  args: string[];
  limitMinutes: number;
}

const steps: Record<string, Step> = {
  fmt: { args: ["fmt", "--check"], limitMinutes: 5 },
  lint: { args: ["lint"], limitMinutes: 5 },
  check: { args: ["check"], limitMinutes: 5 },
  packages: { args: ["run", "--allow-all", "test/validators/install_packages.ts"], limitMinutes: 10 },
  // Building them on a fresh machine takes longer than any test may.
  tools: { args: ["run", "--allow-all", "deploy/local/tools/main.ts"], limitMinutes: 45 },
};

const groups: Record<string, Group> = {
  unit: {
    paths: ["test/unit", "test/house_rules_test.ts", "test/run_test.ts"],
    allow: noServer,
    parallel: true,
    limitMinutes: 5,
  },
  golden: { paths: ["test/golden"], allow: noServer, parallel: true, limitMinutes: 5 },
  replay: { paths: ["test/replay"], allow: noServer, parallel: false, limitMinutes: 5 },
  // Missing checkers are built first, which takes the kubelet's code some minutes.
  validators: { paths: ["test/validators"], allow: ["--allow-all"], parallel: false, limitMinutes: 15 },
  workflow: { paths: ["test/workflow"], allow: ["--allow-all"], parallel: false, alone: true, limitMinutes: 20 },
  integration: { paths: ["test/integration"], allow: ["--allow-all"], parallel: false, alone: true, limitMinutes: 40 },
  chaos: { paths: ["test/chaos"], allow: ["--allow-all"], parallel: false, alone: true, limitMinutes: 240 },
};

const nothing: Counts = { passed: 0, failed: 0, skipped: 0 };
const oneFailed: Counts = { ...nothing, failed: 1 };

/** Counts the tests of a JUnit report that `deno test` wrote. */
export function countTests(junit: string): Counts {
  const counts = { ...nothing };
  for (const [, suite = ""] of junit.matchAll(/<testsuite (.*?)<\/testsuite>/gs)) {
    const tests: string[] = [];
    for (const [, name = "", body = ""] of suite.matchAll(/<testcase name="([^"]*)".*?>(.*?)<\/testcase>/gs)) {
      if (tests.some((test) => name.startsWith(`${test} &gt; `))) continue;
      tests.push(name);
      counts[body.includes("<failure") ? "failed" : body.includes("<skipped") ? "skipped" : "passed"]++;
    }
  }
  return counts;
}

/** Judges one `deno test` by its exit and its report: a run that failed anywhere never counts as green. */
export function judgeTests(isSuccess: boolean, junit: string | undefined): Counts {
  if (junit === undefined) return oneFailed;
  const counts = countTests(junit);
  return isSuccess || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

/** The last line of a run, in the form that a CI counts. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** The sum of many counts. */
export function total(all: Counts[]): Counts {
  return all.reduce((sum, one) => ({
    passed: sum.passed + one.passed,
    failed: sum.failed + one.failed,
    skipped: sum.skipped + one.skipped,
  }), nothing);
}

let leader: number | undefined;

/** Signals the running child and all that it started; false when none of them is left. */
function signalAll(signal: NodeJS.Signals | 0): boolean {
  try {
    return leader !== undefined && process.kill(-leader, signal);
  } catch {
    return false;
  }
}

async function endAll(signal: NodeJS.Signals): Promise<void> {
  const deadline = Date.now() + 10_000;
  let isAlive = signalAll(signal);
  while (isAlive && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    isAlive = signalAll(0);
  }
  signalAll("SIGKILL");
}

let isInterrupted = false;

function interrupt(): void {
  if (isInterrupted) return;
  console.error("interrupted: stopping what was started");
  isInterrupted = true;
  void endAll("SIGINT");
}

/** Runs deno as the leader of its own process group, so that nothing it starts can outlive it. */
async function runDeno(args: string[], limitMinutes: number): Promise<Exit> {
  const child = new Deno.Command(Deno.execPath(), { args, cwd: root, stdin: "null", detached: true }).spawn();
  leader = child.pid;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void endAll("SIGINT");
  }, limitMinutes * 60_000);
  const status = await child.status;
  clearTimeout(timer);
  await endAll("SIGTERM");
  leader = undefined;
  if (isLate) return { isSuccess: false, isStopped: true, note: `stopped after ${limitMinutes} minutes` };
  if (isInterrupted) return { isSuccess: false, isStopped: true, note: "interrupted" };
  if (status.success) return { isSuccess: true, isStopped: false };
  return { isSuccess: false, isStopped: false, note: `exit ${status.signal ?? status.code}` };
}

/** The test files of a path, which may be one itself, in order. */
function testFiles(path: string): string[] {
  if (!existsSync(join(root, path))) return [];
  if (path.endsWith("_test.ts")) return [path];
  const found = readdirSync(join(root, path), { recursive: true }).map(String);
  return found.filter((file) => file.endsWith("_test.ts")).sort().map((file) => join(path, file));
}

async function runStep({ args, limitMinutes }: Step): Promise<Ending> {
  const { isSuccess, note } = await runDeno(args, limitMinutes);
  return { counts: isSuccess ? nothing : oneFailed, note: note ?? "ok" };
}

async function runTests(group: Group, paths: string[], extra: string[]): Promise<Ending> {
  const folder = mkdtempSync(join(tmpdir(), "ostler-test-"));
  const report = join(folder, "junit.xml");
  try {
    const flags = [...group.allow, ...(group.parallel ? ["--parallel"] : []), `--junit-path=${report}`, ...extra];
    const { isSuccess, isStopped, note } = await runDeno(["test", ...flags, ...paths], group.limitMinutes);
    // A stopped run reports its pending tests as if they had passed.
    const junit = !isStopped && existsSync(report) ? readFileSync(report, "utf8") : undefined;
    return { counts: judgeTests(isSuccess, junit), note: note ?? "" };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function runGroup(group: Group, files: string[], extra: string[]): Promise<Ending> {
  const endings: Ending[] = [];
  for (const paths of group.alone ? files.map((file) => [file]) : [group.paths]) {
    if (!isInterrupted) endings.push(await runTests(group, paths, extra));
  }
  const counts = total(endings.map((ending) => ending.counts));
  const notes = new Set(endings.map(({ note }) => note).filter((note) => note !== ""));
  return { counts, note: [closingLine(counts), ...notes].join("; ") };
}

async function runNamed(name: string, extra: string[]): Promise<Ending | undefined> {
  const step = steps[name];
  const group = groups[name];
  const files = group?.paths.flatMap(testFiles) ?? [];
  if (step === undefined && files.length === 0) return undefined;
  console.log(`\n== ${name}`);
  if (step !== undefined) return await runStep(step);
  return group && await runGroup(group, files, extra);
}

async function main(args: string[]): Promise<number> {
  const first = args.findIndex((arg) => arg.startsWith("-"));
  const names = first < 0 ? args : args.slice(0, first);
  const extra = first < 0 ? [] : args.slice(first);
  const known = [...Object.keys(steps), ...Object.keys(groups)];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined || names.length === 0) {
    console.error(`Cannot run "${unknown ?? ""}": the groups are ${known.join(", ")}`);
    return 2;
  }
  const endings: Ending[] = [];
  const table: string[] = [];
  for (const name of names) {
    if (isInterrupted) break;
    const start = performance.now();
    const ending = await runNamed(name, names.includes("check") ? ["--no-check", ...extra] : extra);
    if (ending === undefined) continue;
    endings.push(ending);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    table.push(`${name.padEnd(12)}${seconds.padStart(7)} s  ${ending.note}`);
  }
  const counts = total(endings.map((ending) => ending.counts));
  console.log(`\n${table.join("\n")}\n\n${closingLine(counts)}`);
  if (isInterrupted) return 130;
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
}

if (import.meta.main) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupt);
  Deno.exit(await main(Deno.args));
}
