import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { busyBetween, coreSecondsBetween, parseCoreTime, parseTimes } from "./run/busy_cores.ts";
import { Children } from "./run/children.ts";
import { closingLine, countTests, failuresOf, judgeTests, secondsOfFiles } from "./run/counts.ts";
import { slowestLines, testsThat, total } from "./run/counts.ts";
import { groups, steps } from "./run/groups.ts";
import { keepTimes, readTimes } from "./run/kept_times.ts";
import { inLanes, type Job, portsOf } from "./run/lanes.ts";
import { filesOf, piecesOf, piecesOfGroup } from "./run/pieces.ts";
import { runPiece } from "./run/run_piece.ts";
import { eventually } from "./support/eventually.ts";

const junit = (cases: string): string => `<testsuites><testsuite name="a">${cases}</testsuite></testsuites>`;
const passed = (name: string): string => `<testcase name="${name}" line="1">\n</testcase>`;
const failed = (name: string): string => `<testcase name="${name}"><failure message="x">x</failure></testcase>`;
const skipped = (name: string): string => `<testcase name="${name}"><skipped/></testcase>`;

Deno.test("countTests: counts the passed, failed and skipped tests", () => {
  const report = junit(passed("a") + failed("b") + skipped("c") + passed("d"));
  assert.deepEqual(countTests(report), { passed: 2, failed: 1, skipped: 1 });
});

Deno.test("countTests: leaves out the steps inside a test", () => {
  const report = junit(failed("story") + passed("story &gt; one") + failed("story &gt; two") + passed("x &gt; y"));
  assert.deepEqual(countTests(report), { passed: 1, failed: 1, skipped: 0 });
});

Deno.test("countTests: leaves out steps that are reported before their test, or in another file", () => {
  const steps = passed("story &gt; one") + passed("story &gt; one &gt; deep");
  assert.deepEqual(countTests(junit(steps + passed("story"))), { passed: 1, failed: 0, skipped: 0 });
  assert.deepEqual(countTests(junit(passed("story")) + junit(steps)), { passed: 1, failed: 0, skipped: 0 });
});

Deno.test("failuresOf: names failed tests, their files and the errors of their steps", () => {
  const because = (name: string, told: string): string =>
    `<testcase name="${name}"><failure message="x">${told}</failure></testcase>`;
  const story = "shows &quot;b&quot;";
  const report = junit(
    passed("a") + because(`${story} &gt; one`, "Error: &lt;x&gt;\n\n    at file:///a.ts:1:1\nCaused by: Error: why") +
      because(story, "1 test step failed.") + because("d", "y".repeat(800)) + skipped("c"),
  );
  assert.deepEqual(failuresOf(report), [
    'a => shows "b"\n  one\n    Error: <x>\n    Caused by: Error: why',
    `a => d\n    ${"y".repeat(700)} […]`,
  ]);
});

Deno.test("testsThat: names the tests with the given result", () => {
  assert.deepEqual(testsThat("skipped", junit(passed("a") + failed("b") + skipped("c"))), ["a => c"]);
});

Deno.test("judgeTests: counts a failure if the exit code shows one that the report leaves out", () => {
  assert.deepEqual(judgeTests(false, junit(passed("a"))), { passed: 1, failed: 1, skipped: 0 });
  assert.deepEqual(judgeTests(false, junit(failed("a"))), { passed: 0, failed: 1, skipped: 0 });
  assert.deepEqual(judgeTests(true, junit(passed("a"))), { passed: 1, failed: 0, skipped: 0 });
});

Deno.test("judgeTests: counts a run without a report as failed", () => {
  assert.deepEqual(judgeTests(true, undefined), { passed: 0, failed: 1, skipped: 0 });
});

Deno.test("closingLine: names the number of skipped tests only if it is not 0", () => {
  assert.equal(closingLine({ passed: 3, failed: 0, skipped: 0 }), "3 passed, 0 failed");
  assert.equal(closingLine({ passed: 3, failed: 1, skipped: 2 }), "3 passed, 1 failed, 2 skipped");
});

Deno.test("total: adds every column", () => {
  const sum = total([{ passed: 1, failed: 2, skipped: 3 }, { passed: 10, failed: 20, skipped: 30 }]);
  assert.deepEqual(sum, { passed: 11, failed: 22, skipped: 33 });
});

