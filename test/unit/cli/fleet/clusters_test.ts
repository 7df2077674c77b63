/** `ostler clusters` and `ostler status --all-clusters` against a Temporal in memory, without any Kubernetes. */
import assert from "node:assert/strict";
import { type FakeCluster, FakeFleet, start } from "../../../support/fake_fleet.ts";
import { grpcStatus } from "../../../support/grpc_status.ts";

function fleet(clusters: Record<string, FakeCluster>): FakeFleet {
  const made = new FakeFleet();
  for (const [name, cluster] of Object.entries(clusters)) made.clusters.set(name, cluster);
  return made;
}

const halted = { phase: "Halted", reason: "Quarantined", message: "it is held", since: "2026-11-21T01:00:00Z" };
const awaiting = {
  ...{ phase: "Rolling", reason: "AwaitingApproval", since: "2026-11-21T02:50:00Z" },
  ...{ counts: { updated: 10, updatedReady: 3, desired: 10 }, wave: 2, waves: [{}, {}, {}] },
};

function twoClusters(): FakeFleet {
  const made = fleet({ north: { versions: ["v1"] }, south: { silentFor: 3, openFor: 45 } });
  made.runs.push(
    { cluster: "north", name: "a", phase: "Halted", progress: halted },
    { cluster: "north", name: "b", phase: "Rolling", progress: awaiting },
    { cluster: "south", name: "a", phase: "Rolling", progress: awaiting },
  );
  return made;
}

Deno.test("ostler clusters: shows workers, open rollouts and advice, and sends nothing to clusters without workers", async () => {
  const { code, out, err } = await twoClusters().run(["clusters"]);
  assert.deepEqual(
    out.split("\n").slice(0, 3).map((line) => line.split(/ {2,}/)),
    [
      ["CLUSTER", "UID", "WORKERS", "VERSION", "ROLLOUTS", "OLDEST HALT", "RENEWED", "SCHEDULE"],
      ["north", "uid-of-n", "1", "v1", "1 AwaitingApproval, 1 Halted", "2h", "20m ago", "Runs"],
      ["south", "uid-of-s", "none for 3m", "1 Rolling", "20m ago", "Stuck"],
    ],
  );
  assert.match(out, /"south": no worker polls task queue "ostler-south", the last one 3m ago/);
  assert.match(out, /"south": .*temporal schedule delete --namespace fleet --schedule-id south\/renew-credentials/);
  assert.match(out, /"north": 1 rollout halted, the first for 2h/);
  assert.deepEqual([code, err], [0, "1 open rollout did not report progress: only the phase is shown\n"]);
});

Deno.test("ostler clusters: --check exits with 1 only if a cluster needs an action by an administrator", async () => {
  assert.equal((await twoClusters().run(["clusters", "--check"])).code, 1);
  assert.equal((await fleet({ north: {} }).run(["clusters", "--check"])).code, 0);
  const none = await fleet({}).run(["clusters"]);
  assert.deepEqual([none.code, none.out, none.err.startsWith("Nothing to show")], [0, "", true]);
});

Deno.test("ostler clusters: -o json has a value for everything, and null for unknown values", async () => {
  const made = fleet({ "": { uid: "" }, north: { refusal: 7 } });
  const { items } = JSON.parse((await made.run(["clusters", "-o", "json"])).out);
  assert.deepEqual(
    items.map(({ name, uid, workers }: { name: string; uid: string; workers: number }) => [name, uid, workers]),
    [
      ["", "", 1],
      ["north", null, 1],
    ],
  );
  assert.match(items[0].needs[0], /^the UID of this cluster is unknown/);
  assert.match(items[1].needs[0], /^a request to Temporal failed, so data is missing: refused by the fake/);
  assert.equal(items[0].credentials.renewedAt, new Date(start - 20 * 60_000).toISOString());
});

