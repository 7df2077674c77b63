/** Hands recorded pools from Operating System Manager to Ostler and back, several times in a row. */
import assert from "node:assert/strict";
import { closeTemplateEngines, namesOf } from "../../../../profiles/mod.ts";
import { HandoverWorld, usual } from "../../../support/handover_world.ts";
import { machineDeployment, providerConfig } from "../../../support/machine_objects.ts";

Deno.test.afterAll(() => closeTemplateEngines());

function assertOsmWorks(world: HandoverWorld): void {
  assert.deepEqual(world.osm.errors, {});
  assert.equal(
    world.text(namesOf(usual).bootstrap),
    `token ${world.getterToken}`,
    "Expected a Secret of Operating System Manager",
  );
  for (const pool of world.pools) {
    const { config, bootstrap, provisioning, kubeletBootstrap } = namesOf(pool);
    // This is a config of Operating System Manager; in Ostler's config this field would have content with placeholders.
    const made = world.kube.get("operatingsystemconfigs", config, "kube-system")?.["spec"];
    assert.deepEqual((made as { bootstrapConfig: unknown }).bootstrapConfig, {});
    const boot = world.secret(bootstrap);
    assert.equal(boot?.metadata.annotations?.["k8c.io/machine-deployment-revision"], world.revisionOf(pool));
    assert.deepEqual([boot?.["immutable"], world.secret(provisioning)?.["immutable"]], [true, true]);
    const [token, ...more] = world.tokensOf(pool);
    assert.deepEqual(more, []);
    const [id] = world.text(kubeletBootstrap, "kubeconfig").match(/[a-z0-9]{6}(?=\.[a-z0-9]{16})/) ?? [];
    assert.equal(token, `bootstrap-token-${id}`);
  }
}

Deno.test("handover: five changes to Ostler and back replace no machine, and each system continues to work", async () => {
  const world = new HandoverWorld();
  const machines = JSON.stringify(world.kube.all("machines"));
  for (let round = 1; round <= 5; round++) {
    await world.osm.look();
    assertOsmWorks(world);
    const taken = await world.run(["adopt"]);
    assert.deepEqual([taken.code, taken.err], [0, ""], taken.out);
    assert.match(taken.out, /^pools of Operating System Manager: 4 pools taken over$/m);
    await world.runOstler();
    for (const pool of world.pools) assert.notEqual(world.secret(namesOf(pool).bootstrap)?.["immutable"], true);
    const given = await world.run(["release", "--yes"]);
    assert.equal(given.code, 0, given.out + given.err);
    assert.match(given.out, /^pools of Ostler: 4 pools given back$/m);
    assertNothingOfOurs(world);
    assertBoots(world);
    await world.osm.look();
    assertOsmWorks(world);
    assert.equal(JSON.stringify(world.kube.all("machines")), machines, `round ${round}`);
  }
});

Deno.test("handover: ostler release loses nothing when Operating System Manager did not run since ostler adopt", async () => {
  const world = new HandoverWorld();
  await world.osm.look();
  for (let round = 1; round <= 3; round++) {
    assert.equal((await world.run(["adopt"])).code, 0);
    await world.runOstler();
    assert.equal((await world.run(["release", "--yes"])).code, 0);
    assertNothingOfOurs(world);
    assertBoots(world);
  }
  // Ostler does not run after this adopt, which changes only the owner of the objects, and not their content.
  assert.equal((await world.run(["adopt"])).code, 0);
  const given = await world.run(["release", "--yes", "--without-temporal"]);
  assert.equal(given.code, 0, given.out + given.err);
  assertNothingOfOurs(world);
  await world.osm.look();
  assertOsmWorks(world);
});

Deno.test("handover: Operating System Manager makes config and secrets of an edge pool again, although it never replaces an edge script", async () => {
  const { config, edgeScript } = namesOf(usual);
  for (const isLost of [false, true]) {
    const world = new HandoverWorld();
    const value = { ...providerConfig(), cloudProvider: "edge", cloudProviderSpec: {} };
    world.kube.put("machinedeployments", machineDeployment({ value }));
    await world.osm.look();
    assert.equal((await world.run(["adopt"])).code, 0);
    await world.runOstler();
    assert.match(world.text(edgeScript, "fetch-bootstrap-script"), /^#!/, "Expected the script of Ostler");
    if (isLost) world.kube.remove("operatingsystemconfigs", config, "kube-system");
    const given = await world.run(["release", "--yes"]);
    assert.equal(given.code, 0, given.out + given.err);
    await world.osm.look();
    assertOsmWorks(world);
    assert.match(world.text(edgeScript, "fetch-bootstrap-script"), /^apt-get/, "Expected the script of OSM");
  }
});

function assertNothingOfOurs({ kube, temporal }: HandoverWorld): void {
  const heads = kube.everything().map(({ metadata }) => metadata);
  const ours = heads.flatMap(({ name, annotations = {}, labels = {} }) =>
    [name, ...Object.keys(annotations), ...Object.keys(labels)].filter((text) => /ostler/.test(text))
  );
  assert.deepEqual(ours, []);
  assert.deepEqual([...temporal.schedules], []);
}

// Asserts that a machine can boot while neither system runs, from the published Secrets and with a valid token.
function assertBoots(world: HandoverWorld): void {
  const { bootstrap } = namesOf(usual);
  const text = decodedDeep(world.text(bootstrap));
  assert.ok(text.includes(world.getterToken), "Expected the token of Operating System Manager");
  assert.equal(world.tokensOf(usual).length, 1);
}

// Files in user-data are base64.
function decodedDeep(text: string): string {
  return text + [...text.matchAll(/[A-Za-z0-9+/]{32,}={0,2}/g)].map(([found]) => atobOr(found)).join("\n");
}

function atobOr(text: string): string {
  try {
    return atob(text);
  } catch {
    return "";
  }
}