Deno.test("secondsOfFiles: adds up the tests of a file, without the steps inside them", () => {
  const timed = (name: string, seconds: number): string => `<testcase name="${name}" time="${seconds}">\n</testcase>`;
  const suite = (name: string, cases: string): string => `<testsuite name="${name}">${cases}</testsuite>`;
  const report = suite("./test/a_test.ts", timed("one", 1.5) + timed("one &gt; step", 1) + timed("two", 2)) +
    suite("./test/b_test.ts", timed("three", 0.25));
  assert.deepEqual(secondsOfFiles(report), [
    { what: "test/a_test.ts", seconds: 3.5 },
    { what: "test/b_test.ts", seconds: 0.25 },
  ]);
});

Deno.test("slowestLines: shows ten, the slowest first", () => {
  const lines = slowestLines(Array.from({ length: 12 }, (_, at) => ({ what: `file ${at}`, seconds: at })));
  assert.equal(lines.length, 10);
  assert.deepEqual(lines.slice(0, 2), ["   11.0 s  file 11", "   10.0 s  file 10"]);
});

Deno.test("busyBetween: returns how many of the cores were busy between two reads, if the host reports CPU times", () => {
  const [from, to] = ["cpu  100 0 50 1000 50 0 0 0 0 0", "cpu  220 10 70 1040 60 0 0 0 0 0"].map(parseCoreTime);
  assert.equal(busyBetween(from, to, 2), "1.5 of 2 cores busy");
  assert.equal(busyBetween(to, to, 2), "");
  assert.equal(parseCoreTime(""), undefined);
  assert.equal(busyBetween(undefined, to, 2), "");
  assert.equal(coreSecondsBetween(from, to, { seconds: 10, cores: 2 })?.toFixed(1), "15.0");
  assert.equal(coreSecondsBetween(from, undefined, { seconds: 10, cores: 2 }), undefined);
});

Deno.test("parseTimes: adds the times of the children, user and system", () => {
  assert.equal(parseTimes("0m0.010s 0m0.020s\n2m1.500s 0m3.250s\n"), 124.75);
  assert.equal(parseTimes(""), undefined);
});

Deno.test("keepTimes: keeps the times of pieces that did not run this time, and readTimes ignores an invalid file", async () => {
  await using given = await scene();
  const file = join(given.folder, "deep", "times.json");
  assert.deepEqual(readTimes(file), {});
  keepTimes(file, [{ what: "a", seconds: 1.26 }, { what: "b", seconds: 2 }]);
  keepTimes(file, [{ what: "b", seconds: 3 }]);
  assert.deepEqual(readTimes(file), { a: 1.3, b: 3 });
  writeFileSync(file, "{");
  assert.deepEqual(readTimes(file), {});
  assert.deepEqual(readTimes(undefined), {});
});

/** Runs jobs that end on request, and records the lane of each. */
function told(jobs: (Job & { title: string })[], cores: number): {
  begun: string[];
  end: (title: string) => void;
  done: Promise<string[]>;
} {
  const gates = new Map(jobs.map(({ title }) => [title, Promise.withResolvers<void>()]));
  const begun: string[] = [];
  const done = inLanes(jobs, { cores, lanes: 4 }, async ({ title }, lane) => {
    begun.push(`${title} in lane ${lane}`);
    await gates.get(title)?.promise;
    return title;
  });
  return { begun, done, end: (title) => gates.get(title)?.resolve() };
}

const job = (title: string, load: number, after: string[] = []): Job & { title: string } => {
  return { title, name: title.slice(0, 1), load, after };
};

Deno.test("inLanes: begins in order what fits into the cores, and keeps the order of results", async () => {
  const { begun, end, done } = told([job("a1", 1), job("a2", 1), job("b1", 1), job("c1", 0.5)], 2);
  assert.deepEqual(begun, ["a1 in lane 0", "a2 in lane 1"]);
  end("a2");
  await eventually("the third", () => begun.length === 3);
  assert.equal(begun[2], "b1 in lane 1", "Expected a free lane to be used again");
  for (const title of ["a1", "b1", "c1"]) end(title);
  assert.deepEqual(await done, ["a1", "a2", "b1", "c1"]);
});

Deno.test("inLanes: prefers a small job to a large one that does not fit", async () => {
  const { begun, end, done } = told([job("a1", 1.5), job("b1", 1), job("c1", 0.5)], 2);
  assert.deepEqual(begun, ["a1 in lane 0", "c1 in lane 1"]);
  for (const title of ["a1", "b1", "c1"]) end(title);
  await done;
});

