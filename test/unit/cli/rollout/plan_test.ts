import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import {
  machine,
  machineDeployment,
  machineSet,
  node,
  providerConfig,
  revisionKey,
} from "../../../support/machine_objects.ts";
import { answer } from "../../../support/fake_kube.ts";
import { FakeWorld, rollingStatus } from "../../../support/fake_world.ts";

const image = (tag: string): Record<string, unknown> => ({ ...providerConfig(`img:${tag}`), sshPublicKeys: ["key"] });

/** A pool whose template was changed from img:1 to img:2, with three old machines and one held new one. */
function world(): FakeWorld {
  const made = new FakeWorld();
  const usual = { join: [60, 80], leave: [20, 30] };
  const lastGood = { templateHash: "hash-1", revision: "1", image: "img:1", configDigest: "aaaaaaaaaaaaaaaa" };
  made.putPool(rollingStatus({ usual, lastGood, configDigest: "bbbbbbbbbbbbbbbb", underway: [] }));
  const annotations = { [revisionKey]: "2" };
  made.kube.put("machinedeployments", machineDeployment({ annotations, value: { ...image("2"), token: "t0p" } }));
  const template = {
    spec: { versions: { kubelet: "1.35.3" }, providerSpec: { value: { ...image("1"), token: "s3cret" } } },
  };
  made.kube.put("machinesets", { ...machineSet("1", "hash-1"), spec: { template } });
  made.kube.put("machinesets", machineSet("2", "hash-2"));
  for (const [index, name] of ["old-1", "old-2", "old-3"].entries()) {
    made.kube.put("machines", machine(name, { metadata: { creationTimestamp: `2026-01-0${index + 1}T00:00:00Z` } }));
    made.kube.put("nodes", node(`node-${name}`));
  }
  const hold = { "machine-controller.kubermatic.io/initializers": "machine-deployment/fleet/pool" };
  made.kube.put("machines", machine("new-1", { hash: "hash-2", annotations: hold, finalizers: [], status: {} }));
  return made;
}

Deno.test("ostler plan: shows the changes, the duration, and the machines in order of replacement; writes nothing", async () => {
  const made = world();
  const { code, out, err } = await made.run(["plan", "pool"]);
  assert.deepEqual([code, err, made.kube.writes, made.sent], [0, "", [], []]);
  for (
    const part of [
      /^fleet\/pool: 3 of 4 machines will be replaced, in 1 wave$/m,
      /^image +img:1 → img:2$/m,
      /^config +aaaaaaaaaaaa → bbbbbbbbbbbb$/m,
      /^--- revision 1\n\+\+\+ revision 2$/m,
      /^1 +3 +old-1, old-2, old-3$/m,
      /^takes +(about \d+|\d+ to \d+) min$/m,
      /^plan +[0-9a-f]{16}$/m,
      /^approve +not required by its policy$/m,
    ]
  ) assert.match(out, part);
});

Deno.test("ostler plan: never shows a credential of the provider, nor does diff", async () => {
  const made = world();
  for (
    const args of [["plan", "pool"], ["plan", "pool", "-o", "json"], ["diff", "pool"], ["diff", "pool", "-o", "json"]]
  ) {
    const { out } = await made.run(args);
    assert.equal(/t0p|s3cret/.test(out), false, args.join(" "));
    assert.match(out, /providerSpec\.value\.token/);
    assert.match(out, /<hidden>/);
  }
});

Deno.test("ostler plan: shows the command that approves it if the policy requires that", async () => {
  const made = world();
  made.kube.put("rolloutpolicies", {
    metadata: { namespace: "fleet", name: "careful" },
    spec: { approval: "BeforeFirst" },
  });
  const { out } = await made.run(["plan", "pool"], { env: { OSTLER_CALLED_AS: "kubectl ostler" } });
  const [, hash] = /^plan +(\w+)$/m.exec(out) ?? [];
  assert.match(out, new RegExp(`^approve +kubectl ostler approve -n fleet pool --plan ${hash}$`, "m"));
  assert.match(out, /^policy +careful$/m);
  assert.match(out, /^blocked +.*approve/m);
});

