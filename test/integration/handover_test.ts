/**
 * Hands a cluster over from Ostler to Operating System Manager and back, while machine-controller runs. By default the
 * test does this once, with a simulation of the rules of Operating System Manager. If OSTLER_BENCH_OSM names the binary
 * of Operating System Manager, the test does it five times, with the binary.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { applyManifests, applyObjects } from "../../deploy/local/stack/manifests.ts";
import { namesOf } from "../../profiles/mod.ts";
import { osmVariable } from "../bench/writer.ts";
import { machineDeployment, poolPath, poolsPath, secretPath } from "./pool_objects.ts";
import { getterObjects, type Osm, playedOsm, realOsm } from "./start_osm.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

interface Found {
  metadata: {
    name: string;
    uid: string;
    annotations?: Record<string, string>;
    ownerReferences?: { name: string }[];
  };
  immutable?: boolean;
  status?: { nodeRef?: object };
}

const binary = process.env[osmVariable];
const rounds = binary ? 5 : 1;
const pools = ["one", "two"];
const machinesPath = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
const holds = fileURLToPath(new URL("../../deploy/kubernetes/admission/hold_new_machines.yaml", import.meta.url));
const main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const secretsPath = "/api/v1/namespaces/kube-system/secrets";

// The test's title shows whether the real binary or the simulated rules of Operating System Manager are used.
const other = binary ? "Operating System Manager" : `Operating System Manager (simulated: ${osmVariable} is unset)`;

testInWorld(
  `handover: release and adopt replace no machine, and ${other} works in between`,
  { seed: 7 },
  async (world, t) => {
    for (const name of pools) await world.create(poolsPath(), machineDeployment({ name, replicas: 2 }));
    for (const name of pools) await world.untilPhase(name, "Converged");
    const { stack } = world.site;
    await applyObjects(stack.adminKubeconfig, getterObjects);
    const osm = binary ? realOsm(stack, binary) : playedOsm(stack);
    const before = await machines(world);
    assert.equal(before.length, 4);
    for (let round = 1; round <= rounds; round++) {
      await t.step(`round ${round}: Ostler releases the pools`, () => givesBack(world));
      await t.step(`round ${round}: a machine joins with the published secrets`, () => {
        return scalesUp(world, "two", ({ status }) => Promise.resolve(status?.nodeRef !== undefined));
      });
      await t.step(`round ${round}: Operating System Manager works`, () => osmWorks(world, osm));
      await t.step(`round ${round}: Ostler takes the pools over`, () => takesOver(world, osm));
      assert.deepEqual(await machines(world), before);
    }
  },
);

async function givesBack(world: World): Promise<void> {
  const refused = await ostler(world, "release", "--yes");
  assert.deepEqual([refused.code, refused.out], [1, ""]);
  assert.match(refused.err, /Ostler is running: ".*" renews Lease "ostler-system\/ostler-controller"/);
  const { controller, worker } = world.site.ostler;
  await Promise.all([controller.stop(), worker.stop()]);
  const { code, out, err } = await ostler(world, "release", "--yes");
  assert.equal(code, 0, out + err);
  assert.match(out, /^pools of Ostler: 2 pools given back$/m);
  for (const name of pools) assert.equal((await boot(world, name))?.immutable, true);
}

async function osmWorks(world: World, osm: Osm): Promise<void> {
  await osm.start();
  for (const name of pools) {
    await world.until(`what Operating System Manager makes for "${name}"`, () => isMadeByOsm(world, name));
  }
  // The simulated Operating System Manager renders nothing that boots, so the test waits only for the machine's
  // user-data Secret.
  await scalesUp(world, "one", async ({ metadata: { name } }) => {
    return (await world.list<Found>(secretsPath)).some((secret) => secret.metadata.name.startsWith(`userdata-${name}`));
  });
}

/**
 * Scales the pool up by one machine, and waits until `hasCome` accepts the machine. Then scales the pool down again,
 * and expects that only this machine is deleted.
 */