Deno.test("inLanes: begins a job only after all jobs that its field `after` names have ended", async () => {
  const { begun, end, done } = told([job("a1", 1), job("a2", 1), job("b1", 0.1, ["a"]), job("c1", 0.1, ["b"])], 4);
  end("a1");
  await setTimeout(20);
  assert.deepEqual(begun, ["a1 in lane 0", "a2 in lane 1"]);
  end("a2");
  await eventually("the third", () => begun.length === 3);
  for (const title of ["b1", "c1"]) end(title);
  await done;
  assert.deepEqual(begun.slice(2), ["b1 in lane 0", "c1 in lane 0"]);
});

Deno.test("inLanes: begins nothing beside a job that fills all cores", async () => {
  const { begun, end, done } = told([job("a1", 0.5), job("b1", Infinity), job("c1", 1.75)], 2);
  assert.deepEqual(begun, ["a1 in lane 0"]);
  end("a1");
  await eventually("the job that must run alone", () => begun.length === 2);
  await setTimeout(20);
  assert.deepEqual(begun.map((each) => each.slice(0, 2)), ["a1", "b1"]);
  end("b1");
  await eventually("the last one", () => begun.length === 3);
  end("c1");
  assert.deepEqual(await done, ["a1", "b1", "c1"]);
});

Deno.test("inLanes: refuses jobs that wait for each other", async () => {
  const jobs = [job("a1", 1, ["b"]), job("b1", 1, ["a"])];
  await assert.rejects(inLanes(jobs, { cores: 2, lanes: 2 }, () => Promise.resolve()), /they wait for each other/);
});

Deno.test("groups: the field `after` names only existing steps and groups", () => {
  const known = { ...steps, ...groups };
  const named = Object.values(known).flatMap(({ after = [] }) => after);
  assert.deepEqual(named.filter((name) => !(name in known)), []);
});

Deno.test("pieces: each piece of the campaign runs alone, because its tests read what is left on the host", () => {
  const pieces = piecesOf("campaign");
  assert.ok(pieces.length > 3);
  assert.deepEqual(new Set(pieces.map(({ load }) => load)), new Set([Infinity]));
});

Deno.test("piecesOfGroup: loses no file, whether files share processes or not", () => {
  const paths = ["test/unit", "test/run_test.ts"];
  const asked = { paths, allow: [], limitMinutes: 1, load: 1, longest: ["test/run_test.ts"] };
  const files = filesOf(asked).toSorted();
  for (const shares of [undefined, 1, 4]) {
    const pieces = piecesOfGroup("unit", { ...asked, ...(shares === undefined ? {} : { shares }) });
    assert.equal(pieces.length, shares ?? files.length);
    assert.deepEqual(pieces.flatMap(({ tests }) => tests?.files ?? []).toSorted(), files);
    assert.equal(pieces[0]?.tests?.files[0], "test/run_test.ts", "Expected the slowest to begin first");
  }
});

Deno.test("piecesOfGroup: runs files that are listed together in one process, and all other files in another", () => {
  const [own, folder] = ["test/unit/cli/question_test.ts", "test/unit/cli"];
  const paths = [folder, "test/unit/workflows", "test/run_test.ts"];
  const group = {
    paths,
    allow: [],
    limitMinutes: 1,
    load: 1,
    shares: [[own, "test/run_test.ts"], ["test/unit/workflows"]],
  };
  const parts = piecesOfGroup("unit", group).map(({ tests }) => tests?.files ?? []);
  const files = filesOf(group);
  assert.deepEqual(parts, [
    [own, "test/run_test.ts"],
    files.filter((file) => file.startsWith("test/unit/workflows/")),
    files.filter((file) => file.startsWith(folder) && file !== own),
  ]);
});

Deno.test("piecesOfGroup: divides the files of `together` among `together.processes` processes, and runs each other file in its own process", () => {
  const all = filesOf({ paths: ["test/workflow"] });
  const [first = "", second = "", third = ""] = all;
  const together = { processes: 2, files: [third, first, second] };
  const pieces = piecesOfGroup("x", { paths: ["test/workflow"], allow: [], limitMinutes: 1, load: 1, together });
  assert.deepEqual(pieces.slice(0, 2).map(({ title, tests }) => [title, tests?.files, tests?.isShared]), [
    ["x 1/2", [third, second], true],
    ["x 2/2", [first], true],
  ]);
  assert.deepEqual(pieces.slice(2).map(({ title }) => title), all.slice(3));
  assert.ok(pieces.slice(2).every(({ tests }) => !tests?.isShared));
});

