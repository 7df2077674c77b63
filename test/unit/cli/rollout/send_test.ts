import assert from "node:assert/strict";
import { Refusal, TimedOut, Unreachable } from "../../../../cli/failure.ts";
import { answer } from "../../../support/fake_kube.ts";
import { machine } from "../../../support/machine_objects.ts";
import { condition, FakeWorld, namesOf, readyStatus, rollingStatus, start } from "../../../support/fake_world.ts";

function world(status: object = rollingStatus()): FakeWorld {
  const made = new FakeWorld();
  made.putPool(status);
  return made;
}

for (const name of ["pause", "resume", "promote", "retry"]) {
  Deno.test(`ostler ${name}: sends the command with user and reason to the pool's workflow, and shows the answer`, async () => {
    const made = world();
    const { code, out, err } = await made.run([name, "pool", "--reason", "lunch"]);
    assert.deepEqual([code, out, err], [0, `fleet/pool: ${name} it is\n`, ""]);
    assert.deepEqual(made.sent.map(({ within: _, ...order }) => order), [
      { name, pool: { namespace: "fleet", name: "pool" }, command: { by: "ada", reason: "lunch" } },
    ] as unknown[]);
  });
}

Deno.test("ostler pause: --as sends another name instead of the user's", async () => {
  const made = world();
  await made.run(["pause", "pool", "--as", "eve"]);
  assert.deepEqual(made.sent[0]?.command, { by: "eve" });
});

Deno.test("ostler pause -l: sends the command to every pool with the labels, and exits with 1 when one pool refuses", async () => {
  const made = new FakeWorld();
  for (const name of ["a", "b", "c"]) made.putPool(rollingStatus(), { name, labels: { team: "x" } });
  made.putPool(rollingStatus(), { name: "d" });
  made.answer = ({ pool }) => {
    if (pool.name === "b") throw new Refusal("Cannot pause: not now");
    return "paused";
  };
  const { code, out, err } = await made.run(["pause", "-l", "team=x"]);
  assert.deepEqual(namesOf(made.sent), [["pause", "a"], ["pause", "b"], ["pause", "c"]]);
  assert.deepEqual([code, out, err], [1, "fleet/a: paused\nfleet/c: paused\n", "fleet/b: Cannot pause: not now\n"]);
});

Deno.test("ostler pause: exits with 2 when the arguments select no pool, and with 1 when no pool has the labels", async () => {
  const made = world();
  assert.equal((await made.run(["pause"])).code, 2);
  const none = await made.run(["pause", "-l", "team=none"]);
  assert.deepEqual([none.code, none.err], [
    1,
    `Failed to pause: there is no pool with labels "team=none" in namespace "fleet"\n`,
  ]);
  assert.deepEqual(made.sent, []);
});

Deno.test("ostler pause: exits with 3 when the workflow does not answer, and with 4 when Temporal is unreachable", async () => {
  const made = world();
  made.answer = () => {
    throw new TimedOut("Cannot pause: no answer");
  };
  assert.equal((await made.run(["pause", "pool"])).code, 3);
  made.unreachable = new Unreachable("Failed to reach Temporal at there: refused");
  const { code, err } = await made.run(["pause", "pool"]);
  assert.deepEqual([code, err], [4, "Failed to reach Temporal at there: refused\n"]);
});

/** Returns a world whose pool has the workflow of cluster "south"; `ostler` has no cluster name by default. */
function ofSouth(): FakeWorld {
  return world(rollingStatus({ workflowId: "south/machine-deployment/fleet/pool" }));
}

for (const name of ["pause", "resume", "approve", "promote", "retry", "abort"]) {
  Deno.test(`ostler ${name}: exits with 2 and sends nothing when the Rollout names the workflow of another cluster`, async () => {
    const made = ofSouth();
    const asked: string[] = [];
    const ask = (text: string): Promise<string> => (asked.push(text), Promise.resolve("y"));
    const { code, err } = await made.run([name, "pool", ...(name === "approve" ? ["--plan", "abc"] : [])], { ask });
    assert.deepEqual([code, err, asked, made.sent], [
      2,
      `Failed to ${name} the rollout of "fleet/pool": its workflow is "south/machine-deployment/fleet/pool", not ` +
      '"machine-deployment/fleet/pool"; give --cluster south\n',
      [],
      [],
    ]);
  });
}

