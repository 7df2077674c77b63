import { deepEqual, equal } from "node:assert/strict";
import { ensureBootReport } from "../../../../activities/pool/report_place.ts";
import { answer, FakeKube, type Stored } from "../../../support/fake_kube.ts";
import { machine, pool } from "../../../support/machine_objects.ts";

const namespace = "cloud-init-settings";
const name = "ostler-boot-pool-fleet";
const failed = { phase: "setup", step: "install packages", state: "Failed", message: "apt-get gave 100" };

function reportingKube(data: unknown, more: Record<string, unknown> = {}, metadata: object = {}): FakeKube {
  const kube = new FakeKube();
  kube.put("configmaps", { metadata: { namespace, name, uid: "the first", ...metadata }, data, ...more });
  return kube;
}

function place(kube: FakeKube): Stored | undefined {
  return kube.get("configmaps", name, namespace);
}

Deno.test("ensureBootReport: makes an empty ConfigMap for reports, once", async () => {
  const kube = new FakeKube();
  await ensureBootReport(kube.client, pool);
  await ensureBootReport(kube.client, pool);
  deepEqual(kube.writes, [`create configmaps ${namespace}/${name}`]);
  equal(kube.get("configmaps", name, namespace)?.["data"], undefined);
});

Deno.test("ensureBootReport: removes reports of deleted machines, and keys that are not the name of a machine", async () => {
  const kube = reportingKube({ a: "{}", b: "{}", "..": "{}", A_B: "{}" });
  kube.put("machines", machine("a"));
  const asked: string[] = [];
  kube.onRequest = (request) => void (request.includes(" machines ") && asked.push(request));
  await ensureBootReport(kube.client, pool);
  deepEqual(Object.keys(kube.get("configmaps", name, namespace)?.["data"] ?? {}), ["a"]);
  deepEqual(asked, ["get machines fleet/a", "get machines fleet/b"]);
});

Deno.test("ensureBootReport: keeps a recent report under an unknown name, which may be a host name", async () => {
  const report = (at: number): string => JSON.stringify({ ...failed, at: new Date(at).toISOString() });
  const now = Date.now();
  const kube = reportingKube({ "ip-10-0-0-1": report(now), "ip-10-0-0-2": report(now - 86_400_000) });
  await ensureBootReport(kube.client, pool);
  deepEqual(Object.keys(kube.get("configmaps", name, namespace)?.["data"] ?? {}), ["ip-10-0-0-1"]);
});

Deno.test("ensureBootReport: checks at most 20 machines in each call, and finds all deleted machines after several calls", async () => {
  const keys = Array.from({ length: 90 }, (_, nth) => `m${nth}`);
  const kube = reportingKube(Object.fromEntries(keys.map((key) => [key, "{}"])));
  let asked = 0;
  kube.onRequest = (request) => void (request.includes(" machines ") && asked++);
  for (const left of [70, 50, 30, 10, 0]) {
    asked = 0;
    await ensureBootReport(kube.client, pool);
    equal(Object.keys(kube.get("configmaps", name, namespace)?.["data"] ?? {}).length, left);
    equal(asked <= 20, true);
  }
});

const machineMade: Record<string, FakeKube> = {
  "immutable, with a key that no machine has": reportingKube({ bogus: "{}" }, { immutable: true }),
  "huge": reportingKube({ bogus: "x".repeat(1_000_000) }),
  "huge in its metadata": reportingKube({}, {}, { annotations: { bogus: "x".repeat(900_000) } }),
  "held by a finalizer": reportingKube({}, {}, { finalizers: ["example.com/bogus"] }),
  "owned by a missing object": reportingKube({}, {}, { ownerReferences: [{ kind: "Pod", name: "x", uid: "y" }] }),
  "stuck in deletion": reportingKube({}, {}, { finalizers: ["x/y"], deletionTimestamp: "2026-01-01T00:00:00Z" }),
};

for (const [what, kube] of Object.entries(machineMade)) {
  Deno.test(`ensureBootReport: recreates its ConfigMap when a machine has made it ${what}`, async () => {
    await ensureBootReport(kube.client, pool);
    deepEqual([place(kube)?.metadata.uid, place(kube)?.["data"], place(kube)?.["immutable"]], [
      `uid-of-${name}`,
      undefined,
      undefined,
    ]);
    deepEqual([place(kube)?.metadata.finalizers, place(kube)?.metadata.ownerReferences], [undefined, undefined]);
    kube.writes.length = 0;
    await ensureBootReport(kube.client, pool);
    deepEqual(kube.writes, []);
  });
}

Deno.test("ensureBootReport: removes reports that are not text", async () => {
  const kube = reportingKube({ a: 5, b: null, c: { phase: "setup" }, d: [] }, { binaryData: { e: "AA==" } });
  kube.put("machines", machine("a"));
  await ensureBootReport(kube.client, pool);
  deepEqual(place(kube)?.["data"], { a: 5 });
});

for (const status of [403, 409, 413, 422, 500]) {
  Deno.test(`ensureBootReport: continues when the API server answers each write with ${status}`, async () => {
    const kube = reportingKube({ bogus: "{}" }, { immutable: true });
    kube.onRequest = (request) => {
      if (!request.startsWith("get ")) throw answer(status, "Refused");
    };
    await ensureBootReport(kube.client, pool);
    equal(place(kube)?.metadata.uid, "the first");
  });
}