Deno.test("ostler clusters: reports previous names of a cluster, shared task queues, missing or paused Schedules, and a version without workers", async () => {
  const made = fleet({
    old: { uid: "u-1", silentFor: null },
    new: { uid: "u-1" },
    east: { taskQueue: "ostler-west", hasSchedule: true },
    west: {},
    gone: { hasSchedule: false, silentFor: null },
    idle: { versions: ["v1"], current: "v2" },
    still: { isPaused: true },
    one: { uid: "u-2" },
    two: { uid: "u-2" },
  });
  made.runs.push({ cluster: "gone", name: "a", phase: "Rolling" });
  const { out } = await made.run(["clusters"]);
  for (
    const told of [
      /"old": this is the same cluster as "new", under its previous name: run `temporal schedule .*old\/renew-credentials/,
      /"east": shares task queue "ostler-west" with "west"/,
      /"gone": no Schedule renews its credentials: if the cluster no longer exists, terminate its runs/,
      /"idle": no worker of the current version "v2" polls/,
      /"one": this is the same cluster as "two", and workers serve both names, so both roll the same pools/,
      /"still": Schedule "still\/renew-credentials" is paused/,
    ]
  ) assert.match(out, told);
  assert.doesNotMatch(out, /"new":/);
});

Deno.test("ostler clusters: reads all pages of 1,200 clusters and 2,500 rollouts, and sends fewer than 30 workflow queries", async () => {
  const made = fleet(Object.fromEntries(Array.from({ length: 1_200 }, (_, index) => [`c-${index}`, {}])));
  for (let index = 0; index < 2_500; index++) made.runs.push({ cluster: "c-1", name: `p-${index}`, phase: "Rolling" });
  const { out } = await made.run(["clusters", "-o", "json"]);
  const { items, openRollouts } = JSON.parse(out);
  assert.deepEqual([items.length, openRollouts], [1_200, 2_500]);
  const queries = made.asked.filter((method) => method === "queryWorkflow").length;
  assert.ok(queries > 0 && queries < 30, `${queries} queries`);
});

Deno.test("ostler clusters: shows all counts of 60,000 rollouts, and ostler status lists some of them, whether or not the server groups counts", async () => {
  for (const doesGroup of [true, false]) {
    const made = Object.assign(twoClusters(), { doesGroup, total: 60_000 });
    const { out } = await made.run(["clusters", "-o", "json"]);
    assert.deepEqual(JSON.parse(out).items.map(({ rollouts }: { rollouts: object }) => rollouts), [
      { Halted: 1, Rolling: 1 },
      { Rolling: 1 },
    ]);
    const status = await made.run(["status", "--all-clusters"]);
    assert.match(status.err, /^Only 3 of 60000 open rollouts are listed; halted ones were included first/);
  }
});

Deno.test("ostler clusters: shows neither control characters nor query syntax from the names of foreign Schedules and runs", async () => {
  const made = fleet({ north: {} });
  made.foreign.push('x" OR 1=1/renew-credentials', "\u001b[2J/renew-credentials", "a/b/renew-credentials");
  made.runs.push({ cluster: "\u001b[2J", name: "a", phase: "Halted" });
  made.runs.push({ cluster: "north", name: "b", phase: "Halted", progress: { ...halted, message: "\u001b[2Jx" } });
  const { out } = await made.run(["clusters"]);
  const status = await made.run(["status", "--all-clusters", "-o", "wide"]);
  for (const bad of ["\u001b", "OR 1=1", "a/b"]) assert.ok(!(out + status.out).includes(bad));
});

Deno.test("ostler status --all-clusters: shows each open rollout, and the clusters that did not respond", async () => {
  const { code, out, err } = await twoClusters().run(["status", "--all-clusters"]);
  assert.deepEqual(out.trimEnd().split("\n").map((line) => line.split(/ {2,}/)), [
    ["CLUSTER", "NAMESPACE", "NAME", "PHASE", "FOR", "UPDATED", "WAVE", "WHY"],
    ["north", "kube-system", "a", "Halted", "2h", "Quarantined"],
    ["north", "kube-system", "b", "AwaitingApproval", "10m", "3/10", "2/3", "AwaitingApproval"],
    ["south", "kube-system", "a", "Rolling", "(no worker polls)"],
  ]);
  assert.deepEqual([code, err], [
    0,
    "1 rollout did not report progress: the phase is from Temporal's list of workflows\n",
  ]);
  assert.equal((await twoClusters().run(["status", "pool", "--all-clusters"])).code, 2);
});

Deno.test("ostler clusters: exits with 4 when Temporal is unreachable, and with 1 when Temporal denies the request", async () => {
  const away = Object.assign(fleet({}), { outage: grpcStatus(14, "connection refused") });
  assert.deepEqual(await away.run(["clusters"]), {
    ...{ code: 4, out: "", err: "Failed to reach Temporal at temporal.test:7233: connection refused\n" },
  });
  const refused = Object.assign(fleet({}), { outage: grpcStatus(7, "not allowed") });
  assert.equal((await refused.run(["clusters"])).code, 1);
});
