import assert from "node:assert/strict";
import { answer } from "../../../support/fake_kube.ts";
import { machine, node } from "../../../support/machine_objects.ts";
import { condition, FakeWorld, readyStatus, rollingStatus, start } from "../../../support/fake_world.ts";

const hold = { "machine-controller.kubermatic.io/initializers": "machine-deployment/fleet/pool" };
const owned = { ownerReferences: [{ kind: "MachineSet", name: "pool-1", uid: "uid-of-pool-1" }] };

/** A world with one machine, in a pool with this status. */
function world(status: object, given: Parameters<typeof machine>[1] = {}, name = "m-1"): FakeWorld {
  const made = new FakeWorld();
  made.putPool(status);
  made.kube.put("machinesets", {
    metadata: {
      namespace: "fleet",
      name: "pool-1",
      labels: { pool: "pool" },
      ownerReferences: [{ kind: "MachineDeployment", name: "pool", uid: "uid-of-pool" }],
    },
  });
  made.kube.put("machines", machine(name, { ...given, metadata: { ...owned, ...given.metadata } }));
  made.kube.put("nodes", node(`node-${name}`));
  return made;
}

async function explained(made: FakeWorld, name = "m-1"): Promise<string> {
  const { code, out, err } = await made.run(["explain", name]);
  assert.deepEqual([code, err], [0, ""]);
  assert.equal(out.trimEnd().includes("\n"), false, "one paragraph");
  return out;
}

const updated = { hash: "hash-2" };
const held = { hash: "hash-2", annotations: hold, finalizers: [], status: {} };

Deno.test("explain: shows the step of a machine, its deadline, and the pod that blocks it", async () => {
  const text = await explained(world(rollingStatus(), {}, "old-1"), "old-1");
  assert.match(text, /is being drained and will be removed; this step started 4m ago\./);
  assert.match(text, /Pod apps\/web-1 of Deployment apps\/web is not evicted: PodDisruptionBudget apps\/web allows 0/);
  assert.match(text, /The deadline is .*\(in 56m\): if pods remain by then, the drain keeps waiting\./);
});

Deno.test("explain: shows that a NodePool also updates the machine's node, and may replace the node after a failed update", async () => {
  const made = world(readyStatus(), updated);
  const digest = `sha256:${"b".repeat(64)}`;
  const failed = [{ digest, reason: "StageRefused", at: start - 60_000, isReplaceable: true }];
  const { metadata, ...rest } = node("node-m-1");
  const annotations = { "ostler.dev/node-os": JSON.stringify({ failed }) };
  made.kube.put("nodes", { ...rest, metadata: { ...metadata, uid: "u", labels: { pool: "edge" }, annotations } });
  const spec = { nodeSelector: { matchLabels: { pool: "edge" } }, driver: "bootc" };
  const image = { reference: `registry.example/os@${digest}` };
  made.kube.put("nodepools", { metadata: { namespace: "fleet", name: "edge" }, spec: { ...spec, image } });
  const text = await explained(made, "node-m-1");
  assert.match(text, /Machine "m-1" of pool "fleet\/pool".*Node "node-m-1" belongs to NodePool "fleet\/edge"/);
  assert.match(
    text,
    /failed on the node .*: StageRefused\. .*retries once in the node's wave, and then replaces the node\./,
  );
});

Deno.test("fault U7 explain: shows the taint whose removal a machine with a Ready node waits for", async () => {
  const made = world(rollingStatus(), updated, "new-1");
  const spec = { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }] };
  made.kube.put("nodes", { ...node("node-new-1", { since: "2026-01-01T00:00:00Z" }), spec });
  assert.match(
    await explained(made, "new-1"),
    /It waits: node "node-new-1" is Ready, but taint "node\.kubernetes\.io\/not-ready" keeps pods off it\./,
  );
});

Deno.test("explain: shows the join attempt and the last Event of a joining machine", async () => {
  const made = world(rollingStatus(), { hash: "hash-2", status: {} }, "new-1");
  made.kube.put("events", {
    metadata: { namespace: "fleet", name: "e" },
    involvedObject: { kind: "Machine", name: "new-1" },
    ...{
      type: "Warning",
      reason: "CreateFailed",
      message: "no quota.",
      lastTimestamp: new Date(start - 60_000).toISOString(),
    },
  });
  const text = await explained(made, "new-1");
  assert.match(text, /joining the cluster \(attempt 2, because earlier ones failed\); this step started 2m ago\./);
  assert.match(text, /Last event, at .*\(1m ago\): CreateFailed: no quota\.\n$/);
});

Deno.test("explain: shows the last boot report of a booting machine, or the typical cause of its silence", async () => {
  const status = { addresses: [{ address: "10.0.0.7" }] };
  const made = world(rollingStatus(), { hash: "hash-2", status }, "new-1");
  const silent = await explained(made, "new-1");
  assert.match(silent, / The machine sent no boot report: .*"journalctl -u bootstrap -u setup" on 10\.0\.0\.7\.\n$/);
  const line = { phase: "setup", step: "packages", state: "Failed", message: "no route to the mirror" };
  const metadata = { namespace: "cloud-init-settings", name: "ostler-boot-pool-fleet" };
  made.kube.put("configmaps", { metadata, data: { "new-1": JSON.stringify(line) } });
  const text = await explained(made, "new-1");
  assert.match(text, / Its last boot report: setup step "packages" failed: no route to the mirror\.\n$/);
  assert.doesNotMatch(text, /no boot report/);
});

