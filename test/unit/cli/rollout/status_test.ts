import assert from "node:assert/strict";
import { condition, FakeWorld, readyStatus, rollingStatus, start } from "../../../support/fake_world.ts";
import { ApiException } from "../../../../activities/kube/client_node.ts";
import { answer } from "../../../support/fake_kube.ts";

function world(): FakeWorld {
  const made = new FakeWorld();
  made.putPool(rollingStatus());
  made.putPool(readyStatus(), { name: "calm", labels: { team: "a" } });
  made.putPool(undefined, { name: "fresh" });
  return made;
}

Deno.test("ostler status: lists the pools of the namespace with the columns of kubectl", async () => {
  const { code, out, err } = await world().run(["status"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(out.split("\n").map((line) => line.split(/ {2,}/)), [
    ["NAME", "READY", "PHASE", "UPDATED", "FAILED", "BLOCKED", "WAVE", "AGE"],
    ["calm", "True", "Converged", "10/10", "0", "1h"],
    ["fresh", "no rollout"],
    ["pool", "False", "Rolling", "3/10", "0", "2/3", "1h"],
    [""],
  ]);
});

Deno.test("ostler status -A -o wide: shows the namespace and the additional columns", async () => {
  const { out } = await world().run(["status", "-A", "-o", "wide"]);
  const [head = "", calm = ""] = out.split("\n");
  assert.match(head, /^NAMESPACE +NAME .* ETA +PAUSED +REVISION +IMAGE +WORKFLOW +AGE$/);
  assert.match(calm, /^fleet +calm .* false +2 +img:2 +1h$/);
});

Deno.test("ostler status: shows waves, machines, blockers and deadlines of one pool", async () => {
  const { code, out } = await world().run(["status", "fleet/pool"]);
  assert.equal(code, 0);
  for (
    const part of [
      /^Wave 2 of 3 is under way$/m,
      /^waves {7}1 {2}█{30} {2}1\/1 {2}done$/m,
      /^ {12}2 {2}█{15}░{15} {2}2\/4 {2}rolling$/m,
      /^machines {4}3 wanted: 3 updated, 10 ready, 1 joining, 1 draining$/m,
      /^under way {3}new-1 +Joining +for 2m .* attempt 2$/m,
      /^ +old-1 \(w-1\) +Draining +for 4m /m,
      /blocked by pod apps\/web-1 of Deployment apps\/web: PodDisruptionBudget apps\/web allows 0 disruptions$/m,
      /^revision {4}2, img:2, kubelet 1.36.1, policy careful$/m,
      /^eta .*\(in 30m\)$/m,
    ]
  ) assert.match(out, part);
});

Deno.test("ostler status: suggests commands for a halted, a paused and an unapproved rollout", async () => {
  const made = world();
  made.putRollout(readyStatus({ phase: "Halted", message: "new-1 did not join" }));
  const todo = async (): Promise<string[]> =>
    (await made.run(["status", "pool"])).out.match(/ostler \w+ -n fleet pool.*/g) ?? [];
  assert.deepEqual((await todo()).map((line) => line.split(" ")[1]), ["retry", "abort"]);
  made.putRollout(rollingStatus({ paused: true, pausedBy: { by: "ada", reason: "lunch", since: start } }));
  assert.deepEqual((await todo()).map((line) => line.split(" ")[1]), ["resume"]);
  made.putRollout(rollingStatus({ blockedReason: "AwaitingApproval", plan: { hash: "abc", approved: false } }));
  assert.match((await todo()).at(-1) ?? "", /^ostler approve -n fleet pool --plan abc /);
});

Deno.test("ostler status: shows the members of etcd for control planes, and what blocks their machines", async () => {
  const made = world();
  const seats = [
    { name: "cp-1", machine: "control-1", role: "Leader", isWell: true, version: "3.6.8" },
    { name: "cp-2", role: "Learner", isWell: false, version: "3.6.8" },
  ];
  const doubts = [{ says: 'member "cp-2" is a learner, without a vote yet' }];
  const etcd = { seats, quorum: { needed: 1, well: 1 }, doubts };
  made.putRollout(rollingStatus({ blockedReason: "EtcdInDoubt", etcd }));
  const { out } = await made.run(["status", "pool"]);
  for (
    const part of [
      /^etcd {8}1 of 1 voting, quorum 1, none may fail$/m,
      /^ {12}cp-1 +leader +healthy +3.6.8$/m,
      /^ {12}cp-2 +learner +unhealthy +3.6.8$/m,
      /^ {12}member "cp-2" is a learner, without a vote yet$/m,
      /ostler promote -n fleet pool +continue despite the etcd check, at your own risk$/m,
    ]
  ) assert.match(out, part);
});

Deno.test("ostler status -o json: prints the status unchanged, as one object for a named pool and as items for a selector", async () => {
  const made = world();
  const one = JSON.parse((await made.run(["status", "pool", "-o", "json"])).out);
  assert.deepEqual([one.name, one.ready, one.status.wave], ["pool", false, "2/3"]);
  const { items } = JSON.parse((await made.run(["status", "-l", "team=a", "-o", "json"])).out);
  assert.deepEqual(items.map(({ name }: { name: string }) => name), ["calm"]);
});

Deno.test("ostler status: shows whether the webhook or nothing holds new machines when no MutatingAdmissionPolicy does", async () => {
  const made = world();
  const configuration = { metadata: { name: "hold-new-machines.ostler.dev" } };
  made.kube.remove("mutatingadmissionpolicybindings", configuration.metadata.name);
  assert.match(
    (await made.run(["status"])).err,
    /^Nothing holds new machines, so they boot at once and rollouts are not paced: .*\n$/,
  );
  made.kube.put("mutatingwebhookconfigurations", configuration);
  assert.match((await made.run(["status"])).err, /^Nothing holds new machines/);
  made.kube.put("mutatingwebhookconfigurations", { ...configuration, webhooks: [{}] });
  assert.match((await made.run(["status"])).err, /^The webhook holds new machines, because .*\n$/);
  const heldBy = async (): Promise<unknown> =>
    JSON.parse((await made.run(["status", "-o", "json"])).out).newMachinesHeldBy;
  assert.equal(await heldBy(), "webhook");
  made.kube.onRequest = (request) => {
    if (request.includes("mutating")) throw answer(403, "Forbidden", "not for you");
  };
  assert.deepEqual([await heldBy(), (await made.run(["status"])).err], [undefined, ""]);
});

Deno.test("ostler status: shows the valid fields of a Rollout that has invalid fields", async () => {
  const made = new FakeWorld();
  made.putPool({
    phase: 7,
    message: "here",
    waves: "none",
    underway: [{ machine: 1 }, { machine: "m" }],
    conditions: null,
  });
  const { code, out } = await made.run(["status", "pool"]);
  assert.equal(code, 0);
  assert.match(out, /^here$/m);
  assert.match(out, /^under way {3}m /m);
});

Deno.test("ostler status: exits with 1 for a missing pool, and names similar pools, or the namespace that has a pool of that name", async () => {
  const made = world();
  const near = await made.run(["status", "pol"]);
  assert.deepEqual([near.code, near.out], [1, ""]);
  assert.match(near.err, /^Failed to find MachineDeployment "fleet\/pol": .*; did you mean "pool"\?\n$/);
  const elsewhere = await made.run(["status", "pool", "-n", "default"]);
  assert.match(elsewhere.err, /that name is in namespace "fleet"; select the namespace with -n\n$/);
});

Deno.test("ostler status: names the kind of a missing pool, with similar names of that kind", async () => {
  const made = world();
  const missing = async (pool: string): Promise<string> => (await made.run(["status", pool])).err;
  assert.equal(await missing("sg/alfa"), 'Failed to find ScalingGroup "alfa": the cluster has no ScalingGroup\n');
  assert.equal(await missing("nodepool/edg"), 'Failed to find NodePool "fleet/edg": its namespace has no NodePool\n');
  made.kube.put("scalinggroups", { metadata: { name: "alpha" }, spec: {} });
  made.kube.put("nodepools", { metadata: { namespace: "fleet", name: "edge" }, spec: {} });
  made.kube.put("nodepools", { metadata: { namespace: "default", name: "far" }, spec: {} });
  assert.equal(await missing("sg/alfa"), 'Failed to find ScalingGroup "alfa": no such name; did you mean "alpha"?\n');
  assert.equal(
    await missing("nodepool/edg"),
    'Failed to find NodePool "fleet/edg": no such name; did you mean "edge"?\n',
  );
  assert.equal(
    await missing("nodepool/far"),
    'Failed to find NodePool "fleet/far": that name is in namespace "default"; select the namespace with -n\n',
  );
  made.kube.onRequest = (request) => {
    if (request.startsWith("list")) throw answer(403, "Forbidden");
  };
  assert.equal(await missing("sg/alfa"), 'Failed to find ScalingGroup "alfa": no such name\n');
});

Deno.test("ostler status: exits with 2 for an invalid selection", async () => {
  const made = world();
  for (const args of [["pool", "--all"], ["a/b/c"], ["-o", "xml"]]) {
    const { code, err } = await made.run(["status", ...args]);
    assert.equal(code, 2, args.join(" "));
    assert.notEqual(err, "");
  }
});

Deno.test("ostler status: exits with 4 when the API server is unreachable, and with 1 when it refuses", async () => {
  const made = world();
  const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  made.kube.onRequest = () => {
    throw new TypeError("fetch failed", { cause });
  };
  const away = await made.run(["status"]);
  assert.deepEqual([away.code, away.err], [
    4,
    "Failed to reach Kubernetes at https://kube.test: connect ECONNREFUSED\n",
  ]);
  made.kube.onRequest = () => {
    throw answer(403, "Forbidden", "ada cannot list machinedeployments");
  };
  const refused = await made.run(["status"]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /^Failed to query Kubernetes at https:\/\/kube.test: HTTP 403, ada cannot list/);
  made.kube.onRequest = () => {
    throw new ApiException(404, "Not Found", "<html>no such host</html>", {});
  };
  const proxied = await made.run(["status"]);
  assert.deepEqual([proxied.code, proxied.err], [
    4,
    "Failed to query Kubernetes at https://kube.test: HTTP 404, but not from the API server; check the proxy or load " +
    "balancer before it\n",
  ]);
  assert.equal(made.closed, 3);
});

Deno.test('ostler status: lists each pool as "no rollout" when the Rollout CRD is not installed', async () => {
  const made = new FakeWorld();
  made.putPool(undefined);
  made.kube.onRequest = (request) => {
    if (request.startsWith("list rollouts")) throw answer(404, "NotFound");
  };
  const { code, out } = await made.run(["status"]);
  assert.equal(code, 0);
  assert.match(out, /^pool +no rollout$/m);
});

Deno.test("ostler status: uses color on a terminal, and not with NO_COLOR", async () => {
  const made = world();
  made.putRollout(rollingStatus({ conditions: [condition("Ready", "True")] }));
  const watched = await made.run(["status"], { isWatched: true });
  assert.ok(watched.out.includes("\x1b[32mTrue\x1b[39m"));
  const plain = await made.run(["status"], { isWatched: true, env: { NO_COLOR: "1" } });
  assert.equal(plain.out, (await made.run(["status"])).out);
});

Deno.test("ostler status: suggests similar names for a missing pool also to users who can list pools of only one namespace", async () => {
  const made = world();
  const forbidding = (listed: RegExp) => (request: string): void => {
    if (listed.test(request)) throw answer(403, "Forbidden");
  };
  made.kube.onRequest = forbidding(/^list machinedeployments $/);
  const near = await made.run(["status", "pol"]);
  assert.equal(near.code, 1);
  assert.match(near.err, /^Failed to find MachineDeployment "fleet\/pol": no such name; did you mean "pool"\?\n$/);
  made.kube.onRequest = forbidding(/^list machinedeployments/);
  const none = await made.run(["status", "pol"]);
  assert.equal(none.err, 'Failed to find MachineDeployment "fleet/pol": no such name\n');
  made.kube.onRequest = (request) => {
    if (request.startsWith("list")) throw answer(503, "ServiceUnavailable");
  };
  assert.equal((await made.run(["status", "pol"])).code, 4);
});
