/** Texts of others, such as Events, statuses and conditions of nodes, must not control the terminal of the user. */
import assert from "node:assert/strict";
import { answer } from "../../../support/fake_kube.ts";
import { condition, FakeWorld, readyStatus, rollingStatus, start } from "../../../support/fake_world.ts";
import { machine, machineDeployment, machineSet, node } from "../../../support/machine_objects.ts";

const forged = "14:05:00  command  approve by root";
/** Clears the screen, writes the clipboard, and begins a line of its own. */
const hostile = `stuck\n${forged}\x1b]52;c;cm0=\x07\x1b[2J\u202e\u2028`;
const at = new Date(start).toISOString();

/** A world in which every text that others choose is hostile. */
function world(status = rollingStatus): FakeWorld {
  const made = new FakeWorld();
  const reported = { by: hostile, reason: hostile, since: start };
  const past = { revision: "1", image: hostile, outcome: hostile, actor: hostile, reason: hostile, endedAt: at };
  made.putPool(status({
    ...{ message: hostile, reason: hostile, image: hostile, policy: hostile, blockedReason: hostile },
    ...{ paused: true, pausedBy: reported, history: [{ ...past, startedAt: at, machines: 1, failed: 0 }] },
    underway: [{ machine: "m-1", step: hostile, since: at, until: at, waitsFor: hostile }],
    quarantine: [{ ...reported, image: hostile, specHash: "s", templateHash: "t", revision: "9" }],
    conditions: [{ ...condition("Blocked", "True"), reason: hostile, message: hostile }],
  }));
  made.kube.put("machinesets", machineSet());
  made.kube.put("machines", {
    ...machine("m-1"),
    status: { nodeRef: { name: "node-m-1" }, errorReason: hostile, errorMessage: hostile },
  });
  made.kube.put("machines", machine("m-2"));
  for (const name of ["node-m-1", "node-m-2"]) {
    const { metadata, ...rest } = node(name);
    const ready = { type: "Ready", status: "False", reason: hostile, message: hostile, lastTransitionTime: at };
    made.kube.put("nodes", { ...rest, metadata, status: { conditions: [ready] } } as never);
  }
  const objects = [["MachineDeployment", "pool"], ["Machine", "m-2"], ["Machine", "m-9"]];
  for (const [kind, name] of objects) {
    const about = { involvedObject: { kind, name }, type: "Warning", reason: hostile, message: hostile };
    made.kube.put(
      "events",
      { metadata: { namespace: "fleet", name: `e-${name}` }, ...about, lastTimestamp: at } as never,
    );
  }
  made.steps = [{ at: start, id: "r/1", kind: "step", message: hostile, failure: hostile }];
  return made;
}

const commands = [
  ["logs", "pool"],
  ["explain", "fleet/pool"],
  ["explain", "m-1"],
  ["explain", "m-2"],
  ["explain", "m-9"],
  ["status"],
  ["status", "pool"],
  ["status", "-o", "wide"],
  ["status", "-w", "--timeout", "2s"],
  ["history"],
  ["history", "pool", "-o", "wide"],
];

function assertHarmless(said: string): void {
  // deno-lint-ignore no-control-regex -- these characters control a terminal
  assert.doesNotMatch(said, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]/);
  assert.ok(said.includes("stuck\u{fffd}"), said);
  assert.equal(said.split("\n").some((line) => line.startsWith(forged)), false, said);
}

for (const args of commands) {
  Deno.test(`ostler ${args.join(" ")}: prints no control characters from Events, statuses or workflow steps`, async () => {
    const { out, err } = await world().run(args);
    assertHarmless(out + err);
  });
}

Deno.test("ostler status -w: prints no control characters from the status in the failure message", async () => {
  const { code, err } = await world((over) => readyStatus({ ...over, phase: "Halted" })).run(["status", "-w", "pool"]);
  assert.equal(code, 1);
  assertHarmless(err);
});

Deno.test("ostler status: prints no control characters in an error of the API server", async () => {
  const made = world();
  made.kube.onRequest = () => {
    throw answer(403, hostile);
  };
  const { code, err } = await made.run(["status"]);
  assert.equal(code, 1);
  assertHarmless(err);
});

Deno.test("ostler diff: prints no control characters of a template", async () => {
  const made = world();
  const template = (text: string): object => ({ metadata: { annotations: { note: text } }, spec: {} });
  const { spec, metadata } = machineDeployment();
  made.kube.put(
    "machinedeployments",
    { metadata, spec: { ...spec as object, template: template("stuck\x1b[2J") } } as never,
  );
  const old = machineSet("0", "hash-0");
  made.kube.put("machinesets", { ...old, spec: { template: template("calm") } } as never);
  const { code, out } = await made.run(["diff", "pool"]);
  assert.equal(code, 1);
  assertHarmless(out);
});

Deno.test("ostler logs, status, explain, history: -o json has the texts of Events, statuses and steps unchanged", async () => {
  for (const args of [["logs", "pool"], ["status", "pool"], ["explain", "fleet/pool"], ["history", "pool"]]) {
    const { out } = await world().run([...args, "-o", "json"]);
    const texts: string[] = [];
    JSON.parse(out, (_, value) => void texts.push(String(value)));
    assert.ok(texts.some((text) => text.includes(hostile)), `${args.join(" ")}: ${out}`);
  }
});