Deno.test("explain: shows what a held machine waits for: pause, block, soak, budget", async () => {
  const pausedBy = { by: "ada", reason: "lunch", since: start };
  assert.match(
    await explained(world(rollingStatus({ paused: true, pausedBy }), held)),
    /paused by ada: lunch; `ostler resume -n fleet pool`/,
  );
  const blocked = { ...condition("Blocked", "True"), message: "outside its windows" };
  const outside = rollingStatus({ blockedReason: "OutsideWindow", conditions: [blocked] });
  assert.match(await explained(world(outside, held)), /No machine starts now: outside its windows\./);
  const waves = [{ upTo: 1, state: "Soaking", soakUntil: new Date(start + 300_000).toISOString() }];
  assert.match(
    await explained(world(rollingStatus({ waves, wave: "1/1" }), held)),
    /before the soak of wave 1 ends, at .*\(in 5m\)\./,
  );
  assert.match(await explained(world(rollingStatus(), held)), /The budget is used by 2 machines under way/);
});

Deno.test("explain: shows that a machine's change is quarantined, and for a held machine the command that retries the change", async () => {
  const quarantine = [{
    specHash: "s",
    templateHash: "hash-2",
    revision: "2",
    image: "img:2",
    by: "ostler",
    reason: "2 failed",
    since: 1,
  }];
  const text = await explained(world(rollingStatus({ phase: "Halted", quarantine }), held));
  assert.match(
    text,
    /It is held and does not boot\. Its change, revision 2, is quarantined \(2 failed\).* `ostler retry -n fleet pool`\./,
  );
  const failed = await explained(world(rollingStatus({ quarantine, underway: [] }), { hash: "hash-2", status: {} }));
  assert.match(failed, /has an instance that is booting, and no node yet\. Its change, revision 2, is quarantined/);
});

Deno.test("explain: shows the position of an outdated machine in the order of replacement", async () => {
  const made = world(rollingStatus({ underway: [], usual: { join: [60], leave: [30] } }));
  made.kube.put("machines", machine("m-2", { metadata: { ...owned, creationTimestamp: "2026-01-02T00:00:00Z" } }));
  made.kube.put("nodes", node("node-m-2"));
  const set = made.kube.get("machinesets", "pool-1", "fleet");
  assert.ok(set);
  const annotations = { "machinedeployment.clusters.k8s.io/revision": "1" };
  made.kube.put("machinesets", {
    metadata: {
      ...{
        namespace: "fleet",
        name: "pool-2",
        labels: { pool: "pool", "machine-template-hash": "hash-2" },
        annotations,
      },
      ownerReferences: [{ kind: "MachineDeployment", name: "pool", uid: "uid-of-pool" }],
    },
  });
  made.kube.put("machines", machine("new-1", held));
  assert.match(
    await explained(made, "m-1"),
    /has an old template and will be replaced\. It is 1st of 2 in the order, in wave 1 of 1, next\./,
  );
  assert.match(
    await explained(made, "node-m-2"),
    /It is 2nd of 2 in the order, in wave 1 of 1, at about .* if nothing blocks it\./,
  );
});

Deno.test("explain: shows that a user skipped the machine, or that it was set aside because it could not be drained", async () => {
  const made = world(rollingStatus({ underway: [] }));
  made.progress = { skipped: ["m-1"], setAside: [] } as never;
  assert.match(await explained(made), /is not replaced, because a user ran skip\./);
  made.progress = { skipped: [], setAside: ["m-1"] } as never;
  assert.match(await explained(made), /could not be drained and was set aside/);
});

Deno.test("explain: shows that a user skipped the machine also while Temporal is unreachable", async () => {
  const made = world(rollingStatus({ underway: [], skipped: ["m-1"] }));
  assert.match(await explained(made), /is not replaced, because a user ran skip\./);
});

Deno.test("explain: shows whether Ostler keeps a deleted machine running, or machine-controller removes it", async () => {
  const deletionTimestamp = new Date(start - 60_000).toISOString();
  const kept = world(rollingStatus({ underway: [] }), { annotations: hold, metadata: { deletionTimestamp } });
  assert.match(await explained(kept), /machine-controller deleted it 1m ago, and Ostler keeps it running/);
  const free = world(rollingStatus({ underway: [] }), { metadata: { deletionTimestamp } });
  assert.match(await explained(free), /It was deleted 1m ago, and machine-controller is removing it\./);
});

Deno.test("explain: shows why a machine is unhealthy, and when it is replaced", async () => {
  const made = world(readyStatus(), updated);
  made.kube.put("nodes", node("node-m-1", { ready: false }));
  assert.match(
    await explained(made),
    /It is unhealthy: node "node-m-1" is not Ready .* It is replaced (now|at .* if that lasts), unless more than 40 %/,
  );
});

