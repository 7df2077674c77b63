import assert from "node:assert/strict";
import { casIn } from "../../../../activities/status/ca_bundle.ts";
import { FakeWorld, readyStatus, start } from "../../../support/fake_world.ts";
import { machine, machineDeployment, machineSet, node } from "../../../support/machine_objects.ts";

const pem = (name: string): string => `-----BEGIN CERTIFICATE-----\n${btoa(`CA ${name}`)}\n-----END CERTIFICATE-----\n`;
const [old, both] = [pem("old"), pem("old") + pem("new")];
const time = (hours: number): string => new Date(start + hours * 3_600_000).toISOString();

const recreate = ["recreate", "pool", "--outdated-ca"];

/** Returns a pool with machines created at these hours (0 is now); new machines get both CAs since hour -10. */
function world(created: number[], caBundles = [{ since: time(-10), cas: casIn(both) }]): FakeWorld {
  const made = new FakeWorld();
  const lastGood = { templateHash: "hash-1", revision: "1" };
  made.putPool(readyStatus({ lastGood, caBundles: [{ since: time(-1000), cas: casIn(old) }, ...caBundles] }));
  const { spec } = machineDeployment();
  made.kube.put("machinesets", { ...machineSet(), spec });
  for (const [nth, hours] of created.entries()) {
    made.kube.put("machines", machine(`m-${nth}`, { metadata: { creationTimestamp: time(hours) } }));
    made.kube.put("nodes", node(`node-m-${nth}`));
  }
  const kubeconfig = `{clusters: [{cluster: {server: "https://a:6443", certificate-authority-data: ${btoa(both)}}}]}`;
  made.kube.put("configmaps", { metadata: { namespace: "kube-public", name: "cluster-info" }, data: { kubeconfig } });
  return made;
}

function annotationOf(made: FakeWorld): string | undefined {
  const { spec } = made.kube.get("machinedeployments", "pool", "fleet") as unknown as {
    spec: { template: { metadata?: { annotations?: Record<string, string> } } };
  };
  return spec.template.metadata?.annotations?.["ostler.dev/recreated-at"];
}

Deno.test("ostler recreate --outdated-ca: shows the plan, and requests it with one annotation in the template", async () => {
  const made = world([-100, -50, -1]);
  const questions: string[] = [];
  const ask = (question: string): Promise<string> => Promise.resolve((questions.push(question), "y"));
  const { code, out, err } = await made.run(recreate, { ask });
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^fleet\/pool: 3 of 3 machines will be replaced, in 1 wave$/m);
  assert.match(out, /^\+metadata\.annotations\["ostler\.dev\/recreated-at"\]: 2026-11-21T14:00:00\.000Z$/m);
  assert.match(out, /^fleet\/pool: replacement requested; .*`ostler status -n fleet pool`$/m);
  assert.deepEqual(questions, ["Replace all machines of 1 pool, as planned above? [y/N] "]);
  assert.deepEqual(made.kube.writes, ["patch machinedeployments fleet/pool"]);
  assert.equal(annotationOf(made), "2026-11-21T14:00:00.000Z");
});

Deno.test("ostler recreate: writes nothing with --dry-run, when the user does not confirm, and without --outdated-ca or a pool", async () => {
  const made = world([-100]);
  const ask = (): Promise<string> => Promise.resolve("n");
  const ends = [
    await made.run([...recreate, "--dry-run"]),
    await made.run(recreate, { ask }),
    await made.run(recreate),
    await made.run(["recreate", "pool", "-y"]),
    await made.run(["recreate", "--outdated-ca", "-y"]),
  ];
  assert.deepEqual(ends.map(({ code }) => code), [0, 1, 2, 2, 2]);
  assert.match(ends[0]?.out ?? "", /1 of 1 machine will be replaced/);
  assert.deepEqual(made.kube.writes, []);
});

Deno.test("ostler recreate --outdated-ca: writes nothing for a pool whose machines trust exactly the present CAs", async () => {
  const made = world([-9, -1]);
  const { code, out } = await made.run([...recreate, "-y"]);
  assert.deepEqual([code, out], [0, "fleet/pool: all its machines trust exactly the present CAs\n"]);
  assert.deepEqual(made.kube.writes, []);
});

Deno.test("ostler recreate --outdated-ca: refuses a pool while its new machines would still get the old CA bundle", async () => {
  const made = world([-100], []);
  const { code, err } = await made.run([...recreate, "-y"]);
  assert.equal(code, 1);
  assert.match(err, /^fleet\/pool: new machines do not get the present CA bundle yet; run `ostler ca` to see when/);
  assert.deepEqual(made.kube.writes, []);
});

Deno.test("ostler recreate --outdated-ca: writes nothing while a rollout already replaces the outdated machines", async () => {
  const made = world([-100, -50]);
  await made.run([...recreate, "-y"]);
  const metadata = made.kube.get("machinedeployments", "pool", "fleet")?.metadata;
  assert.equal(metadata?.generation, 2);
  made.kube.writes.length = 0;
  const unsettled = await made.run([...recreate, "-y"]);
  const revision = { "machinedeployment.clusters.k8s.io/revision": "2" };
  const numbered = made.kube.get("machinedeployments", "pool", "fleet");
  if (!numbered) throw new Error("Failed to number the pool: it does not exist");
  const annotations = { ...metadata?.annotations, ...revision };
  made.kube.put("machinedeployments", {
    ...numbered,
    metadata: { ...numbered.metadata, annotations },
    status: { observedGeneration: 2 },
  });
  made.kube.put("machinesets", machineSet("2", "hash-2"));
  made.kube.put("machines", machine("new", { hash: "hash-2", metadata: { creationTimestamp: time(0) } }));
  const rolling = await made.run([...recreate, "-y"]);
  for (const { code, out } of [unsettled, rolling]) {
    assert.equal(code, 0);
    assert.match(out, /^fleet\/pool: a rollout already replaces its outdated machines, because the template changed$/m);
  }
  assert.deepEqual(made.kube.writes, []);
});

Deno.test("ostler recreate --outdated-ca: refuses a MachineDeployment that was changed after the plan", async () => {
  const made = world([-100]);
  const ask = (): Promise<string> => {
    const found = made.kube.get("machinedeployments", "pool", "fleet");
    if (found) made.kube.put("machinedeployments", { ...found, metadata: { ...found.metadata, generation: 7 } });
    return Promise.resolve("y");
  };
  const { code, err } = await made.run(recreate, { ask });
  assert.deepEqual([code, err], [
    1,
    "fleet/pool: the MachineDeployment was changed after this plan; run the command again\n",
  ]);
  assert.deepEqual(made.kube.writes, []);
});

Deno.test("ostler recreate: keeps running when the reader of the output exits during the writes; a dry run does not", async () => {
  const made = world([-100]);
  const writesBefore: number[] = [];
  const seeThrough = (): void => void writesBefore.push(made.kube.writes.length);
  await made.run([...recreate, "--dry-run"], { seeThrough });
  assert.deepEqual(writesBefore, []);
  assert.equal((await made.run([...recreate, "--yes"], { seeThrough })).code, 0);
  assert.deepEqual([writesBefore, made.kube.writes.length], [[0], 1]);
});
