/** `ostler adopt --dry-run`: renders each pool as Ostler would, and shows what changes and what would be refused. */
import assert from "node:assert/strict";
import { isEqual } from "../../../../cli/handover/expected_configs.ts";
import { closeTemplateEngines, namesOf } from "../../../../profiles/mod.ts";
import { answer } from "../../../support/fake_kube.ts";
import { cases, HandoverWorld } from "../../../support/handover_world.ts";
import { machineDeployment, providerConfig } from "../../../support/machine_objects.ts";
import { expectedConfig } from "../../../support/osm_vectors.ts";

Deno.test.afterAll(() => closeTemplateEngines());

interface Told {
  pools: { pool: string }[];
  configs: {
    pool: string;
    profile: string;
    profileVersion: string;
    config: string;
    changes: { path: string; change: string }[];
    refusal?: { reason: string; message: string };
    warnings: string[];
  }[];
  steps: { about: string; outcome: string; message: string }[];
}

const osm = { name: "operating-system-manager", namespace: "kube-system" };

/** A cluster that Operating System Manager has left, with its Deployment scaled down. */
async function osmsCluster(args: string[] = [], env: object[] = []): Promise<HandoverWorld> {
  const world = new HandoverWorld();
  await world.osm.look();
  const containers = [{ command: ["/usr/local/bin/osm-controller"], args: ["-worker-count=5", ...args], env }];
  world.kube.put("deployments", { metadata: osm, spec: { replicas: 0, template: { spec: { containers } } } });
  world.kube.remove("secrets", "ostler-seed", "kube-system");
  world.kube.writes.length = 0;
  return world;
}

async function expected(world: HandoverWorld, args: string[] = []): Promise<Told & { code: number }> {
  const { code, out, err } = await world.run(["adopt", "--dry-run", "-o", "json", ...args]);
  assert.equal(err, "");
  assert.deepEqual(world.kube.writes, []);
  return { code, ...JSON.parse(out) as Told };
}

function configOf({ configs }: Told, name: string): Told["configs"][number] {
  const found = configs.find(({ pool }) => pool === name);
  assert.ok(found, name);
  return found;
}

Deno.test("fault P1: ostler adopt --dry-run renders every pool, and shows what would change", async () => {
  const world = await osmsCluster();
  const told = await expected(world);
  assert.equal(told.code, 0, JSON.stringify(told.steps));
  assert.deepEqual(told.configs.map(({ pool }) => pool), told.pools.map(({ pool }) => pool));
  const usual = configOf(told, "fleet/pool");
  assert.match(`${usual.profile} ${usual.profileVersion}`, /^kube-system\/osp-ubuntu v1\.\d+\.0$/);
  assert.match(usual.config, /^\d+ files: .*added/);
  assert.ok(usual.changes.some(({ path, change }) => path === "/opt/bin/setup" && change === "Added"));
  const { out } = await world.run(["adopt", "--dry-run"]);
  assert.match(out, /^POOL +PROFILE OF OSTLER +CONFIG OF OSTLER/m);
  assert.match(out, /^fleet\/pool +kube-system\/osp-ubuntu v1\.\d+\.0 +\d+ files: /m);
});

Deno.test("fault P1: ostler adopt --dry-run names each pool that Ostler would refuse, and the reason", async () => {
  const world = await osmsCluster();
  const put = (name: string, overrides: object): void => {
    world.kube.put("machinedeployments", machineDeployment({ metadata: { namespace: "fleet", name }, ...overrides }));
  };
  put("old", { kubelet: "1.29.3" });
  put("skewed", { kubelet: "1.32.9" });
  put("elsewhere", { value: { ...providerConfig(), cloudProvider: "equinixmetal" } });
  put("lost", { annotations: { "k8c.io/operating-system-profile": "none" } });
  const told = await expected(world);
  assert.equal(told.code, 1);
  const reasons = Object.fromEntries(told.configs.map(({ pool, refusal }) => [pool, refusal?.reason]));
  assert.deepEqual(
    [reasons["fleet/old"], reasons["fleet/skewed"], reasons["fleet/elsewhere"], reasons["fleet/lost"]],
    ["KubeletVersionInvalid", undefined, "ProviderUnsupported", "ProfileMissing"],
  );
  const refused = told.steps.filter(({ outcome }) => outcome === "Refused").map(({ about, message }) =>
    `${about}: ${message}`
  );
  assert.equal(refused.length, 3);
  assert.match(
    refused.find((each) => each.includes("fleet/old")) ?? "",
    /^pool "fleet\/old": Ostler would refuse its config \(KubeletVersionInvalid\): .*"1\.29\.3": supported versions are 1\.30 to 1\.36/,
  );
  // The same command without --dry-run does not depend on what Ostler renders.
  assert.match((await world.run(["adopt"])).out, /pools taken over$/m);
});