async function scalesUp(world: World, pool: string, hasCome: (machine: Found) => Promise<boolean>): Promise<void> {
  const known = new Set(await machines(world));
  await world.patch(poolPath(pool), { spec: { replicas: 3 } });
  const newcomer = async (): Promise<Found | undefined> =>
    (await world.list<Found>(machinesPath)).find(({ metadata }) => !known.has(metadata.uid));
  const added = await world.until("a machine that has joined", async () => {
    const machine = await newcomer();
    return machine && await hasCome(machine) && machine;
  });
  const annotations = { "cluster.k8s.io/delete-machine": "yes" };
  await world.patch(`${machinesPath}/${added.metadata.name}`, { metadata: { annotations } });
  await world.patch(poolPath(pool), { spec: { replicas: 2 } });
  await world.until("the added machine to be deleted", async () => await newcomer() === undefined);
}

async function isMadeByOsm(world: World, name: string): Promise<boolean> {
  const { config, bootstrap, kubeletBootstrap, key } = namesOf({ namespace: "kube-system", name });
  const stamp = "k8c.io/mdannotations-hash";
  const group = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs";
  const [found, secret, kubeconfig] = await Promise.all([
    world.get<Found>(`${group}/${config}`),
    world.get<Found>(secretPath(bootstrap)),
    world.get<Found>(secretPath(kubeletBootstrap)),
  ]);
  const tokens = await world.list<Found>(`${secretsPath}?labelSelector=machinedeployment.k8s.io/name%3D${key}`);
  const hash = found?.metadata.annotations?.[stamp];
  return hash !== undefined && hash !== "given-back" && secret?.metadata.annotations?.[stamp] === hash &&
    kubeconfig !== undefined && tokens.length === 1;
}

async function takesOver(world: World, osm: Osm): Promise<void> {
  if (binary) {
    const refused = await ostler(world, "adopt");
    assert.deepEqual([refused.code, refused.out], [1, ""]);
    assert.match(refused.err, /Operating System Manager is running: ".*" renews Lease/);
  }
  await osm.stop();
  await rendersAhead(world);
  const { code, out, err } = await ostler(world, "adopt");
  assert.equal(code, 0, out + err);
  assert.match(out, /^pools of Operating System Manager: 2 pools taken over$/m);
  const { controller, worker } = world.site.ostler;
  // Applies the policy that holds new machines, as an installation of Ostler does.
  await applyManifests(world.site.stack.adminKubeconfig, [holds]);
  await Promise.all([controller.start(), worker.start()]);
  for (const name of pools) {
    await world.untilPhase(name, "Converged");
    await world.until(`"${name}" published by Ostler`, async () => {
      const secret = await boot(world, name);
      return secret?.metadata.annotations?.["ostler.dev/config-digest"] !== undefined && secret.immutable !== true;
    });
  }
}

async function rendersAhead(world: World): Promise<void> {
  const { code, out, err } = await ostler(world, "adopt", "--dry-run", "-o", "json");
  assert.equal(code, 0, out + err);
  const { configs } = JSON.parse(out) as { configs: { pool: string; profile: string; refusal?: object }[] };
  assert.deepEqual(configs.map(({ pool }) => pool), pools.map((name) => `kube-system/${name}`).sort());
  for (const { profile, refusal } of configs) {
    assert.deepEqual([profile, refusal], ["kube-system/osp-ubuntu", undefined]);
  }
}

async function boot(world: World, name: string): Promise<Found | undefined> {
  return await world.get<Found>(secretPath(namesOf({ namespace: "kube-system", name }).bootstrap));
}

async function machines(world: World): Promise<string[]> {
  return (await world.list<Found>(machinesPath)).map(({ metadata }) => metadata.uid).sort();
}

// Runs the command in a separate process, because the tests' Temporal client uses this process.
async function ostler(world: World, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const { adminKubeconfig, temporal } = world.site.stack;
  const where = ["--kubeconfig", adminKubeconfig, "--temporal-address", temporal.address];
  const command = new Deno.Command(process.execPath, {
    args: ["run", "--no-check", "-A", main, ...args, ...where, "--temporal-namespace", temporal.namespace],
    env: { NO_COLOR: "1", TEMPORAL_CONFIG_FILE: "/dev/null" },
    stdin: "null",
  });
  const { code, stdout, stderr } = await command.output();
  return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}