function inFile<T>(object: object, work: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "ostler-plan-"));
  writeFileSync(join(folder, "pool.yaml"), stringify({ kind: "MachineDeployment", ...object }));
  return work(join(folder, "pool.yaml")).finally(() => rmSync(folder, { recursive: true }));
}

Deno.test("ostler plan -f: plans a MachineDeployment that is not applied yet against the existing machines", async () => {
  const made = world();
  const given = machineDeployment({ value: image("3"), spec: { replicas: 2 } });
  const { code, out } = await inFile(given, (file) => made.run(["plan", "-f", file]));
  assert.equal(code, 0);
  assert.match(out, /^fleet\/pool: \d of 4 machines will be replaced/m);
  assert.match(out, /^image +img:1 → img:3$/m);
  assert.match(out, /^approve +possible after the change is applied$/m);
  assert.deepEqual(made.kube.writes, []);
});

Deno.test("ostler plan -f: shows that a new pool creates machines and replaces none", async () => {
  const made = new FakeWorld();
  const { out } = await inFile(machineDeployment(), (file) => made.run(["plan", "-f", file]));
  assert.match(out, /^fleet\/pool: 3 machines will be created, no machine is replaced$/m);
});

Deno.test("ostler plan -f: exits with 2 for an invalid file", async () => {
  const made = world();
  assert.equal((await made.run(["plan", "-f", "/nowhere.yaml"])).code, 2);
  const { code, err } = await inFile(
    { kind: "MachineDeployment", metadata: {} },
    (file) => made.run(["plan", "-f", file]),
  );
  assert.equal(code, 2);
  assert.match(err, /pool\.yaml:\d+: Failed to plan the MachineDeployment: metadata\.name: is missing; /);
});

Deno.test("ostler diff: exits with 1 when a pool would change, and with 0 when not", async () => {
  const made = world();
  const { code, out } = await made.run(["diff", "pool"]);
  assert.equal(code, 1);
  assert.match(out, /^\+spec\..*osImage: img:2$/m);
  made.kube.put(
    "machinedeployments",
    machineDeployment({ annotations: { [revisionKey]: "1" }, value: { ...image("1"), token: "s3cret" } }),
  );
  made.putRollout(rollingStatus({ lastGood: { templateHash: "hash-1", revision: "1" } }));
  const same = await made.run(["diff", "pool"]);
  assert.deepEqual([same.code, same.out], [0, "fleet/pool\nNo change: revision 1 equals revision 1\n"]);
});

Deno.test("ostler plan --all: exits with 1 when some pools cannot be planned; explains why, and shows the plans of the others", async () => {
  const made = world();
  const metadata = { namespace: "fleet", name: "going", deletionTimestamp: "2026-11-21T13:00:00Z" };
  made.kube.put("machinedeployments", machineDeployment({ metadata }));
  made.kube.put("machinedeployments", {
    metadata: { namespace: "fleet", name: "odd" },
    spec: { template: "none" },
  });
  const { code, out, err } = await made.run(["plan", "--all"]);
  assert.equal(code, 1);
  assert.match(out, /^fleet\/pool: 3 of 4 machines will be replaced, in 1 wave$/m);
  assert.match(err, /^fleet\/going: Failed to plan the rollout of "fleet\/going": the pool is being deleted$/m);
  assert.match(err, /^fleet\/odd: Failed to read machinedeployments "fleet\/odd": spec\.template/m);
  const data = await made.run(["plan", "--all", "-o", "json"]);
  assert.deepEqual([data.code, JSON.parse(data.out).items.length], [1, 1]);
  assert.equal((await made.run(["plan", "going"])).code, 1);
});

Deno.test("ostler plan -o json: prints an empty list when no pool exists, as ostler status and ostler history do", async () => {
  const made = new FakeWorld();
  const people = await made.run(["plan", "--all"]);
  assert.deepEqual(people, {
    code: 0,
    out: "",
    err: 'Nothing to plan: there is no pool in namespace "fleet"\n',
  });
  const { code, out, err } = await made.run(["plan", "--all", "-o", "json"]);
  assert.deepEqual([code, JSON.parse(out), err], [0, { items: [] }, ""]);
});

