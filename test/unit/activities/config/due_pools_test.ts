import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { listDuePools } from "../../../../activities/config/renew_published.ts";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import type { DuePool } from "../../../../workflows/contracts/mod.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, pool, putPool } from "../../../support/machine_objects.ts";

const past = "2020-01-01T00:00:00Z";
const future = "2099-01-01T00:00:00Z";

interface Given {
  renewAt?: string;
  phase?: string;
  reason?: string;
  observed?: string;
  left?: object;
  lastGood?: object | null;
  pin?: object;
}

/** Adds a pool with the Rollout that its last run wrote. */
function putRollout(kube: FakeKube, name: string, { renewAt = past, phase = "Converged", ...more }: Given = {}): void {
  const credentials = { credentials: { renewAt, expiresAt: future } };
  const status = { phase, ...(renewAt ? credentials : {}), ...more };
  kube.put("rollouts", { metadata: { namespace: "fleet", name }, status });
  const { metadata, ...rest } = machineDeployment();
  kube.put("machinedeployments", { ...rest, metadata: { ...metadata, name } });
}

function list(kube: FakeKube, after?: string): Promise<{ pools: DuePool[]; next?: string }> {
  return listDuePools({ kube: kube.client, profileNamespace: "kube-system" }, after === undefined ? {} : { after });
}

Deno.test("listDuePools: returns only due pools", async () => {
  const kube = new FakeKube();
  putRollout(kube, "due");
  putRollout(kube, "halted", { phase: "Halted" });
  putRollout(kube, "fresh", { renewAt: future });
  putRollout(kube, "unpublished", { renewAt: "" });
  deepEqual(await list(kube), {
    pools: [
      { namespace: "fleet", name: "due", publishOnly: false },
      { namespace: "fleet", name: "halted", publishOnly: false },
    ],
  });
});

Deno.test("listDuePools: excludes pools that are deleted, being deleted, or not managed", async () => {
  const kube = new FakeKube();
  for (const name of ["gone", "going", "foreign"]) putRollout(kube, name);
  kube.remove("machinedeployments", "gone", "fleet");
  const { metadata, ...rest } = machineDeployment();
  kube.put("machinedeployments", { ...rest, metadata: { ...metadata, name: "going", deletionTimestamp: past } });
  const spec = { template: { spec: {} } };
  kube.put("machinedeployments", { ...rest, spec, metadata: { ...metadata, name: "foreign", annotations: {} } });
  deepEqual(await list(kube), { pools: [] });
});

Deno.test("listDuePools: requests only the renewal of credentials for a pool with a cancelled rollout, unless the pool changed after the cancellation", async () => {
  const kube = new FakeKube();
  putPool(kube);
  const seen = await readDesired({ kube: kube.client, profileNamespace: "kube-system" }, pool);
  const observed = seen.state === "Present" ? seen.desired.observed : "";
  putRollout(kube, "pool", { phase: "Aborted", observed });
  equal((await list(kube)).pools[0]?.publishOnly, true);
  putRollout(kube, "pool", { phase: "Aborted", observed: "something earlier" });
  equal((await list(kube)).pools[0]?.publishOnly, false);
});

Deno.test("listDuePools: requests only the renewal of credentials after a cancellation that followed a rollback", async () => {
  const kube = new FakeKube();
  putPool(kube);
  const seen = await readDesired({ kube: kube.client, profileNamespace: "kube-system" }, pool);
  const observed = seen.state === "Present" ? seen.desired.observed : "";
  for (const reason of ["Cancelled", "CredentialsRenewed"]) {
    putRollout(kube, "pool", { phase: "Aborted", reason, observed, left: { kind: "RollBack" } });
    equal((await list(kube)).pools[0]?.publishOnly, true, reason);
  }
});

Deno.test("listDuePools: requests a rollout, not only the renewal of credentials, for a pool after a rollback or after an abort that restored the last good template", async () => {
  const kube = new FakeKube();
  putPool(kube);
  const seen = await readDesired({ kube: kube.client, profileNamespace: "kube-system" }, pool);
  const observed = seen.state === "Present" ? seen.desired.observed : "";
  for (const [phase, kind] of [["Aborted", "Abort"], ["RolledBack", "RollBack"]] as const) {
    putRollout(kube, "pool", { phase, reason: phase, observed, left: { kind } });
    equal((await list(kube)).pools[0]?.publishOnly, false, phase);
  }
});

