import assert from "node:assert/strict";
import { currentOwner, isDead, readOwner, writeOwner } from "../../../../deploy/local/engine/owner.ts";
import { RunRecords } from "../../../../deploy/local/engine/run_record.ts";
import { scratchDirectory } from "../../../support/scratch_directory.ts";
import { FakeProc } from "./fake_proc.ts";

Deno.test("readOwner: parses only the output of writeOwner", async () => {
  await using proc = await FakeProc.create();
  const owner = await currentOwner(proc.path);
  assert.equal(writeOwner(owner), `b007-1d/4026531836/${Deno.pid}/4711`);
  assert.deepEqual(readOwner(writeOwner(owner)), owner);
  for (const text of ["", "1/2/3", `${writeOwner(owner)}/1`, "b007/1/x/2"]) assert.equal(readOwner(text), undefined);
});

Deno.test("isDead: returns false for a running owner and for one in another PID namespace, and true for a reused process ID", async () => {
  await using proc = await FakeProc.create();
  const owner = await currentOwner(proc.path);
  assert.equal(await isDead(owner, proc.path), false);
  assert.equal(await isDead({ ...owner, startedAt: "4712" }, proc.path), true);
  assert.equal(await isDead({ ...owner, bootId: "b007-2d" }, proc.path), true);
  assert.equal(await isDead({ ...owner, namespace: "1", pid: 4_194_305 }, proc.path), false);
});

Deno.test("isDead: detects ended processes and zombies with any name", async () => {
  await using proc = await FakeProc.create();
  const owner = { ...await currentOwner(proc.path), pid: 99 };
  await proc.process(99, { name: "a (b) Z c" });
  assert.equal(await isDead(owner, proc.path), false);
  await proc.process(99, { name: "a (b) S c", state: "Z" });
  assert.equal(await isDead(owner, proc.path), true);
  await proc.end(99);
  assert.equal(await isDead(owner, proc.path), true);
});

Deno.test("RunRecords: separates living from dead runs; a run with an unreadable owner counts as dead", async () => {
  await using scratch = await scratchDirectory();
  await using proc = await FakeProc.create();
  const records = new RunRecords(scratch.path, proc.path);
  const owner = await currentOwner(proc.path);
  await records.write({ runId: "living", owner: writeOwner(owner), socketPath: "/a.sock" });
  await records.write({ runId: "dead", owner: writeOwner({ ...owner, startedAt: "1" }) });
  await records.write({ runId: "odd", owner: "" });
  assert.deepEqual((await records.living()).map(({ runId }) => runId), ["living"]);
  assert.deepEqual((await records.dead()).map(({ runId }) => runId).sort(), ["dead", "odd"]);
  await records.remove("living");
  await records.remove("living");
  assert.deepEqual(await records.living(), []);
});