Deno.test("explain: shows that an updated machine needs no action, or the terminal error that machine-controller reports", async () => {
  assert.match(await explained(world(readyStatus(), updated)), /It is up to date; nothing is to be done\.\n$/);
  const broken = { hash: "hash-2", status: { errorReason: "InvalidConfiguration", errorMessage: "no such image" } };
  assert.match(
    await explained(world(readyStatus(), broken)),
    /machine-controller reports a terminal error: InvalidConfiguration: no such image\./,
  );
});

Deno.test("explain: shows that no rollout replaces a machine that no MachineDeployment owns", async () => {
  const made = world(readyStatus(), { metadata: { ownerReferences: [] } });
  assert.match(await explained(made), /No MachineDeployment owns it, so no rollout replaces it\.\n$/);
});

Deno.test("explain: exits with 1 for a missing machine, and names a similar one or the machine that replaced it", async () => {
  const made = world(rollingStatus());
  const fails = async (name: string): Promise<string> => {
    const { code, err } = await made.run(["explain", name]);
    assert.equal(code, 1);
    return err;
  };
  assert.match(await fails("m-3"), /^Failed to find machine "m-3": .*; did you mean "m-1"\?\n$/);
  made.kube.put("nodes", node("control-plane-1"));
  assert.match(await fails("control-plane-1"), /no Machine and no NodePool owns it/);
  made.progress = { replacements: [{ machine: "pool-x", replacedBy: "pool-y" }] } as never;
  assert.match(
    await fails("pool-x"),
    /^Machine "pool-x" no longer exists: the rollout of pool "pool" replaced it with "pool-y"\n$/,
  );
});

/** Refuses requests as for a user with permissions in one namespace, and requests that begin with one of `others`. */
function namespaced(made: FakeWorld, ...others: string[]): FakeWorld {
  made.kube.onRequest = (request) => {
    const isOfAll = /^(list \w+|\w+ nodes .*) ?$/.test(request);
    if (isOfAll || others.some((other) => request.startsWith(other))) throw answer(403, "Forbidden");
  };
  return made;
}

Deno.test("explain: without permission to read nodes and Events, shows the rest and names both as forbidden", async () => {
  const text = await explained(namespaced(world(readyStatus(), updated), "list events"));
  assert.match(text, /It is up to date; nothing is to be done\./);
  assert.match(
    text,
    /You are not allowed to read its node "node-m-1" and its Events, so facts may be missing here\.\n$/,
  );
  const made = world(readyStatus(), updated);
  made.kube.onRequest = (request) => {
    if (request.startsWith("get nodes")) throw answer(503, "ServiceUnavailable");
  };
  assert.equal((await made.run(["explain", "m-1"])).code, 4);
});

Deno.test("explain: finds a machine by its node; for a missing name, reports that the user cannot read the other namespaces", async () => {
  const made = namespaced(world(readyStatus(), updated));
  assert.match(await explained(made, "node-m-1"), /^Machine "m-1" of pool "fleet\/pool"/);
  const { code, err } = await made.run(["explain", "m-3"]);
  assert.equal(code, 1);
  assert.match(
    err,
    /has this name in namespace "fleet", and you are not allowed to read other namespaces; did you mean "m-1"\?\n$/,
  );
});

Deno.test("explain: finds the pool of a machine whose MachineSet is missing by the longest pool name that matches", async () => {
  const ownerReferences = [{ kind: "MachineSet", name: "web-blue-5f7d", uid: "u" }];
  const made = world(readyStatus(), { metadata: { ownerReferences } });
  for (const name of ["web", "web-blue"]) made.putPool(readyStatus(), { name });
  assert.match(await explained(made), /^Machine "m-1" of pool "fleet\/web-blue"/);
  made.progress = { replacements: [{ machine: "web-blue-5f7d-x", replacedBy: "m-9" }] } as never;
  const { err } = await made.run(["explain", "web-blue-5f7d-x"]);
  assert.match(err, /the rollout of pool "web-blue" replaced it/);
  assert.deepEqual(made.asked.at(-1), { namespace: "fleet", name: "web-blue" });
});

Deno.test("explain: numbers a soaking wave among all waves of the rollout, and uses the singular for one pod", async () => {
  const soakUntil = new Date(start + 300_000).toISOString();
  const waves = Array.from({ length: 50 }, (_, index) => ({
    upTo: 26 + index,
    ...(index < 5 ? { state: "Done" } : { state: "Soaking", soakUntil }),
  }));
  const text = await explained(world(rollingStatus({ waves, wave: "31/120" }), held));
  assert.match(text, /No machine starts before the soak of wave 31 ends/);
  const blockers = ["web-1", "web-2"].map((pod) => ({ pod, owner: "", why: "it stays" }));
  const underway = [{ machine: "m-1", step: "Draining", since: new Date(start).toISOString(), until: "", blockers }];
  assert.match(await explained(world(rollingStatus({ underway }))), /it stays, and 1 more pod is not evicted\./);
});