Deno.test("groups: the integration files that share processes are exactly those whose tests use a shared cluster", () => {
  const asks = (file: string): boolean => /\b(testInWorld|inSharedWorld|testStory)\(/.test(readFileSync(file, "utf8"));
  const { together, ...group } = groups["integration"] ?? { paths: [] };
  assert.deepEqual(filesOf(group).filter(asks).toSorted(), together?.files.toSorted());
});

Deno.test("piecesOfGroup: halves the load of a process whose files all wait half of their time", () => {
  const group = { paths: ["test/workflow"], allow: [], limitMinutes: 1, load: 0.6 };
  const [first = "", second = ""] = filesOf(group);
  const pieces = piecesOfGroup("workflow", { ...group, waiting: [first] });
  assert.deepEqual(pieces.map(({ load }) => load), pieces.map(({ title }) => title === first ? 0.3 : 0.6));
  const [shared] = piecesOfGroup("workflow", { ...group, paths: [first, second], shares: 1, waiting: [first] });
  assert.equal(shared?.load, 0.6, "Expected the full load with a file that does not wait");
});

Deno.test("groups: name no missing file", () => {
  for (const [name, { paths, shares, together, longest = [], waiting = [] }] of Object.entries(groups)) {
    const files = filesOf({ paths });
    const told = [...longest, ...waiting, ...together?.files ?? []];
    assert.deepEqual(told.filter((file) => !files.includes(file)), [], name);
    const named = Array.isArray(shares) ? shares.flat() : [];
    assert.deepEqual(
      named.filter((path) => !files.some((file) => file === path || file.startsWith(`${path}/`))),
      [],
      name,
    );
  }
});

Deno.test("portsOf: gives no two lanes the same port", () => {
  assert.deepEqual([0, 1, 2].map((lane) => portsOf(lane, 3)), ["20000-23999", "24000-27999", "28000-31999"]);
});

Deno.test("filesOf: puts the slowest files first, and leaves out missing ones", () => {
  const asked = { paths: ["test/nowhere", "test/run_test.ts"], longest: ["test/gone_test.ts"] };
  assert.deepEqual(filesOf(asked), ["test/run_test.ts"]);
  const [first, ...others] = filesOf({ paths: ["test/workflow"] });
  const last = others.at(-1) ?? "";
  const sorted = filesOf({ paths: ["test/workflow"], longest: [last] });
  assert.deepEqual(sorted, [last, first, ...others.slice(0, -1)]);
});

Deno.test("runPiece: writes the whole output of a file, and its cost, while another one runs beside it", async () => {
  await using given = await scene();
  for (const [own, other] of [["a", "b"], ["b", "a"]] as const) given.write(`${own}_test.ts`, meeting(own, other));
  const said: string[] = [];
  const runner = { children: given.children, extra: ["--no-check"], env: {}, say: (text: string) => said.push(text) };
  const group = { paths: [given.folder], allow: ["--allow-all"], limitMinutes: 1, load: 1 };
  const endings = await Promise.all(piecesOfGroup("x", group).map((piece) => runPiece(piece, runner)));
  const { counts, times } = {
    counts: total(endings.map((one) => one.counts)),
    times: endings.flatMap((one) => one.times),
  };
  assert.deepEqual(counts, { passed: 2, failed: 0, skipped: 0 }, said.join("\n"));
  assert.deepEqual(times.map(({ what }) => what.slice(-9)), ["a_test.ts", "b_test.ts"]);
  const texts = said.map(stripVTControlCharacters);
  assert.equal(texts.length, 2, "Expected one log for each of the two files");
  for (const own of ["a", "b"]) {
    const log = texts.find((text) => text.includes(`${own} is here`)) ?? "";
    assert.match(log, new RegExp(`${own} is here\\n(.*\\n)*${own} goes\\n`));
    assert.match(log, /_test\.ts: 1 passed, 0 failed in \d+\.\d s, \d+\.\d s of a core/);
  }
});

Deno.test("runPiece: loads files that share a process into one, and distinguishes them in its report", async () => {
  await using given = await scene();
  given.write("a_test.ts", `globalThis.seen = 1; Deno.test("one", () => {});`);
  given.write(
    "b_test.ts",
    `Deno.test("two", () => { if (globalThis.seen !== 1) throw new Error("alone"); });
    Deno.test("three", () => { throw new Error("as told"); });`,
  );
  const group = { paths: [given.folder], allow: ["--allow-all"], shares: 1, limitMinutes: 1, load: 1 };
  const [piece, ...others] = piecesOfGroup("x", group);
  assert.ok(piece && others.length === 0);
  const runner = { children: given.children, extra: ["--no-check"], env: {}, say: () => {} };
  const { counts, failures, times } = await runPiece(piece, runner);
  assert.deepEqual(counts, { passed: 2, failed: 1, skipped: 0 });
  assert.match(failures.join(), /b_test\.ts => three\n +Error: as told/);
  assert.deepEqual(times.map(({ what }) => what.slice(-9)), ["a_test.ts", "b_test.ts"]);
});

Deno.test("interrupt: ends all children and their child processes, and lets no other start", async () => {
  await using given = await scene();
  const running = ["a", "b"].map((name) => given.children.run(lasting(given, name)));
  const pids = await eventually("what the children started", () => {
    const files = ["a", "b"].map((name) => join(given.folder, name));
    const texts = files.filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8"));
    return texts.length === 2 && texts.every((text) => text.endsWith("\n")) && texts.map(Number);
  });
  given.children.interrupt();
  const exits = await Promise.all(running);
  assert.deepEqual(exits.map(({ note }) => note), ["interrupted", "interrupted"]);
  for (const pid of pids) assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  assert.equal((await given.children.run(lasting(given, "c"))).note, "interrupted");
  assert.equal(existsSync(join(given.folder, "c")), false);
});

Deno.test("run: stops a child process at its time limit, and no other child process", async () => {
  await using given = await scene();
  const patient = given.children.run(lasting(given, "a"));
  const late = await given.children.run({ ...lasting(given, "b"), limitMinutes: 0 });
  assert.deepEqual(late, { isSuccess: false, isStopped: true, note: "stopped after 0 minutes" });
  await eventually("the other at work", () => existsSync(join(given.folder, "a")));
  given.children.interrupt();
  assert.equal((await patient).note, "interrupted");
});

Deno.test("run: reports how a child ended, and adds to its environment", async () => {
  await using given = await scene();
  const log = join(given.folder, "log");
  const order = { limitMinutes: 1, log, env: { GIVEN: "seven" } };
  const code =
    `console.log(Deno.env.get("GIVEN"), String(Deno.env.get("PATH") !== undefined)); console.error("and so on")`;
  assert.deepEqual(await given.children.run({ ...order, args: ["eval", code] }), { isSuccess: true, isStopped: false });
  assert.equal(readFileSync(log, "utf8"), "seven true\nand so on\n");
  assert.equal((await given.children.run({ ...order, args: ["eval", "Deno.exit(3)"] })).note, "exit 3");
});

interface Scene extends AsyncDisposable {
  folder: string;
  children: Children;
  write(name: string, text: string): void;
}

async function scene(): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), "ostler-run-test-"));
  const children = new Children();
  return await Promise.resolve({
    ...{ folder, children },
    write: (name: string, text: string) => writeFileSync(join(folder, name), text),
    async [Symbol.asyncDispose](): Promise<void> {
      children.interrupt();
      await children.close();
      rmSync(folder, { recursive: true });
    },
  });
}

/** A test that succeeds only while another file runs. */
function meeting(own: string, other: string): string {
  return `
    Deno.test("${own} meets ${other}", async () => {
      const folder = import.meta.dirname;
      console.log("${own} is here");
      Deno.writeTextFileSync(folder + "/${own}", "");
      const end = Date.now() + 30_000;
      while (![...Deno.readDirSync(folder)].some(({ name }) => name === "${other}")) {
        if (Date.now() > end) throw new Error("${other} did not come");
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      console.log("${own} goes");
    });
  `;
}

/** A child that starts a process, writes the process's ID to a file, and runs until it is stopped. */
function lasting({ folder }: Scene, name: string): { args: string[]; limitMinutes: number; log: string } {
  const code = `
    const child = new Deno.Command("sleep", { args: ["600"] }).spawn();
    Deno.writeTextFileSync(${JSON.stringify(join(folder, name))}, child.pid + "\\n");
    await child.status;
  `;
  return { args: ["eval", code], limitMinutes: 1, log: join(folder, "log") };
}
