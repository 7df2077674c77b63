import assert from "node:assert/strict";
import { casIn } from "../../../../activities/status/ca_bundle.ts";
import { FakeWorld, readyStatus, start } from "../../../support/fake_world.ts";
import { answer } from "../../../support/fake_kube.ts";
import { machine, machineSet } from "../../../support/machine_objects.ts";

const pem = (name: string): string => `-----BEGIN CERTIFICATE-----\n${btoa(`CA ${name}`)}\n-----END CERTIFICATE-----\n`;
const [old, next] = [pem("old"), pem("new")];
const hour = 3_600_000;
const time = (hours: number): string => new Date(start + hours * hour).toISOString();

interface Bundle {
  since: string;
  cas: string[];
}

/** A bundle that new machines got from that hour on; the tests begin at hour 0. */
function bundle(hours: number, ...pems: string[]): Bundle {
  return { since: time(hours), cas: casIn(pems.join("")) };
}

const phase1 = [bundle(-1000, old), bundle(-10, old, next)];

interface Scene {
  announced?: string;
  caBundles?: object[];
  /** The hours in which the machines were created. */
  created?: number[];
}

/** A pool with its machines, in a cluster that announces its CAs. */
function world({ announced = old + next, caBundles = phase1, created = [-100, -50, -1] }: Scene = {}): FakeWorld {
  const made = new FakeWorld();
  made.putPool(readyStatus({ caBundles }));
  made.kube.put("machinesets", machineSet());
  for (const [nth, hours] of created.entries()) {
    made.kube.put("machines", machine(`m-${nth}`, { metadata: { creationTimestamp: time(hours) } }));
  }
  const kubeconfig = `{clusters: [{cluster: {server: "https://a:6443", certificate-authority-data: ${
    btoa(announced)
  }}}]}`;
  const metadata = { namespace: "kube-public", name: "cluster-info" };
  if (announced !== "") made.kube.put("configmaps", { metadata, data: { kubeconfig } });
  return made;
}

async function check(scene?: Scene, args: string[] = []): Promise<{ code: number; fault: string; last: string }> {
  const { code, out } = await world(scene).run(["ca", ...args]);
  const lines = out.trimEnd().split("\n");
  const fault = lines.find((line) => line.startsWith("fleet/pool: ")) ?? "";
  return { code, fault, last: lines.at(-1) ?? "" };
}

Deno.test("ostler ca: exits with 1 while a machine is older than the CA bundle of phase 1 of the rotation, and with 0 afterwards", async () => {
  const before = await check();
  assert.equal(before.code, 1);
  assert.equal(before.fault, "fleet/pool: 2 of 3 machines do not trust the present CA bundle yet");
  const after = await check({ created: [-9, -8, -1] });
  assert.deepEqual([after.code, after.fault], [0, ""]);
  const cas = casIn(old + next).join(", ");
  assert.equal(
    after.last,
    `Complete: all machines trust exactly the 2 CAs ${cas}: 3 machines of 1 pool`,
  );
});

Deno.test("ostler ca: exits with 1 in phase 2 of the rotation, and reports how many machines still trust the old CA", async () => {
  const caBundles = [...phase1, bundle(-5, next)];
  const { code, fault } = await check({ announced: next, caBundles, created: [-9, -8, -1] });
  assert.deepEqual([code, fault], [
    1,
    "fleet/pool: 2 of 3 machines trust a CA that the present CA bundle lacks",
  ]);
  assert.equal((await check({ announced: next, caBundles, created: [-4, -1] })).code, 0);
});

Deno.test("ostler ca: exits with 1 until the pool has published the announced CA bundle for 60 s, even without machines", async () => {
  const caBundles = [bundle(-1000, old)];
  const { code, fault } = await check({ caBundles });
  assert.equal(code, 1);
  assert.match(fault, /: new machines do not get the present CA bundle yet; 3 of 3 machines do not trust the present/);
  assert.equal((await check({ caBundles, created: [] })).code, 1, "Expected the same for a pool without machines");
  const seconds = (count: number): object[] => [...caBundles, bundle(-count / 3600, old, next)];
  assert.equal(
    (await check({ caBundles: seconds(59), created: [] })).code,
    1,
    "Expected a wait of 60 s, because clocks can differ",
  );
  assert.equal((await check({ caBundles: seconds(60), created: [] })).code, 0);
});

Deno.test("ostler ca: exits with 1 for machines that are older than the first recorded CA bundle, and for an unreadable record", async () => {
  const young = await check({ caBundles: [bundle(-10, old, next)] });
  assert.deepEqual([young.code, young.fault], [
    1,
    "fleet/pool: 2 of 3 machines are older than the first CA bundle that Ostler has recorded",
  ]);
  const forged = await check({ caBundles: [...phase1, { since: "yesterday", cas: "all" }], created: [-1] });
  assert.deepEqual([forged.code, /1 of 1 machines is older/.test(forged.fault)], [1, true]);
});