Deno.test("listDuePools: returns `observed` and the spec hash of a converged pool from its Rollout, and reads only Rollouts", async () => {
  const kube = new FakeKube();
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  const lastGood = { specHash: `${"0".repeat(16)}-${"1".repeat(16)}`, templateHash: "t" };
  const status = { observed: "g1-r1-x", lastGood };
  putRollout(kube, "rests", status);
  const rest = { observed: status.observed, specHash: lastGood.specHash };
  deepEqual((await list(kube)).pools, [{ namespace: "fleet", name: "rests", publishOnly: false, rest }]);
  deepEqual(requests, ["list rollouts "]);
  const pin = { bad: "2".repeat(16), good: "1".repeat(16) };
  const others = [{ phase: "Rolling" }, { phase: "RolledBack" }, { phase: "Aborted" }, { pin }, { observed: "" }];
  for (const other of [...others, { lastGood: null }]) {
    putRollout(kube, "rests", { ...status, ...other });
    equal((await list(kube)).pools[0]?.rest, undefined, JSON.stringify(other));
  }
});

Deno.test("listDuePools: returns a large fleet in bounded pages", async () => {
  const kube = new FakeKube();
  const names = Array.from({ length: 730 }, (_, nth) => `pool-${nth}`);
  names.forEach((name, nth) => putRollout(kube, name, { renewAt: nth % 3 === 0 ? past : future }));
  const found: string[] = [];
  const sizes: number[] = [];
  for (let after: string | undefined = "0"; after !== undefined;) {
    const page: { pools: DuePool[]; next?: string } = await list(kube, after);
    found.push(...page.pools.map(({ name }) => name));
    sizes.push(page.pools.length);
    after = page.next;
  }
  deepEqual(found.sort(), names.filter((_, nth) => nth % 3 === 0).sort());
  ok(sizes.length > 1 && sizes.every((size) => size < 150), String(sizes));
});

Deno.test("listDuePools: ends when its continue token has expired, and fails when the API does", async () => {
  const kube = new FakeKube();
  putRollout(kube, "due");
  kube.onRequest = () => {
    throw answer(410, "Expired");
  };
  deepEqual(await list(kube, "0"), { pools: [] });
  kube.onRequest = () => {
    throw answer(503, "ServiceUnavailable");
  };
  await rejects(list(kube), { type: "ApiUnavailable" });
});

Deno.test("listDuePools: continues past an invalid Rollout", async () => {
  const kube = new FakeKube();
  kube.put("rollouts", { metadata: { namespace: "fleet", name: "odd" }, status: "odd" });
  putRollout(kube, "due");
  deepEqual((await list(kube)).pools.map(({ name }) => name), ["due"]);
});

Deno.test("listDuePools: requests a rollout for a pool with an invalid MachineDeployment, and returns the other pools", async () => {
  const versions = [{ kubelet: 1.36 }, { kubelet: null }];
  for (const spec of [...versions.map((each) => ({ template: { spec: { versions: each } } })), { replicas: null }]) {
    const kube = new FakeKube();
    for (const name of ["first", "invalid", "last"]) putRollout(kube, name, { phase: "Halted" });
    const { metadata, ...rest } = machineDeployment();
    kube.put("machinedeployments", { ...rest, spec, metadata: { ...metadata, name: "invalid" } });
    const pools = ["first", "invalid", "last"].map((name) => ({ namespace: "fleet", name, publishOnly: false }));
    deepEqual((await list(kube)).pools, pools, JSON.stringify(spec));
  }
});

Deno.test("listDuePools: requests a rollout for a cancelled pool whose profile the API server refuses to read, and returns the other pools", async () => {
  const kube = new FakeKube();
  for (const name of ["cancelled", "other"]) putRollout(kube, name, { phase: name === "other" ? "Halted" : "Aborted" });
  kube.onRequest = (request) => {
    if (request.startsWith("get operatingsystemprofiles")) throw answer(400, "BadRequest");
  };
  deepEqual((await list(kube)).pools.map(({ name, publishOnly }) => [name, publishOnly]), [
    ["cancelled", false],
    ["other", false],
  ]);
});

Deno.test("listDuePools: fails when the API server does not return the MachineDeployment of one pool", async () => {
  const kube = new FakeKube();
  putRollout(kube, "halted", { phase: "Halted" });
  for (const [status, type] of [[503, "ApiUnavailable"], [403, "AccessDenied"]] as const) {
    kube.onRequest = (request) => {
      if (request.startsWith("get machinedeployments")) throw answer(status, "No");
    };
    await rejects(list(kube), { type });
  }
});
