import { deepEqual, equal, match, notEqual, rejects } from "node:assert/strict";
import { awaitPoolChanged, readPool, snapshotOf } from "../../../../activities/pool/read_pool.ts";
import type { Member } from "../../../../workflows/contracts.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { hold, holder, machine, machineDeployment, node, pool } from "../../../support/machine_objects.ts";

function member(id: string, overrides: Partial<Member> = {}): Member {
  return {
    ...{ id, templateHash: "new", image: "i", kubelet: "k", phase: "Ready", since: `2026-01-01T00:00:0${id.length}Z` },
    ...{ marked: false, held: false, expendable: false },
    ...overrides,
  };
}

const old = { templateHash: "old" };

Deno.test("snapshotOf sorts members into groups with exact counts", () => {
  const snapshot = snapshotOf([
    member("a", old),
    member("b", { ...old, phase: "NotReady" }),
    member("c", { phase: "Held", held: true }),
    member("d", { phase: "Booting" }),
    member("e", { ...old, phase: "Leaving", held: true, marked: true }),
    member("f"),
    member("g", { phase: "Held" }),
    member("h", { marked: true }),
  ], "new");
  deepEqual(snapshot.counts, {
    ...{ machines: 8, updated: 5, ready: 3, updatedReady: 2, old: 2, held: 2, leaving: 1 },
  });
  const ids = (members: Member[]): string => members.map(({ id }) => id).join("");
  const { old: others, waiting, joining, stale, leaving } = snapshot;
  deepEqual([others, waiting, joining, stale, leaving].map(ids), ["ba", "c", "d", "h", "e"]);
});

Deno.test("snapshotOf puts first who was chosen, then whom machine-controller prefers, then the useless, then the oldest", () => {
  const turn = snapshotOf([
    member("young", { ...old, since: "2026-01-02T00:00:00Z" }),
    member("aged", { ...old, since: "2026-01-01T00:00:00Z" }),
    member("booting", { ...old, phase: "Booting", since: "2026-01-03T00:00:00Z" }),
    member("broken", { ...old, expendable: true, since: "2026-01-04T00:00:00Z" }),
    member("chosen", { ...old, marked: true, since: "2026-01-05T00:00:00Z" }),
  ], "new").old.map(({ id }) => id);
  deepEqual(turn, ["chosen", "broken", "booting", "aged", "young"]);
});

Deno.test("snapshotOf stays small whatever the size of the pool", () => {
  const members = Array.from({ length: 500 }, (_, nth) => member(`m${nth}`, old));
  const snapshot = snapshotOf(members, "new");
  deepEqual([snapshot.counts.old, snapshot.old.length], [500, 20]);
});

Deno.test("snapshotOf has the same fingerprint for the same pool in another order, and another for any change", () => {
  const before = snapshotOf([member("a"), member("b")], "new").fingerprint;
  equal(snapshotOf([member("b"), member("a")], "new").fingerprint, before);
  const changes: Partial<Member>[] = [{ phase: "NotReady" }, { held: true }, { marked: true }, { templateHash: "old" }];
  for (const change of changes) {
    notEqual(snapshotOf([member("a", change), member("b")], "new").fingerprint, before, JSON.stringify(change));
  }
});

function kubeWith(...names: string[]): FakeKube {
  const kube = new FakeKube();
  kube.put("machinedeployments", machineDeployment());
  for (const name of names) {
    kube.put("machines", machine(name));
    kube.put("nodes", node(`node-${name}`));
  }
  return kube;
}

Deno.test("readPool counts a machine as Ready only while its node is", async () => {
  const kube = kubeWith("a", "b", "c");
  kube.put("nodes", node("node-b", { ready: false }));
  kube.remove("nodes", "node-c");
  const { counts } = await readPool(kube.client, { pool, templateHash: "hash-1" });
  deepEqual([counts.machines, counts.ready, counts.updatedReady], [3, 1, 1]);
});

Deno.test("readPool leaves machines of other pools out", async () => {
  const kube = kubeWith("a");
  kube.put("machines", machine("x", { labels: { pool: "other" } }));
  equal((await readPool(kube.client, { pool, templateHash: "hash-1" })).counts.machines, 1);
});

Deno.test("readPool calls a MachineDeployment that is gone moot", async () => {
  await rejects(readPool(new FakeKube().client, { pool, templateHash: "" }), { type: "GenerationStale" });
});

Deno.test("readPool refuses a MachineDeployment whose selector names every machine", async () => {
  const kube = new FakeKube();
  kube.put("machinedeployments", machineDeployment({ spec: { selector: {} } }));
  await rejects(readPool(kube.client, { pool, templateHash: "" }), { type: "ObjectInvalid", nonRetryable: true });
});

Deno.test("awaitPoolChanged ends when a machine changes", async () => {
  const kube = kubeWith("a");
  const { fingerprint } = await readPool(kube.client, { pool, templateHash: "hash-1" });
  let looks = 0;
  kube.onRequest = (request) => {
    const isSecond = request.startsWith("list machines") && looks++ === 1;
    if (isSecond) kube.put("machines", machine("a", { annotations: { [hold]: holder } }));
  };
  const question = { pool, templateHash: "hash-1", fingerprint, until: Date.now() + 10_000 };
  const snapshot = await inActivity(() => awaitPoolChanged(kube.client, question));
  notEqual(snapshot.fingerprint, fingerprint);
});

Deno.test("awaitPoolChanged gives up at its time and counts what is there", async () => {
  const kube = kubeWith("a");
  const { fingerprint } = await readPool(kube.client, { pool, templateHash: "hash-1" });
  const question = { pool, templateHash: "hash-1", fingerprint, until: Date.now() };
  await rejects(inActivity(() => awaitPoolChanged(kube.client, question)), (error: Error & { type?: string }) => {
    equal(error.type, "SettleExpired");
    match(error.message, /1 machines: 1 updated and ready, 0 old, 0 leaving/);
    return true;
  });
});
