import assert from "node:assert/strict";
import { Unreachable } from "../../../../cli/failure.ts";
import { answer } from "../../../support/fake_kube.ts";
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

Deno.test("ostler logs: shows Events and workflow steps sorted by time; an Event follows the steps of the same second", async () => {
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

for (
  const [asked, plural, about] of [
    ["sg/alpha", "scalinggroups", { namespace: "default", kind: "ScalingGroup", name: "alpha" }],
    ["nodepool/edge", "nodepools", { namespace: "fleet", kind: "NodePool", name: "edge" }],
  ] as const
) {
  Deno.test(`ostler logs ${asked}: shows the Events about the ${about.kind}, whose name and namespace are not those of its Rollout`, async () => {
    const made = new FakeWorld();
    const { namespace, ...involvedObject } = about;
    const { name } = about;
    made.kube.put(plural, { metadata: plural === "nodepools" ? { namespace, name } : { name }, spec: {} });
    made.kube.put("events", {
      metadata: { namespace, name: "e" },
      involvedObject,
      ...{ type: "Normal", reason: "MachineAdmitted", message: "it was", lastTimestamp: new Date(start).toISOString() },
    });
    const { out, err } = await made.run(["logs", asked]);
    assert.deepEqual([plain(out), err], [["event    MachineAdmitted: it was"], ""]);
  });
}

Deno.test("ostler logs: shows no steps of another cluster's pool of the same name", async () => {
  const made = world();
  made.putRollout(rollingStatus({ workflowId: "south/machine-deployment/fleet/pool" }));
  const { code, out, err } = await made.run(["logs", "pool"]);
  assert.deepEqual([code, out], [2, ""]);
  assert.match(err, /^Failed to show the steps of the rollout of "fleet\/pool": .*; give --cluster south\n$/);
});

Deno.test("ostler logs: shows only Events, with a message, when Temporal is unreachable", async () => {
  const made = world();
  made.unreachable = new Unreachable("Failed to reach Temporal at there: refused");
  const { code, out, err } = await made.run(["logs", "pool"]);
  assert.deepEqual([code, plain(out)], [0, ["event    MachineAdmitted: it was"]]);
  assert.equal(err, "Failed to reach Temporal at there: refused; only Events are shown\n");
});

Deno.test("ostler logs: shows only the newest lines with --tail, and no line older than --since", async () => {
  assert.equal(
    plain((await world().run(["logs", "pool", "--tail", "1"])).out)[0],
    "step     Drain w-1: failed: no answer",
  );
  assert.equal(plain((await world().run(["logs", "pool", "--since", "1m"])).out).length, 3);
  assert.equal((await world().run(["logs", "pool", "--tail", "x"])).code, 2);
});

Deno.test("ostler logs -f: shows each new line once until --timeout", async () => {
  const made = world();
  made.onSleep = () => putEvent(made, "WaveCompleted", 2_000);
  const { code, out } = await made.run(["logs", "pool", "-f", "--timeout", "6s"]);
  assert.equal(code, 3);
  assert.deepEqual(plain(out).slice(4), ["event    WaveCompleted: it was"]);
});

Deno.test("ostler logs: exits with 2 without the name of a pool", async () => {
  assert.equal((await world().run(["logs"])).code, 2);
});

Deno.test("ostler logs: refuses invalid flags before it prints anything", async () => {
  for (const args of [["-f", "--timeout", "x"], ["--since", "x"], ["--tail", "0"]]) {
    const { code, out } = await world().run(["logs", "pool", ...args]);
    assert.deepEqual([code, out], [2, ""], args.join(" "));
  }
});

Deno.test("ostler logs -f: shows a running step again when it fails or ends after at least 1 s, and no line twice", async () => {
  const made = world();
  const [first, second, third] = ["r/5", "r/6", "r/7"].map((id) => ({
    ...{ at: start, id, kind: "step" as const, message: `Step ${id}` },
  }));
  assert.ok(first && second && third);
  made.steps = [first, second, third];
  made.onSleep = () => {
    made.steps = [{ ...first, seconds: 5 }, { ...second, seconds: 5, failure: "it stays" }, { ...third, seconds: 0.1 }];
  };
  const { out } = await made.run(["logs", "pool", "-f", "--timeout", "6s"]);
  assert.deepEqual(plain(out).slice(4), ["step     Step r/5 (5s)", "step     Step r/6: failed: it stays"]);
});

Deno.test("ostler logs -f: applies --tail only to the first read, and prints every later line", async () => {
  const made = world();
  let looks = 0;
  made.onSleep = () => {
    looks += 1;
    if (looks > 1) return;
    const more = Array.from({ length: 700 }, (_, index) => ({
      ...{ at: start + index, id: `r/${index + 5}`, kind: "step" as const, message: `Step ${index}` },
    }));
    made.steps = [...made.steps, ...more];
  };
  const { out } = await made.run(["logs", "pool", "-f", "--tail", "1", "--timeout", "6s"]);
  const lines = plain(out);
  assert.deepEqual([lines.length, lines[0], lines[1], lines.at(-1)], [
    701,
    "step     Drain w-1: failed: no answer",
    "step     Step 0",
    "step     Step 699",
  ]);
});

Deno.test("ostler logs -f: shows the end of a step even when hundreds of newer steps have begun", async () => {
  const made = world();
  const step = (nth: number): { at: number; id: string; kind: "step"; message: string } => ({
    ...{ at: start + nth, id: `r/${nth}`, kind: "step", message: `Step ${nth}` },
  });
  const others = Array.from({ length: 700 }, (_, nth) => ({ ...step(nth + 10), seconds: 0.1 }));
  made.steps = [step(5)];
  const ends = [[step(5), ...others], [{ ...step(5), seconds: 60, failure: "it stays" }, ...others]];
  made.onSleep = () => made.steps = ends.shift() ?? made.steps;
  const { out } = await made.run(["logs", "pool", "-f", "--tail", "1", "--timeout", "8s"]);
  assert.equal(plain(out).at(-1), "step     Step 5: failed: it stays");
});

Deno.test("ostler logs: --tail counts only printed lines, and not the hidden waits between them", async () => {
  const made = world();
  const wait = { kind: "wait" as const, message: "Look again soon", seconds: 5 };
  const waits = Array.from({ length: 3_000 }, (_, index) => ({ at: start + index, id: `w/${index}`, ...wait }));
  made.steps = [...made.steps, ...waits];
  const { out } = await made.run(["logs", "pool", "--tail", "2"]);
  assert.deepEqual(plain(out), ["event    MachineAdmitted: it was", "step     Drain w-1: failed: no answer"]);
});

Deno.test("ostler logs -f -o yaml: prints one document per line, and prints nothing while no new line arrives", async () => {
  const { out } = await world().run(["logs", "pool", "-f", "-o", "yaml", "--timeout", "6s"]);
  const documents = out.split("---\n");
  assert.deepEqual([documents.length, documents[0], out.includes("items")], [5, "", false]);
  assert.match(documents[1] ?? "", /^at: .*\nkind: command\nmessage: approve by ada\nwarning: false\n$/);
});

Deno.test("ostler logs -f: continues after an outage of the API server, and reports it once", async () => {
  const made = world();
  let looks = 0;
  made.onSleep = () => {
    looks += 1;
    putEvent(made, "WaveCompleted", 2_000);
  };
  made.kube.onRequest = () => {
    if (looks === 1 || looks === 2) throw answer(503, "ServiceUnavailable");
  };
  const { code, out, err } = await made.run(["logs", "pool", "-f", "--timeout", "8s"]);
  assert.equal(code, 3);
  assert.equal(err.match(/HTTP 503, ServiceUnavailable; retrying$/gm)?.length, 1);
  assert.deepEqual(plain(out).slice(4), ["event    WaveCompleted: it was"]);
  looks = 0;
  made.kube.onRequest = () => {
    if (looks > 0) throw answer(403, "Forbidden");
  };
  assert.equal((await made.run(["logs", "pool", "-f", "--timeout", "8s"])).code, 1);
});

Deno.test("ostler logs: reads all pages of Events", async () => {
  const made = world();
  for (let index = 0; index < 1_200; index++) putEvent(made, `Event${index}`, index * 1_000);
  const { out } = await made.run(["logs", "pool", "--tail", "1"]);
  assert.deepEqual(plain(out), ["event    Event1199: it was"]);
});
