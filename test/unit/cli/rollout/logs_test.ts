import assert from "node:assert/strict";
import { Unreachable } from "../../../../cli/failure.ts";
import { FakeWorld, rollingStatus, start } from "../../../support/fake_world.ts";

function world(): FakeWorld {
  const made = new FakeWorld();
  made.putPool(rollingStatus());
  putEvent(made, "MachineAdmitted", -58_000);
  made.steps = [
    { at: start - 90_000, id: "r/1", kind: "command", message: "approve by ada" },
    { at: start - 57_500, id: "r/2", kind: "step", message: "Admit new-1", seconds: 0.1 },
    { at: start - 57_000, id: "r/3", kind: "wait", message: "Look again soon", seconds: 5 },
    { at: start - 50_000, id: "r/4", kind: "step", message: "Drain w-1", seconds: 30, failure: "no answer" },
  ];
  return made;
}

function putEvent(made: FakeWorld, reason: string, after: number): void {
  made.kube.put("events", {
    metadata: { namespace: "fleet", name: reason },
    involvedObject: { kind: "MachineDeployment", name: "pool" },
    ...{ type: "Normal", reason, message: "it was", lastTimestamp: new Date(start + after).toISOString() },
  });
}

const plain = (out: string): string[] => out.trimEnd().split("\n").map((line) => line.replace(/^\S+ +/, ""));

Deno.test("ostler logs tells Events and steps in one order, an Event after the steps of its second", async () => {
  const { code, out } = await world().run(["logs", "pool"]);
  assert.equal(code, 0);
  assert.deepEqual(plain(out), [
    "command  approve by ada",
    "step     Admit new-1",
    "event    MachineAdmitted: it was",
    "step     Drain w-1: failed: no answer",
  ]);
  const waits = await world().run(["logs", "pool", "--waits"]);
  assert.ok(plain(waits.out).includes("wait     Look again soon (5s)"));
});

Deno.test("ostler logs shows Events alone, and says so, where Temporal cannot be reached", async () => {
  const made = world();
  made.unreachable = new Unreachable("Cannot reach Temporal at there: refused");
  const { code, out, err } = await made.run(["logs", "pool"]);
  assert.deepEqual([code, plain(out)], [0, ["event    MachineAdmitted: it was"]]);
  assert.equal(err, "Cannot reach Temporal at there: refused; only Events are shown\n");
});

Deno.test("ostler logs takes the newest lines, and none older than --since", async () => {
  assert.equal(
    plain((await world().run(["logs", "pool", "--tail", "1"])).out)[0],
    "step     Drain w-1: failed: no answer",
  );
  assert.equal(plain((await world().run(["logs", "pool", "--since", "1m"])).out).length, 3);
  assert.equal((await world().run(["logs", "pool", "--tail", "x"])).code, 2);
});

Deno.test("ostler logs -f tells what is new, each once, until --timeout", async () => {
  const made = world();
  made.onSleep = () => putEvent(made, "WaveCompleted", 2_000);
  const { code, out } = await made.run(["logs", "pool", "-f", "--timeout", "6s"]);
  assert.equal(code, 3);
  assert.deepEqual(plain(out).slice(4), ["event    WaveCompleted: it was"]);
});

Deno.test("ostler logs is about one pool", async () => {
  assert.equal((await world().run(["logs"])).code, 2);
});

Deno.test("ostler logs finds a flag that cannot be used before it tells anything", async () => {
  for (const args of [["-f", "--timeout", "x"], ["--since", "x"], ["--tail", "0"]]) {
    const { code, out } = await world().run(["logs", "pool", ...args]);
    assert.deepEqual([code, out], [2, ""], args.join(" "));
  }
});
