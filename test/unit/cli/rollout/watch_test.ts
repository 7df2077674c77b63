import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { hashOf } from "../../../../activities/node_version/version_release.ts";
import { answer } from "../../../support/fake_kube.ts";
import { condition, FakeWorld, readyStatus, rollingStatus } from "../../../support/fake_world.ts";

/** A world whose pool changes its status every second. */
function story(...statuses: object[]): FakeWorld {
  const world = new FakeWorld();
  world.putPool(statuses.shift());
  world.onSleep = () => {
    const next = statuses.shift();
    if (next !== undefined) world.putRollout(next);
  };
  return world;
}

Deno.test("ostler status -w: shows each change once, and exits with 0 when the pool is ready", async () => {
  const world = story(rollingStatus(), rollingStatus(), rollingStatus({ updated: "4/10" }), readyStatus());
  const { code, out, err } = await world.run(["status", "pool", "-w"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(out.split("\n").map((line) => line.replace(/^[\d:]+ /, "")), [
    "fleet/pool Rolling, 3/10, wave 2/3: Wave 2 of 3 is under way",
    "fleet/pool Rolling, 4/10, wave 2/3: Wave 2 of 3 is under way",
    "fleet/pool Converged, 10/10: All 10 machines run revision 2",
    "",
  ]);
});

for (const phase of ["Halted", "RolledBack", "Aborted"]) {
  Deno.test(`ostler status -w: exits with 1 when the rollout is ${phase}`, async () => {
    const world = story(rollingStatus(), readyStatus({ phase, reason: "Why", message: "what happened" }));
    const { code, err } = await world.run(["status", "pool", "-w"]);
    assert.equal(code, 1);
    assert.equal(err, `The rollout of "fleet/pool" failed: ${phase} (Why): what happened\n`);
  });
}

Deno.test("ostler status -w: exits with 3 at --timeout, with the progress", async () => {
  const { code, err } = await story(rollingStatus()).run(["status", "pool", "-w", "--timeout", "1m"]);
  assert.equal(code, 3);
  assert.equal(err, `Failed to reach the expected state within 1m: "fleet/pool" is Rolling with 3/10 updated\n`);
});

Deno.test("ostler status -w: does not treat a pool as ready before its newest generation is observed", async () => {
  const world = new FakeWorld();
  world.putPool(readyStatus(), { generation: 2 });
  world.onSleep = () => world.putRollout(readyStatus({ observedGeneration: 2 }));
  const before = world.time;
  assert.equal((await world.run(["status", "pool", "-w"])).code, 0);
  assert.equal(world.time, before + 1_000);
});

Deno.test("ostler status -w: continues while the API server restarts, and exits with 1 when the pool is deleted", async () => {
  const world = new FakeWorld();
  world.putPool(rollingStatus());
  let seconds = 0;
  world.onSleep = () => {
    seconds += 1;
    if (seconds === 3) world.kube.remove("machinedeployments", "pool", "fleet");
  };
  world.kube.onRequest = () => {
    if (seconds === 1 || seconds === 2) throw answer(503, "ServiceUnavailable");
  };
  const { code, err } = await world.run(["status", "pool", "-w"]);
  assert.equal(code, 1);
  assert.deepEqual(err.split("\n").map((line) => line.slice(0, 45)), [
    "Failed to query Kubernetes at https://kube.te",
    'Failed to find MachineDeployment "fleet/pool"',
    "",
  ]);
});

Deno.test("ostler status -w: waits for all selected pools, and exits with 1 when one of them failed", async () => {
  const world = story(rollingStatus(), readyStatus());
  world.putPool(readyStatus({ phase: "Halted", message: "stuck" }), { name: "other" });
  const { code, err } = await world.run(["status", "--all", "-w"]);
  assert.equal(code, 1);
  assert.match(err, /^The rollout of "fleet\/other" failed: Halted: stuck\n$/);
});

Deno.test("ostler status -w: shows a live view on a terminal, with the progress that the workflow reports", async () => {
  const world = story(rollingStatus(), rollingStatus(), rollingStatus(), rollingStatus(), readyStatus());
  const counts = { desired: 10, machines: 11, updated: 3, ready: 10, old: 7, leaving: 1, unhealthy: 0 };
  world.progress = { counts, message: "Joining new-1", underway: [], skipped: [], setAside: [] } as never;
  const env = { TERM: "xterm", NO_COLOR: "1" };
  const { code, out } = await world.run(["status", "pool", "-w"], {
    isWatched: true,
    env,
    columns: () => 120,
    rows: () => 40,
  });
  assert.equal(code, 0);
  assert.match(out, /fleet\/pool {3}Rolling {3}3\/10 {3}wave 2\/3 {3}elapsed 10m {3}ETA /);
  assert.match(out, /Joining new-1/);
  assert.match(out, /3 wanted: 3 updated, 10 ready, 7 old, 1 joining, 1 draining/);
  assert.match(out, /fleet\/pool {3}Converged {3}10\/10/);
});

Deno.test("ostler status -w: -o json prints one object per line", async () => {
  const world = story(rollingStatus(), readyStatus({ conditions: [condition("Ready", "True")] }));
  const { out } = await world.run(["status", "pool", "-w", "-o", "json"]);
  assert.deepEqual(out.trim().split("\n").map((line) => JSON.parse(line).ready), [false, true]);
});

Deno.test("ostler status -w: shows as many pools as fit on the terminal, active pools first", async () => {
  const world = story(rollingStatus(), readyStatus());
  for (let index = 0; index < 50; index++) world.putPool(readyStatus(), { name: `calm-${index}` });
  const env = { TERM: "xterm", NO_COLOR: "1" };
  const { code, out } = await world.run(["status", "--all", "-w"], {
    isWatched: true,
    env,
    rows: () => 14,
    columns: () => 120,
  });
  assert.equal(code, 0);
  assert.match(out, /1 under way, 0 failed, 50 ready {3}elapsed 0s\nNAMESPACE .*\nfleet +pool +False +Rolling /);
  assert.match(out, /and 41 more/);
});

Deno.test("ostler status -w: exits with 1 when all selected pools are deleted", async () => {
  const world = new FakeWorld();
  for (const name of ["a", "b"]) world.putPool(rollingStatus(), { name, labels: { team: "x" } });
  world.onSleep = () => {
    for (const name of ["a", "b"]) world.kube.remove("machinedeployments", name, "fleet");
  };
  const { code, err } = await world.run(["status", "-l", "team=x", "-w"]);
  assert.equal(code, 1);
  assert.equal(
    err,
    'Failed to watch any longer: there is no pool with labels "team=x" in namespace "fleet"\n',
  );
});

/** Returns the final content of a terminal of this size; understands the sequences that log-update uses. */
async function lastFrame(
  world: FakeWorld,
  args: string[],
  screen: { columns: number; rows: number },
): Promise<string[]> {
  const { out } = await world.run(["status", "-w", "--timeout", "1s", ...args], {
    ...{ isWatched: true, env: { TERM: "xterm" } },
    ...{ columns: () => screen.columns, rows: () => screen.rows },
  });
  const frame = out.slice(out.lastIndexOf("\x1b[?2026h"), out.lastIndexOf("\x1b[?2026l"));
  return stripVTControlCharacters(frame).split("\n");
}

Deno.test("ostler status -w: keeps the headline and the active pools on a small terminal, also when an error is shown", async () => {
  const world = new FakeWorld();
  for (let index = 10; index < 40; index++) {
    world.putPool(readyStatus(), { name: `a-pool-with-a-name-that-is-rather-long-${index}` });
  }
  world.putPool(rollingStatus({ blockedReason: "PodsRemaining" }), { name: "slow" });
  const screen = { columns: 60, rows: 12 };
  const calm = await lastFrame(world, ["--all"], screen);
  assert.match(calm[0] ?? "", /^1 under way, 0 failed, 30 ready/);
  assert.match(calm[1] ?? "", /^NAMESPACE/);
  assert.match(calm[2] ?? "", /^fleet +slow/);
  assert.deepEqual([calm.length, calm.at(-2), calm.at(-1)], [12, "and 23 more", ""]);
  assert.ok(calm.every((line) => line.length <= 60));
  world.onSleep = () => {
    world.kube.onRequest = () => {
      throw answer(503, "ServiceUnavailable");
    };
  };
  const troubled = await lastFrame(world, ["--all"], screen);
  assert.match(troubled[0] ?? "", /^1 under way/);
  assert.match(troubled.at(-2) ?? "", /^Failed to query Kubernetes at https:.*…$/);
  assert.equal(troubled.length, 12);
});

Deno.test("ostler status -w: keeps the headline of one pool on a terminal with few rows", async () => {
  const world = story(rollingStatus({ message: "a long story ".repeat(20) }));
  const frame = await lastFrame(world, ["pool"], { columns: 60, rows: 8 });
  assert.match(frame[0] ?? "", /^fleet\/pool {3}Rolling/);
  assert.equal(frame.length, 8);
});

Deno.test("ostler status -w: shows its view on a terminal that reports no size", async () => {
  const frame = await lastFrame(story(rollingStatus()), ["pool"], { columns: 0, rows: 0 });
  assert.match(frame[0] ?? "", /^fleet\/pool {3}Rolling/);
});

Deno.test("ostler status -w: refuses a NodeVersion, and names the command that waits for it", async () => {
  const { code, err } = await new FakeWorld().run(["status", "-w", "nodeversion/v"]);
  assert.equal(code, 2);
  assert.match(err, /`kubectl wait --for=condition=Ready nodeversion\/v`/);
});

/** Returns a world with a ScalingGroup that follows a NodeVersion with this image; `put` writes the group's Rollout. */
function groupWorld(image: string): { world: FakeWorld; put(status: object): void } {
  const world = new FakeWorld();
  const at = { uid: "u", creationTimestamp: new Date(0).toISOString(), generation: 1 };
  world.kube.put("scalinggroups", { metadata: { name: "workers", ...at }, spec: { nodeImage: "v" } } as never);
  const spec = { image, imageVersion: "2", kubernetesComponentsReference: "c", kubernetesClusterVersion: "" };
  world.kube.put("nodeversions", { metadata: { name: "v", ...at, generation: 7 }, spec } as never);
  const metadata = { namespace: "kube-system", name: "scaling-group.workers", creationTimestamp: at.creationTimestamp };
  return { world, put: (status) => void world.kube.put("rollouts", { metadata, status } as never) };
}

Deno.test("ostler status -w: does not treat a scaling group as ready before its rollout has the target of its NodeVersion", async () => {
  const { world, put } = groupWorld("img:new");
  put(readyStatus({ image: "img:old", targetTemplateHash: hashOf({ image: "img:old", components: "c" }) }));
  const waiting = await world.run(["status", "-w", "sg/workers", "--timeout", "10s"]);
  assert.equal(waiting.code, 3, waiting.out);
  assert.match(waiting.err, /"kube-system\/scaling-group.workers" waits for NodeVersion "v"/);
  world.onSleep = () => put(readyStatus({ targetTemplateHash: hashOf({ image: "img:new", components: "c" }) }));
  const before = world.time;
  assert.equal((await world.run(["status", "-w", "sg/workers"])).code, 0);
  assert.equal(world.time, before + 1_000);
});

Deno.test("ostler status -w: uses only the Rollout of a scaling group if the NodeVersions cannot be read", async () => {
  const { world, put } = groupWorld("img:new");
  put(readyStatus());
  world.kube.onRequest = (request) => {
    if (request.startsWith("list nodeversions")) throw answer(403, "Forbidden");
  };
  assert.equal((await world.run(["status", "-w", "sg/workers"])).code, 0);
});

Deno.test("ostler status -A: shows that pools are left out because the user may not list their kind, and -w then exits with 1", async () => {
  const made = new FakeWorld();
  made.putPool(readyStatus());
  const metadata = { namespace: "kube-system", name: "scaling-group.workers" };
  made.kube.put("rollouts", { metadata, status: rollingStatus({ phase: "Halted" }) });
  made.kube.onRequest = (request) => {
    if (request.startsWith("list scalinggroups")) throw answer(403, "Forbidden");
  };
  const told = /"kube-system\/scaling-group\.workers": you are not allowed to list ScalingGroups; /;
  const watched = await made.run(["status", "-A", "-w"]);
  assert.equal(watched.code, 1);
  assert.match(watched.err, told);
  const shown = await made.run(["status", "-A"]);
  assert.equal(shown.code, 0);
  assert.match(shown.err, told);
});