Deno.test("ostler plan: requests only the MachineSets with the labels of the pool", async () => {
  const made = world();
  const client = made.kube.client.custom as unknown as Record<string, (request: object) => Promise<unknown>>;
  const list = client["listNamespacedCustomObject"];
  assert.ok(list);
  const asked: (string | undefined)[] = [];
  const custom = {
    ...client,
    listNamespacedCustomObject: (request: { plural?: string; labelSelector?: string }) => {
      if (request.plural === "machinesets") asked.push(request.labelSelector);
      return list(request);
    },
  };
  const watched = { ...made.kube.client, custom };
  Object.defineProperty(made.kube, "client", { value: watched });
  assert.equal((await made.run(["plan", "pool"])).code, 0);
  assert.deepEqual([...new Set(asked)], ["pool=pool"]);
});

Deno.test("ostler diff: exits with 2, not with 1, for a missing or forbidden pool, and with 4 during an outage", async () => {
  const made = world();
  const missing = await made.run(["diff", "pol"]);
  assert.deepEqual([missing.code, missing.out], [2, ""]);
  assert.match(missing.err, /^Failed to find MachineDeployment "fleet\/pol": .* did you mean "pool"\?\n$/);
  made.kube.onRequest = () => {
    throw answer(403, "Forbidden", "ada cannot get machinedeployments");
  };
  const refused = await made.run(["diff", "pool"]);
  assert.equal(refused.code, 2);
  assert.match(refused.err, /HTTP 403, ada cannot get machinedeployments\n$/);
  made.kube.onRequest = () => {
    throw answer(503, "ServiceUnavailable");
  };
  assert.equal((await made.run(["diff", "pool"])).code, 4);
});

Deno.test("ostler plan: uses the singular for one machine", async () => {
  const made = world();
  for (const name of ["old-2", "old-3", "new-1"]) made.kube.remove("machines", name, "fleet");
  assert.match((await made.run(["plan", "pool"])).out, /^fleet\/pool: 1 of 1 machine will be replaced, in 1 wave$/m);
  made.kube.put("machines", machine("old-1", { hash: "hash-2" }));
  const { out } = await made.run(["plan", "pool"]);
  assert.match(out, /^fleet\/pool: nothing to replace, its 1 machine is of revision 2$/m);
});

Deno.test("ostler plan -f: computes maxSurge from the replicas of the existing pool when the file has no replicas", async () => {
  const made = world();
  made.kube.put("rolloutpolicies", {
    metadata: { namespace: "fleet", name: "fast" },
    spec: { budget: { machines: "100%" } },
  });
  const seconds = async (maxSurge: string | number, replicas?: number): Promise<unknown> => {
    const given = machineDeployment({
      value: image("3"),
      spec: { replicas, strategy: { rollingUpdate: { maxSurge } } },
    });
    const { out } = await inFile(given, (file) => made.run(["plan", "-f", file, "-o", "json"]));
    return JSON.parse(out).plan.seconds;
  };
  const whole = await seconds("100%");
  assert.deepEqual(whole, await seconds(3, 3));
  assert.notDeepEqual(whole, await seconds(1, 3));
});

Deno.test("ostler diff: exits with 2 for a scaling group or NodePool, which have no template, and names the command that shows their change", async () => {
  const made = world();
  made.kube.put("scalinggroups", { metadata: { name: "workers" }, spec: { nodeImage: "v", role: "Worker" } });
  made.kube.put("nodepools", { metadata: { namespace: "fleet", name: "edge" }, spec: {} });
  for (const [pool, object] of [["sg/workers", 'ScalingGroup "workers"'], ["nodepool/edge", 'NodePool "fleet/edge"']]) {
    const { code, out, err } = await made.run(["diff", `${pool}`]);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, new RegExp(`^Failed to compare ${object}: .*\`ostler plan -n .*\` shows `));
  }
});
