import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openAzure } from "../../../../activities/clouds/azure.ts";
import {
  clusterTag,
  images,
  providerIdOf,
  settle,
  spec,
  truthOf,
  worldOf,
} from "../../../support/clouds/azure_world.ts";
import { type CloudConditions, type CloudUnderTest, conforms } from "../../../support/driver_conformance.ts";

async function underTest({ hidesNew = false, capacity }: CloudConditions = {}): Promise<CloudUnderTest> {
  const room = capacity === undefined ? {} : { capacity };
  const world = worldOf({ ...room, ...(hidesNew ? { lagMs: 3_600_000 } : {}) });
  const { cloud, stub } = world;
  return {
    driver: await world.open(),
    group: spec.id,
    images: [images[1], images[2]],
    calls: () => stub.calls.length,
    befall: (fault, after) => {
      const at = stub.calls.length + 1 + after;
      stub.fault = (nth) => nth === at ? fault : undefined;
    },
    truth: () => truthOf(world),
    show: () => void (stub.ground.lagMs = 0),
    settle: () => settle(cloud),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

conforms("openAzure", underTest);

Deno.test("K20 openAzure: finds the groups of all pages, and only those of its cluster", async () => {
  const others = ["cp", "third"].map((name) => ({ ...spec, id: spec.id.replace("Workers-vmss", name), name }));
  await using world = worldOf({
    groups: [spec, ...others.map((each) => ({ ...each, role: "ControlPlane" as const }))],
  });
  const driver = await world.open();
  const { groups } = await driver.groups();
  deepEqual(groups.map(({ id, name, role, min, max }) => [id, name, role, min, max]), [
    [spec.id, "workers", "Worker", 1, 4],
    ...others.map(({ id, name }) => [id, name, "ControlPlane", 1, 4]),
  ]);
  const asked = { subscription: "s", resourceGroup: "r", endpoint: world.stub.url };
  const other = await openAzure({ ...asked, clusterTag: "cluster-2" });
  deepEqual([(await other.groups()).groups, await other.group(spec.id)], [[], undefined]);
  const elsewhere = await openAzure({ ...asked, clusterTag, resourceGroup: "other" });
  equal(await elsewhere.group(spec.id), undefined);
});

Deno.test("K20 openAzure: fails when the second page of groups fails", async () => {
  const others = ["b", "c"].map((name) => ({ ...spec, id: spec.id.replace("Workers-vmss", name), name }));
  await using world = worldOf({ groups: [spec, ...others] });
  world.stub.fault = (nth) => nth === 2 ? "Throttled" : undefined;
  await rejects((await world.open()).groups(), { type: "ApiUnavailable" });
});

Deno.test("openAzure: returns instances with node names, protection and failures", async () => {
  await using world = worldOf({ groups: [{ ...spec, size: 3 }] });
  const [first, second, third] = world.cloud.instances();
  world.cloud.set(first?.providerId ?? "", { state: "Ready" });
  world.cloud.set(second?.providerId ?? "", { isProtected: true });
  world.cloud.set(third?.providerId ?? "", { state: "Failed", trouble: "no room" });
  const seen = await (await world.open()).instances(spec.id);
  const zones = ["2", "1", "2"];
  deepEqual(
    seen.map(({ since: _, group: __, image: ___, ...each }) => each),
    [
      { state: "Ready", isProtected: false, trouble: "" },
      { state: "Creating", isProtected: true, trouble: "" },
      { state: "Failed", isProtected: false, trouble: "ProvisioningState/failed/AllocationFailed" },
    ].map((each, index) => {
      const node = `workers-${index + 1}`;
      return { ...each, node, addresses: [node], providerId: providerIdOf(index + 1), zone: zones[index] };
    }),
  );
});

const byThemselves = [
  {
    properties: { upgradePolicy: { mode: "Automatic" } },
    says: /its upgrade policy is "Automatic", with which/,
  },
  { properties: { upgradePolicy: { mode: "Rolling" } }, says: /its upgrade policy is "Rolling", with which/ },
  { properties: { orchestrationMode: "Flexible" }, says: /its orchestration mode is Flexible; use Uniform/ },
  { properties: { overprovision: true }, says: /it creates more machines than requested/ },
  {
    properties: {
      upgradePolicy: { mode: "Manual", automaticOSUpgradePolicy: { enableAutomaticOSUpgrade: true } },
    },
    says: /it upgrades operating systems by itself/,
  },
  {
    properties: { resiliencyPolicy: { automaticZoneRebalancingPolicy: { enabled: true } } },
    says: /it moves machines between zones by itself; turn off automatic zone balance/,
  },
];

for (const { properties, says } of byThemselves) {
  Deno.test(`openAzure: reads a scale set with ${JSON.stringify(properties)}, and refuses to change it`, async () => {
    await using world = worldOf({ properties });
    const driver = await world.open();
    equal((await driver.group(spec.id))?.size, 2);
    const refused = { type: "CloudRefused", nonRetryable: true, message: says };
    await rejects(driver.order({ group: spec.id, token: "t" }), refused);
    await rejects(driver.ensureImage({ group: spec.id, image: images[1] }), refused);
    await rejects(driver.remove({ group: spec.id, providerId: providerIdOf(1), shrinks: true }), refused);
    deepEqual(truthOf(world), { size: 2, alive: 2, tokens: [], boots: images[0], templates: 1 });
  });
}

Deno.test("K17, K19 openAzure: changes only the image of a set", async () => {
  await using world = worldOf();
  const group = world.cloud.group(spec.id);
  const before = world.stub.ground.tagsOf(group!);
  const driver = await world.open();
  await driver.ensureImage({ group: spec.id, image: images[1] });
  deepEqual(group?.boots.fields, { image: images[1], userData: "c2VjcmV0" });
  deepEqual([world.stub.ground.tagsOf(group!), group?.size], [before, 2]);
  const calls = world.stub.calls.length;
  await driver.ensureImage({ group: spec.id, image: images[1].toUpperCase() });
  deepEqual(world.stub.calls.slice(calls), ["get"]);
});

Deno.test("K17 openAzure: does not report success when another client changed the set meanwhile", async () => {
  await using world = worldOf();
  const group = world.cloud.group(spec.id)!;
  world.stub.fault = (nth) => {
    if (nth === 3) world.cloud.useTemplate(group, world.cloud.addTemplate(group, { image: images[2] }).id);
    return undefined;
  };
  const ensured = (await world.open()).ensureImage({ group: spec.id, image: images[1] });
  await rejects(ensured, { type: "ApiUnavailable", message: /it still boots ".*\/images\/3"$/ });
});

const open = [
  ...["publisher:offer:sku:latest", "/communityGalleries/g/images/i", "/sharedGalleries/g/images/i/versions/latest"],
  "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/galleries/g/images/i",
];

for (const image of open) {
  Deno.test(`openAzure: refuses an image that may change: ${image}`, async () => {
    await using world = worldOf();
    const ensured = (await world.open()).ensureImage({ group: spec.id, image });
    await rejects(ensured, {
      type: "CloudRefused",
      message: /the image does not name a version, so its meaning may change/,
    });
    equal(world.cloud.group(spec.id)?.boots.fields.image, images[0]);
  });
}

Deno.test("openAzure: sends a request once even if a reused connection ends", async () => {
  let calls = 0;
  const server = createServer((request, response) => {
    if (++calls === 1) response.setHeader("content-type", "application/json").end('{"value":[]}');
    else request.socket.destroy();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const driver = await openAzure({ subscription: "s", resourceGroup: "r", clusterTag, endpoint });
  deepEqual((await driver.groups()).groups, []);
  await rejects(driver.groups(), { type: "ApiUnavailable" });
  equal(calls, 2);
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

Deno.test("openAzure: stops when its signal is aborted", async () => {
  await using world = worldOf();
  const ended = new AbortController();
  const driver = await world.open(ended.signal);
  ended.abort(new Error("it ends"));
  await rejects(driver.groups(), { message: "it ends" });
});

Deno.test("openAzure: uses its own credentials for an endpoint with TLS", async () => {
  const asked = { subscription: "s", resourceGroup: "r", clusterTag, endpoint: "https://127.0.0.1:1" };
  const variables = ["AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TOKEN_CREDENTIALS"];
  const before = variables.map((name) => [name, Deno.env.get(name)] as const);
  for (const name of variables) Deno.env.delete(name);
  // A credential that needs no request.
  Deno.env.set("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential");
  try {
    const failure = await (await openAzure(asked)).groups().catch((error: unknown) => error);
    match(String(failure), /Failed to list the scale sets of "r"/);
    equal((failure as { type: string }).type, "AccessDenied");
  } finally {
    for (const [name, value] of before) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  }
});
