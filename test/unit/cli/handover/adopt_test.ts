/** `ostler adopt`: what Ostler takes over, what it leaves alone, and what Operating System Manager leaves behind. */
import assert from "node:assert/strict";
import { closeTemplateEngines, namesOf } from "../../../../profiles/mod.ts";
import { answer } from "../../../support/fake_kube.ts";
import { HandoverWorld, usual } from "../../../support/handover_world.ts";
import { machine, machineDeployment } from "../../../support/machine_objects.ts";

Deno.test.afterAll(() => closeTemplateEngines());

const owner = "ostler.dev/machine-deployment";

async function osmsCluster(): Promise<HandoverWorld> {
  const world = new HandoverWorld();
  await world.osm.look();
  world.kube.writes.length = 0;
  return world;
}

Deno.test("ostler adopt: --dry-run shows what each pool boots from, and writes nothing", async () => {
  const world = await osmsCluster();
  const { name, namespace } = usual;
  world.kube.put("machinedeployments", machineDeployment({ metadata: { namespace, name: "new", annotations: {} } }));
  const { code, out } = await world.run(["adopt", "--dry-run"]);
  assert.equal(code, 0);
  assert.match(out, /^fleet\/pool +osp-ubuntu +OSM's, revision 1 +take over$/m);
  assert.match(
    out,
    /^fleet\/new .* nothing +nothing to take over +.*has no profile annotation; Operating System Manager skipped it/m,
  );
  assert.match(out, /^pools of Operating System Manager: 4 pools would be taken over$/m);
  assert.deepEqual(world.kube.writes, []);
  world.kube.remove("secrets", namesOf({ namespace, name }).bootstrap, "cloud-init-settings");
  assert.match((await world.run(["adopt", "--dry-run"])).out, /^fleet\/pool +osp-ubuntu +nothing /m);
});

Deno.test("ostler adopt: changes neither the data that machines boot from nor any machine", async () => {
  const world = await osmsCluster();
  const data = (): unknown[] => world.kube.all("secrets").map((secret) => [secret["data"], secret["immutable"]]);
  const before = data();
  assert.equal((await world.run(["adopt"])).code, 0);
  assert.deepEqual(data(), before);
  assert.equal(world.secret(namesOf(usual).bootstrap)?.metadata.annotations?.[owner], "fleet/pool");
  assert.deepEqual([...new Set(world.kube.writes.map((write) => write.split(" ").slice(0, 2).join(" ")))].sort(), [
    "patch operatingsystemconfigs",
    "patch secrets",
  ]);
  world.kube.writes.length = 0;
  const again = await world.run(["adopt"]);
  assert.deepEqual([again.code, world.kube.writes], [0, []]);
  assert.match(again.out, /0 pools taken over/);
});

Deno.test("ostler adopt: continues after an interruption", async () => {
  const world = await osmsCluster();
  for (let cut = 0; cut < 12; cut++) {
    world.kube.writes.length = 0;
    world.kube.onRequest = (request) => {
      if (world.kube.writes.length >= 1 && request.startsWith("patch ")) throw answer(500, "Killed");
    };
    await world.run(["adopt"]);
  }
  world.kube.onRequest = () => {};
  assert.equal((await world.run(["adopt"])).code, 0);
  for (const pool of world.pools) {
    const { bootstrap, provisioning, kubeletBootstrap } = namesOf(pool);
    for (const name of [bootstrap, provisioning, kubeletBootstrap]) {
      assert.equal(world.secret(name)?.metadata.annotations?.[owner], `${pool.namespace}/${pool.name}`);
    }
  }
});

Deno.test("ostler adopt: refuses while Operating System Manager runs, and for a pool whose objects have the same names as those of another pool", async () => {
  const world = await osmsCluster();
  const spec = { holderIdentity: "osm-1", leaseDurationSeconds: 15, renewTime: new Date(world.time).toISOString() };
  const metadata = { namespace: "kube-system", name: "operating-system-manager" };
  world.kube.put("leases", { metadata, spec });
  let renewed = world.time;
  world.onSleep = () => {
    renewed += 2000;
    world.kube.put("leases", { metadata, spec: { ...spec, renewTime: new Date(renewed).toISOString() } });
  };
  const { code, err } = await world.run(["adopt"]);
  assert.deepEqual([code, world.kube.writes], [1, []]);
  assert.match(
    err,
    /^Failed to take the cluster over: .* Manager is running: ".*" renews Lease "kube-system\/operating-system-manager"/,
  );
  assert.equal((await world.run(["adopt", "--dry-run"])).code, 1);
  world.onSleep = () => {};
  for (const [namespace, name] of [["b-c", "a"], ["c", "a-b"]] as const) {
    world.kube.put("machinedeployments", machineDeployment({ metadata: { namespace, name } }));
  }
  const collided = await world.run(["adopt"]);
  assert.equal(collided.code, 1);
  assert.match(
    collided.out,
    /^pool "b-c\/a": its objects have the same names as the objects of "c\/a-b"; rename one of the pools$/m,
  );
  const dry = await world.run(["adopt", "--dry-run", "-o", "json"]);
  const { steps } = JSON.parse(dry.out) as { steps: { about: string; outcome: string }[] };
  const refused = steps.filter(({ outcome }) => outcome === "Refused").map(({ about }) => about);
  assert.deepEqual([dry.code, refused], [1, ['pool "b-c/a"', 'pool "c/a-b"']]);
});

Deno.test("ostler adopt: removes objects of Operating System Manager on request, when no machine boots with them", async () => {
  const world = await osmsCluster();
  const asked = ["adopt", "--remove-leftovers"];
  const early = await world.run(asked);
  assert.equal(early.code, 1);
  assert.match(
    early.out,
    /^ServiceAccount "cloud-init-settings\/cloud-init-getter" .* boot with its token until Ostler publishes/m,
  );
  assert.notEqual(world.secret("cloud-init-getter-token"), undefined);
  await world.runOstler();
  world.kube.put("machines", machine("c", { status: {} }));
  assert.match((await world.run(asked)).out, /machine "c" may be booting with its token$/m);
  world.kube.remove("machines", "c", "fleet");
  assert.match(
    (await world.run(["adopt"])).out,
    /a return to Operating System Manager requires it; remove with --remove-leftovers$/m,
  );
  const webhooks = [{ clientConfig: { service: { name: "operating-system-manager-webhook" } } }];
  world.kube.put("validatingwebhookconfigurations", { metadata: { name: "operatingsystemmanager.k8c.io" }, webhooks });
  const { code, out } = await world.run(asked);
  assert.equal(code, 0, out);
  assert.equal(world.secret("cloud-init-getter-token"), undefined);
  for (const plural of ["serviceaccounts", "roles", "rolebindings"]) {
    assert.equal(world.kube.get(plural, "cloud-init-getter", "cloud-init-settings"), undefined, plural);
  }
  assert.deepEqual(world.kube.all("validatingwebhookconfigurations"), []);
  for (const pool of world.pools) assert.deepEqual(world.tokensOf(pool), []);
});

Deno.test("ostler adopt: reads a thousand pools with one request per page, and so does ostler release", async () => {
  const world = new HandoverWorld();
  const stamp = { [owner]: "", "ostler.dev/config-digest": "d", "k8c.io/machine-deployment-revision": "1" };
  for (let nth = 0; nth < 1000; nth++) {
    const pool = { namespace: "fleet", name: `pool-${nth}` };
    world.kube.put("machinedeployments", machineDeployment({ metadata: pool }));
    world.kube.put("rollouts", { metadata: pool, status: { phase: "Converged" } });
    const annotations = { ...stamp, [owner]: `fleet/pool-${nth}` };
    world.kube.put("secrets", {
      metadata: { namespace: "cloud-init-settings", name: namesOf(pool).bootstrap, annotations },
    });
  }
  let requests = 0;
  world.kube.onRequest = () => void (requests += 1);
  for (const args of [["adopt"], ["release", "--dry-run"]]) {
    requests = 0;
    assert.match((await world.run(args)).out, /pools? (taken over|would be given back)$/m);
    assert.ok(requests < 60, `${args[0]}: ${requests} requests`);
  }
});

Deno.test("ostler adopt: with --remove-leftovers, removes webhooks whose server is gone before it takes over pools", async () => {
  const world = await osmsCluster();
  const webhooks = [{ clientConfig: { service: { name: "operating-system-manager-webhook" } } }];
  const name = "operatingsystemmanager.k8c.io";
  world.kube.put("validatingwebhookconfigurations", { metadata: { name }, webhooks });
  world.kube.onRequest = (request) => {
    const isAsked = world.kube.get("validatingwebhookconfigurations", name) !== undefined;
    if (isAsked && request.startsWith("patch operatingsystemconfigs")) throw answer(500, "InternalError");
  };
  const { code, out } = await world.run(["adopt"]);
  assert.equal(code, 1);
  assert.match(
    out,
    /^validatingwebhookconfigurations .* this configuration blocks all writes of .*; remove with --remove-leftovers$/m,
  );
  assert.match((await world.run(["adopt", "--remove-leftovers"])).out, /4 pools taken over/);
});

Deno.test("ostler adopt: stops before any write when --profile-namespace is not the namespace of the existing OperatingSystemConfigs", async () => {
  const world = new HandoverWorld();
  await world.osm.look();
  world.kube.writes.length = 0;
  const { code, err } = await world.run(["adopt", "--profile-namespace=elsewhere"]);
  assert.equal(code, 1);
  assert.match(
    err,
    /^Failed to take the cluster over: OperatingSystemConfigs of .* are in namespace "kube-system", not in "elsewhere"/,
  );
  assert.deepEqual(world.kube.writes, []);
});