Deno.test("ostler ca: exits with 1 without pools; for a scaling group, which gets no CAs from Ostler, only without --given-only", async () => {
  const empty = await new FakeWorld().run(["ca"]);
  assert.deepEqual([empty.code, empty.out], [1, ""]);
  const made = world({ created: [-1] });
  made.kube.put("scalinggroups", {
    metadata: { name: "workers" },
    spec: { groupId: "g", nodeVersion: "v", role: "Worker" },
  });
  const { code, out } = await made.run(["ca"]);
  assert.equal(code, 1);
  assert.match(out, /^kube-system\/scaling-group\.workers: its machines do not get their CAs from Ostler: check them/m);
  assert.equal((await made.run(["ca", "--given-only"])).code, 0);
  const refusals = [
    await made.run(["ca", "sg/workers", "--given-only"]),
    await made.run(["recreate", "sg/workers", "--outdated-ca"]),
  ];
  for (const { code: refused, err } of refusals) {
    assert.equal(refused, 1);
    assert.match(err, /^Failed to .*: the machines of the chosen pools do not get their CAs from Ostler\n$/);
  }
});

Deno.test("ostler ca: compares machines with the CAs that their pool publishes when the cluster announces no CA", async () => {
  const { code, last } = await check({ announced: "", created: [-1] });
  assert.deepEqual([code, last], [
    0,
    "Complete: all machines trust exactly the CAs that their pools publish: 1 machine of 1 pool",
  ]);
  assert.equal((await check({ announced: "" })).code, 1);
});

Deno.test("ostler ca --bundle: exits with 1 until the cluster announces that bundle, and with 2 for a bundle without a certificate", async () => {
  const scene = { announced: old, caBundles: [bundle(-1000, old)], created: [-1] };
  assert.equal((await check(scene)).code, 0);
  const readStdin = (): Promise<string> => Promise.resolve(old + next);
  const { code, out } = await world(scene).run(["ca", "--bundle", "-"], { readStdin });
  assert.equal(code, 1);
  assert.match(out, /^fleet\/pool: new machines do not get the present CA bundle yet; 1 of 1 machines does not trust/m);
  assert.equal((await world({ created: [-1] }).run(["ca", "--bundle", "-"], { readStdin })).code, 0);
  const empty = await world(scene).run(["ca", "--bundle", "-"], { readStdin: () => Promise.resolve("none") });
  assert.deepEqual([empty.code, empty.err], [2, 'Failed to use "-" as a CA bundle: it has no PEM certificate\n']);
});

Deno.test("ostler ca: checks all namespaces by default, and prints the counts of each pool with -o json", async () => {
  const made = world();
  const { code, out } = await made.run(["ca", "-o", "json"]);
  assert.equal(code, 1);
  assert.deepEqual(JSON.parse(out), {
    complete: false,
    cas: casIn(old + next),
    items: [{
      ...{ namespace: "fleet", name: "pool", machines: 3, lacking: 2, unknown: 0, trustingOthers: 0 },
      ...{ published: true, given: true },
    }],
  });
  assert.deepEqual(made.kube.writes, []);
  assert.equal((await made.run(["ca", "-n", "other"])).code, 1, "Expected a refusal of a namespace without pools");
  assert.equal((await made.run(["ca", "fleet/pool"])).code, 1);
});

Deno.test("ostler status, plan: show how many machines do not trust the CA bundle that their pool publishes", async () => {
  const sentence = "2 of 3 machines do not trust the present CA bundle yet";
  for (const command of ["status", "plan"]) {
    const { code, out } = await world().run([command, "pool"]);
    assert.equal(code, 0);
    assert.ok(out.includes(sentence), out);
    assert.ok(!(await world({ created: [-1] }).run([command, "pool"])).out.includes("CA bundle"), command);
  }
  const hidden = world();
  hidden.kube.onRequest = (request) => {
    if (request.startsWith("list machinesets")) throw answer(403, "Forbidden");
  };
  const { code, out } = await hidden.run(["status", "pool"]);
  assert.deepEqual([code, out.includes("CA bundle")], [0, false], "Expected a status without the line");
  const made = world({ caBundles: [bundle(-1000, old)] });
  const requests: string[] = [];
  made.kube.onRequest = (request) => void requests.push(request);
  await made.run(["status", "pool"]);
  assert.deepEqual(requests.filter((request) => /machines /.test(request)), [], "Expected no read before a rotation");
});

Deno.test("ostler ca: is refused if the user may not list NodePools or ScalingGroups, except with --given-only or without their CRDs", async () => {
  for (const plural of ["nodepools", "scalinggroups"]) {
    const made = world({ created: [-9] });
    let status = 403;
    made.kube.onRequest = (request) => {
      if (request.startsWith(`list ${plural}`)) throw answer(status, "Refused");
    };
    const { code, out, err } = await made.run(["ca"]);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^Failed to check what machines trust: you are not allowed to list (NodePools|ScalingGroups) /);
    assert.equal((await made.run(["ca", "--given-only"])).code, 0);
    assert.equal((await made.run(["ca", "pool"])).code, 0);
    status = 404;
    assert.equal((await made.run(["ca"])).code, 0);
  }
});

Deno.test("ostler ca: does not need permission to list ScalingGroups when -n names a namespace without their Rollouts", async () => {
  const made = world({ created: [-9] });
  made.kube.onRequest = (request) => {
    if (request.startsWith("list scalinggroups")) throw answer(403, "Forbidden");
  };
  assert.equal((await made.run(["ca", "-n", "fleet"])).code, 0);
});
