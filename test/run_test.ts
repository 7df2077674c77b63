import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { stripVTControlCharacters } from "node:util";
import { Children } from "./run/children.ts";
import { closingLine, countTests, failedTests, judgeTests, total } from "./run/counts.ts";
import { inLanes, portsOf } from "./run/lanes.ts";
import { filesOf, runGroup } from "./run/run_group.ts";
import { eventually } from "./support/eventually.ts";

const junit = (cases: string): string => `<testsuites><testsuite name="a">${cases}</testsuite></testsuites>`;
const passed = (name: string): string => `<testcase name="${name}" line="1">\n</testcase>`;
const failed = (name: string): string => `<testcase name="${name}"><failure message="x">x</failure></testcase>`;
const skipped = (name: string): string => `<testcase name="${name}"><skipped/></testcase>`;

Deno.test("countTests counts each way a test can end", () => {
  const report = junit(passed("a") + failed("b") + skipped("c") + passed("d"));
  assert.deepEqual(countTests(report), { passed: 2, failed: 1, skipped: 1 });
});

Deno.test("countTests leaves the steps inside a test out", () => {
  const report = junit(failed("story") + passed("story &gt; one") + failed("story &gt; two") + passed("x &gt; y"));
  assert.deepEqual(countTests(report), { passed: 1, failed: 1, skipped: 0 });
});

Deno.test("countTests leaves steps out that are told of before their test, or in another file", () => {
  const steps = passed("story &gt; one") + passed("story &gt; one &gt; deep");
  assert.deepEqual(countTests(junit(steps + passed("story"))), { passed: 1, failed: 0, skipped: 0 });
  assert.deepEqual(countTests(junit(passed("story")) + junit(steps)), { passed: 1, failed: 0, skipped: 0 });
});

Deno.test("failedTests names the tests that failed, and their file", () => {
  const report = junit(
    passed("a") + failed("says &quot;b&quot; &gt; one") + failed("says &quot;b&quot;") + skipped("c"),
  );
  assert.deepEqual(failedTests(report), ['a => says "b"']);
});

Deno.test("judgeTests counts a failure where the exit code tells of one the report leaves out", () => {
  assert.deepEqual(judgeTests(false, junit(passed("a"))), { passed: 1, failed: 1, skipped: 0 });
  assert.deepEqual(judgeTests(false, junit(failed("a"))), { passed: 0, failed: 1, skipped: 0 });
  assert.deepEqual(judgeTests(true, junit(passed("a"))), { passed: 1, failed: 0, skipped: 0 });
});

Deno.test("judgeTests counts a run without a report as failed", () => {
  assert.deepEqual(judgeTests(true, undefined), { passed: 0, failed: 1, skipped: 0 });
});

Deno.test("closingLine names skipped tests only when there are some", () => {
  assert.equal(closingLine({ passed: 3, failed: 0, skipped: 0 }), "3 passed, 0 failed");
  assert.equal(closingLine({ passed: 3, failed: 1, skipped: 2 }), "3 passed, 1 failed, 2 skipped");
});

Deno.test("total adds every column", () => {
  const sum = total([{ passed: 1, failed: 2, skipped: 3 }, { passed: 10, failed: 20, skipped: 30 }]);
  assert.deepEqual(sum, { passed: 11, failed: 22, skipped: 33 });
});

Deno.test("inLanes begins in order, never more at once than there are lanes, and keeps the order of results", async () => {
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const begun: string[] = [];
  const done = inLanes(gates, 2, async (gate, lane) => {
    const at = gates.indexOf(gate);
    begun.push(`${at} in lane ${lane}`);
    await gate.promise;
    return at;
  });
  assert.deepEqual(begun, ["0 in lane 0", "1 in lane 1"]);
  gates[1]?.resolve();
  await eventually("the third", () => begun.length === 3);
  assert.equal(begun[2], "2 in lane 1");
  for (const { resolve } of gates) resolve();
  assert.deepEqual(await done, [0, 1, 2, 3]);
});

Deno.test("portsOf gives no port to two lanes", () => {
  assert.deepEqual([0, 1, 2].map((lane) => portsOf(lane, 3)), ["20000-23999", "24000-27999", "28000-31999"]);
});

Deno.test("filesOf puts the files that take longest first, and leaves out what is not there", () => {
  const asked = { paths: ["test/nowhere", "test/run_test.ts"], longest: ["test/gone_test.ts"] };
  assert.deepEqual(filesOf(asked), ["test/run_test.ts"]);
  const [first, ...others] = filesOf({ paths: ["test/workflow"] });
  const last = others.at(-1) ?? "";
  const sorted = filesOf({ paths: ["test/workflow"], longest: [last] });
  assert.deepEqual(sorted, [last, first, ...others.slice(0, -1)]);
});

Deno.test("runGroup runs files side by side in lanes, and says whole what each said", async () => {
  await using given = await scene();
  for (const [own, other] of [["a", "b"], ["b", "a"]] as const) given.write(`${own}_test.ts`, meeting(own, other));
  const said: string[] = [];
  const runner = {
    children: given.children,
    extra: ["--no-check"],
    say: (text: string) => said.push(stripVTControlCharacters(text)),
  };
  const group = { paths: [given.folder], allow: ["--allow-all"], lanes: 2, limitMinutes: 1 };
  const { counts } = await runGroup(group, runner);
  assert.deepEqual(counts, { passed: 2, failed: 0, skipped: 0 }, said.join("\n"));
  const logs = said.filter((text) => text.includes("is here"));
  for (const own of ["a", "b"]) {
    const log = logs.find((text) => text.includes(`${own} is here`)) ?? "";
    assert.match(log, new RegExp(`${own} is here\\n(.*\\n)*${own} goes\\n`));
    assert.match(log, /ok \| 1 passed \| 0 failed/);
  }
  assert.equal(logs.length, 2, "each log is said once, and holds one file");
});

Deno.test("interrupt ends all children and whatever they started, and lets no other start", async () => {
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

Deno.test("run stops a child that is late, and no other", async () => {
  await using given = await scene();
  const patient = given.children.run(lasting(given, "a"));
  const late = await given.children.run({ ...lasting(given, "b"), limitMinutes: 0 });
  assert.deepEqual(late, { isSuccess: false, isStopped: true, note: "stopped after 0 minutes" });
  await eventually("the other at work", () => existsSync(join(given.folder, "a")));
  given.children.interrupt();
  assert.equal((await patient).note, "interrupted");
});

Deno.test("run says how a child ended, and gives it what was added to our environment", async () => {
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

/** A test that ends well only while another file runs. */
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

/** A child that starts a process, tells its id, and ends only when it is told to. */
function lasting({ folder }: Scene, name: string): { args: string[]; limitMinutes: number; log: string } {
  const code = `
    const child = new Deno.Command("sleep", { args: ["600"] }).spawn();
    Deno.writeTextFileSync(${JSON.stringify(join(folder, name))}, child.pid + "\\n");
    await child.status;
  `;
  return { args: ["eval", code], limitMinutes: 1, log: join(folder, "log") };
}