Deno.test("fault P1: ostler adopt --dry-run uses the settings of Operating System Manager's Deployment, and prefers given flags", async () => {
  const args = ["-node-http-proxy=http://proxy.test:3128", "-host-ca-bundle=/etc/ca/bundle.pem", "-pause-image=a/b:1"];
  const world = await osmsCluster(args);
  const step = ({ steps }: Told): string =>
    steps.find(({ about }) => about === "settings of the machines")?.message ?? "";
  const told = await expected(world);
  assert.match(
    step(told),
    /^read from Deployment "kube-system\/operating-system-manager", except --host-ca-bundle, whose/,
  );
  const refused = await expected(await osmsCluster(["-initial-taints=nonsense"]));
  assert.deepEqual([refused.code, refused.configs], [1, undefined]);
  assert.match(
    step(refused),
    /^Ostler would refuse the settings of Deployment .*--initial-taints "nonsense": must be comma-sep/,
  );
  assert.equal(
    (await expected(await osmsCluster(["-initial-taints=nonsense"]), ["--initial-taints=a=b:NoExecute"])).code,
    0,
  );
  const bare = await osmsCluster();
  bare.kube.remove("deployments", osm.name, osm.namespace);
  assert.match(
    step(await expected(bare, ["--initial-taints=nonsense"])),
    /^Ostler would refuse the flags of this command: .*--initial-taints "nonsense": must be comma-sep/,
  );
  const kept = await expected(await osmsCluster(["-disable-default-osps"]));
  assert.equal(configOf(kept, "fleet/pool").profileVersion, "v1.11.2");
});

Deno.test("fault P1: ostler adopt --dry-run shows warnings of each pool, and exits with 4 if the API server fails", async () => {
  const world = await osmsCluster();
  const key = "v1.kubelet-config.machine-controller.kubermatic.io/MaxPods";
  const pool = machineDeployment({ metadata: { namespace: "fleet", name: "misplaced" } });
  const template = pool["spec"] as { template: { metadata?: object } };
  template.template.metadata = { annotations: { [key]: "50" } };
  world.kube.put("machinedeployments", pool);
  const told = await expected(world);
  assert.match(configOf(told, "fleet/misplaced").warnings.join(), /MaxPods" has no effect in spec\.template/);
  world.kube.onRequest = (request) => {
    if (request.startsWith("get configmaps")) throw answer(503, "ServiceUnavailable");
  };
  assert.equal((await world.run(["adopt", "--dry-run"])).code, 4);
});

Deno.test("fault P1: ostler adopt --dry-run finds every config unchanged after the takeover", async () => {
  const world = await osmsCluster(["-cluster-dns", "10.96.0.10"]);
  assert.equal((await world.run(["adopt"])).code, 0);
  await world.runOstler();
  world.kube.writes.length = 0;
  const { config, changes } = configOf(await expected(world), "fleet/pool");
  assert.deepEqual([config, changes], ["unchanged", []]);
});

Deno.test("fault P1: a pool whose profile has Go templates keeps the files that Operating System Manager published", async () => {
  const world = await osmsCluster();
  for (const each of cases) {
    const { config: name } = namesOf(each.deployment.metadata);
    world.kube.put("operatingsystemconfigs", {
      metadata: { name, namespace: "kube-system" },
      spec: expectedConfig(each)?.spec,
    });
  }
  world.kube.writes.length = 0;
  const told = await expected(world);
  for (const { deployment: { metadata: { namespace, name } } } of cases) {
    assert.deepEqual(configOf(told, `${namespace}/${name}`).changes, [], name);
  }
});

Deno.test("isEqual: treats each placeholder for a secret as equal to any text", () => {
  const rendered = "token <hidden>\nuser <hidden>!";
  assert.ok(isEqual("token abc\nuser x!", rendered));
  assert.ok(isEqual(rendered, rendered));
  for (const other of ["token abc\nuser x", "tokens abc\nuser x!", "token abc user x!", "!"]) {
    assert.ok(!isEqual(other, rendered), other);
  }
});