Deno.test("ostler pause --all: sends nothing when one of the pools has the workflow of another cluster", async () => {
  const made = many();
  made.putPool(rollingStatus({ workflowId: "south/machine-deployment/fleet/p22" }), { name: "p22" });
  const { code, err } = await made.run(["pause", "--all"]);
  assert.deepEqual([code, made.sent], [2, []]);
  assert.match(err, /rollout of "fleet\/p22": its workflow is "south/);
});

Deno.test("ostler abort: with --cluster, reaches the pool of that cluster, and refuses a pool of the cluster without a name", async () => {
  const made = ofSouth();
  assert.equal((await made.run(["abort", "pool", "--yes", "--cluster", "south"])).code, 0);
  assert.deepEqual(made.sent.map(({ pool }) => pool.cluster), ["south"]);
  const plain = world();
  const { code, err } = await plain.run(["abort", "pool", "--yes", "--cluster", "south"]);
  assert.deepEqual([code, plain.sent], [2, []]);
  assert.match(err, /not "south\/machine-deployment\/fleet\/pool"; give --cluster ""\n$/);
});

Deno.test("ostler abort: identifies the cluster by the UID in the Schedule, not by the Rollout, which can still have a previous cluster name", async () => {
  const renamed = ofSouth();
  renamed.home = { ...renamed.home, owner: "This" };
  assert.equal((await renamed.run(["abort", "pool", "--yes"])).code, 0);
  const other = world();
  other.home = { ...other.home, owner: "Other" };
  const { code, err } = await other.run(["abort", "pool", "--yes"]);
  assert.deepEqual([code, other.sent, err], [
    2,
    [],
    'Failed to abort the rollout of "fleet/pool": Schedule "renew-credentials" in Temporal\'s namespace "default" ' +
    "belongs to another cluster; give this cluster's name with --cluster (`ostler clusters` lists the names)\n",
  ]);
});

Deno.test("ostler approve: requires one pool and the hash of its plan, and sends the hash", async () => {
  const made = world();
  const { code, err } = await made.run(["approve", "pool"]);
  assert.equal(code, 2);
  assert.equal(
    err,
    'Failed to approve "pool": --plan HASH is missing; `ostler plan -n fleet pool` shows the plan and its hash\n',
  );
  assert.equal((await made.run(["approve", "--all", "--plan", "abc"])).code, 2);
  assert.equal((await made.run(["approve", "pool", "--plan", "abc"])).code, 0);
  assert.deepEqual(made.sent.map(({ command }) => command), [{ by: "ada", plan: "abc" }]);
});

Deno.test("ostler promote --full: sends the command with full: true", async () => {
  const made = world();
  await made.run(["promote", "pool", "--full"]);
  assert.deepEqual(made.sent[0]?.command, { by: "ada", full: true });
});

Deno.test("ostler abort: asks for confirmation on a terminal, and accepts only the answer yes", async () => {
  const made = world(rollingStatus({ lastGood: { templateHash: "h", revision: "1" } }));
  const asked: string[] = [];
  const answering = (answer: string) => ({ ask: (text: string) => (asked.push(text), Promise.resolve(answer)) });
  const no = await made.run(["abort", "pool"], answering("n"));
  assert.deepEqual([no.code, no.err], [1, "Abort cancelled: nothing was changed\n"]);
  assert.deepEqual(asked, ['Abort the rollout of "fleet/pool", and roll back to revision 1? [y/N] ']);
  assert.deepEqual(made.sent, []);
  assert.equal((await made.run(["abort", "pool"], answering("yes"))).code, 0);
  assert.deepEqual(namesOf(made.sent), [["abort", "pool"]]);
});

Deno.test("ostler abort: requires --yes without a terminal", async () => {
  const made = world();
  assert.equal((await made.run(["abort", "pool"])).code, 2);
  assert.deepEqual(made.sent, []);
  assert.equal((await made.run(["abort", "pool", "--yes"])).code, 0);
});

Deno.test("ostler skip: finds the pool of a machine by its owners, also by the name of its node", async () => {
  const made = world();
  const ownerReferences = [{ kind: "MachineSet", name: "pool-1", uid: "u" }];
  made.kube.put("machines", machine("old-1", { metadata: { ownerReferences } }));
  made.kube.put("machinesets", {
    metadata: {
      namespace: "fleet",
      name: "pool-1",
      ownerReferences: [{ kind: "MachineDeployment", name: "pool", uid: "u" }],
    },
  });
  assert.equal((await made.run(["skip", "old-1"])).code, 0);
  assert.equal((await made.run(["skip", "node-old-1", "-n", "default"])).code, 0);
  assert.deepEqual(made.sent.map(({ pool, command }) => [pool.name, command.machine]), [["pool", "old-1"], [
    "pool",
    "old-1",
  ]]);
  const wrong = await made.run(["skip", "old-2"]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /has this name; for a machine of .+, give --pool; did you mean "old-1"/);
});

Deno.test("ostler skip: --pool names a machine of a scaling group or a NodePool, which has no Machine object", async () => {
  const made = world();
  made.kube.put("scalinggroups", { metadata: { name: "workers" }, spec: {} });
  made.kube.put("nodepools", { metadata: { namespace: "fleet", name: "gpu" }, spec: {} });
  assert.equal((await made.run(["skip", "i-0abc", "--pool", "sg/workers"])).code, 0);
  assert.equal((await made.run(["skip", "gpu-1", "--pool", "nodepool/gpu", "-n", "fleet"])).code, 0);
  assert.deepEqual(made.sent.map(({ pool: { kind, name }, command: { machine } }) => [kind, name, machine]), [
    ["ScalingGroup", "scaling-group.workers", "i-0abc"],
    ["NodePool", "node-pool.gpu", "gpu-1"],
  ]);
  const none = await made.run(["skip", "i-0abc"]);
  assert.deepEqual([none.code, none.err.includes("give --pool")], [1, true], none.err);
  assert.equal((await made.run(["skip", "i-0abc", "--pool", "pool"])).code, 2);
});

Deno.test("ostler pause: --wait waits until the pool is paused and no step is running", async () => {
  const made = world();
  const left = [rollingStatus({ paused: true }), rollingStatus({ paused: true, underway: [] })];
  made.onSleep = () => made.putRollout(left.shift() ?? {});
  const { code, out } = await made.run(["pause", "pool", "--wait"]);
  assert.deepEqual([code, made.time], [0, start + 2_000]);
  assert.match(out, /^fleet\/pool: Rolling, paused$/m);
});

Deno.test("ostler retry: --wait does not end at the halt that preceded the command", async () => {
  const halted = (since: number): object =>
    readyStatus({
      phase: "Halted",
      message: "stuck",
      conditions: [condition("Progressing", "False", new Date(since).toISOString())],
    });
  const made = world(halted(start));
  const next = [halted(start), rollingStatus(), halted(start + 9_000)];
  made.onSleep = () => made.putRollout(next.shift() ?? {});
  const { code, err } = await made.run(["retry", "pool", "--wait"]);
  assert.deepEqual([code, made.time], [1, start + 3_000]);
  assert.equal(err, 'The rollout of "fleet/pool" failed: Halted: stuck\n');
});

Deno.test("ostler abort: --wait exits with 0 when the rollout is aborted, and with 3 at --timeout", async () => {
  const made = world();
  made.onSleep = () => made.putRollout(readyStatus({ phase: "Aborted" }));
  assert.equal((await made.run(["abort", "pool", "--yes", "--wait"])).code, 0);
  const slow = world();
  const { code } = await slow.run(["abort", "pool", "--yes", "--wait", "--timeout", "10s"]);
  assert.deepEqual([code, slow.time], [3, start + 10_000]);
});

/** Twelve pools, two more than get a command concurrently. */
function many(): FakeWorld {
  const made = new FakeWorld();
  for (let index = 10; index < 22; index++) made.putPool(rollingStatus(), { name: `p${index}` });
  return made;
}

Deno.test("ostler pause: --all --wait sends the command to every pool before it waits, with one --timeout for all pools", async () => {
  const made = many();
  let sentBeforeWaiting = 0;
  made.onSleep = () => void (sentBeforeWaiting ||= made.sent.length);
  const { code, err } = await made.run(["pause", "--all", "--wait", "--timeout", "30s"]);
  assert.deepEqual([code, sentBeforeWaiting, made.time], [3, 12, start + 30_000]);
  assert.equal(
    err.match(/^fleet\/p\d+: Failed to reach the expected state within 30s: "fleet\/p\d+" is Rolling/gm)?.length,
    12,
  );
});

Deno.test("ostler pause: --all --wait reports each pool when it is paused, and does not wait for pools that refused", async () => {
  const made = many();
  made.answer = ({ pool }) => {
    if (pool.name === "p15") throw new Refusal("Cannot pause: not now");
    return "paused";
  };
  made.onSleep = () => {
    for (let index = 10; index < 22; index++) {
      if (index !== 15) made.putRollout(rollingStatus({ paused: true, underway: [] }), `p${index}`);
    }
  };
  const { code, out, err } = await made.run(["pause", "--all", "--wait"]);
  assert.deepEqual([code, made.time, err], [1, start + 1_000, "fleet/p15: Cannot pause: not now\n"]);
  assert.equal(out.match(/: Rolling, paused$/gm)?.length, 11);
});

Deno.test("ostler pause: --all --wait exits with 1 when a pool is deleted, and still waits for the other pools", async () => {
  const made = many();
  made.onSleep = () => {
    made.kube.remove("machinedeployments", "p10", "fleet");
    for (let index = 11; index < 22; index++) {
      made.putRollout(rollingStatus({ paused: true, underway: [] }), `p${index}`);
    }
  };
  const { code, out, err } = await made.run(["pause", "--all", "--wait"]);
  assert.equal(code, 1);
  assert.match(err, /^fleet\/p10: Failed to find MachineDeployment "fleet\/p10"/);
  assert.equal(out.match(/: Rolling, paused$/gm)?.length, 11);
});

Deno.test("ostler pause: --all exits with 1 when one pool fails unexpectedly, and still sends the command to the other pools", async () => {
  const made = many();
  made.answer = ({ pool }) => {
    if (pool.name === "p10") throw new TypeError("it is not a function");
    return "paused";
  };
  const { code, out, err } = await made.run(["pause", "--all"]);
  assert.equal(code, 1);
  assert.match(err, /^fleet\/p10: TypeError: it is not a function\n/);
  assert.equal(out.match(/: paused$/gm)?.length, 11);
});

Deno.test("ostler abort: sends nothing with an invalid --timeout", async () => {
  const made = world();
  const args = ["abort", "pool", "--yes", "--wait", "--timeout", "5min"];
  const { code, err } = await made.run(args);
  assert.deepEqual([code, err], [2, 'Failed to use "5min" as a duration: expected a form such as 90s, 15m or 1h30m\n']);
  assert.equal((await made.run(["skip", "old-1", "--wait", "--timeout", "5min"])).code, 2);
  assert.deepEqual(made.sent, []);
});

Deno.test("ostler abort: aborts nothing with an empty selector", async () => {
  const made = world();
  for (const selector of ["", " "]) {
    const { code, err } = await made.run(["abort", "--yes", "-l", selector]);
    assert.deepEqual([code, err], [
      2,
      "Failed to select pools: --selector is empty; to select all pools, give --all or -A\n",
    ]);
  }
  assert.deepEqual(made.sent, []);
});

for (const phase of ["RolledBack", "Aborted"]) {
  Deno.test(`ostler retry: --wait waits, for a pool in phase ${phase}, until its change is no longer quarantined`, async () => {
    const quarantine = [{ specHash: "s", templateHash: "hash-2", revision: "2", image: "img:2" }];
    const back = { phase, reason: phase, left: { kind: "RollBack" }, conditions: [condition("Ready", "False")] };
    const made = world(readyStatus({ ...back, quarantine }));
    const next = [readyStatus({ ...back, quarantine }), rollingStatus(), readyStatus({ ...back, quarantine: [] })];
    made.onSleep = () => made.putRollout(next.shift() ?? {});
    const { code, out, err } = await made.run(["retry", "pool", "--wait"]);
    assert.deepEqual([code, err, made.time], [0, "", start + 3_000]);
    assert.match(out, new RegExp(`^fleet/pool: ${phase}$`, "m"));
  });
}

Deno.test("ostler retry: --wait waits for the rollout that the retry of a rolled-back profile starts immediately", async () => {
  const quarantine = [{ specHash: "s", templateHash: "hash-2", revision: "2", image: "img:2" }];
  const conditions = [condition("Ready", "False")];
  const back = { phase: "RolledBack", reason: "RolledBack", left: { kind: "RollBack" }, pin: { bad: "b", good: "g" } };
  const made = world(readyStatus({ ...back, conditions, quarantine }));
  const next = [readyStatus({ ...back, conditions, quarantine: [] }), rollingStatus(), readyStatus({})];
  made.onSleep = () => made.putRollout(next.shift() ?? {});
  const { code, out } = await made.run(["retry", "pool", "--wait"]);
  assert.deepEqual([code, made.time], [0, start + 3_000]);
  assert.match(out, /^fleet\/pool: .*(?:[Rr]eady|Converged)/m);
});

for (
  const [plural, hidden, kinds] of [["scalinggroups", "scaling-group.workers", "ScalingGroups"], [
    "nodepools",
    "node-pool.edge",
    "NodePools",
  ]] as const
) {
  Deno.test(`ostler pause -A: reaches the other pools, and exits with 1 when pools are left out because the user may not list ${kinds}`, async () => {
    const made = world();
    made.kube.put("rollouts", { metadata: { namespace: "kube-system", name: hidden }, status: rollingStatus() });
    made.kube.onRequest = (request) => {
      if (request.startsWith(`list ${plural}`)) throw answer(403, "Forbidden");
    };
    const { code, err } = await made.run(["pause", "-A"]);
    assert.deepEqual([code, namesOf(made.sent)], [1, [["pause", "pool"]]]);
    assert.equal(
      err,
      `Failed to pause "kube-system/${hidden}": you are not allowed to list ${kinds}; name each pool, or get this ` +
        "permission\n",
    );
    const selected = await made.run(["pause", "-A", "-l", "a=b"]);
    assert.equal(selected.code, 1);
    assert.match(selected.err, /, so it is unknown whether the labels select it; get this permission\n$/);
    assert.equal((await made.run(["pause", "-n", "fleet", "--all"])).code, 0);
  });
}
