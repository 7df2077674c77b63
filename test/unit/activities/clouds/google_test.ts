import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openGoogle } from "../../../../activities/clouds/google.ts";
import type { GroupSpec } from "../../../../deploy/local/cloud/groups/group_cloud.ts";
import { type GoogleConditions, project } from "../../../support/clouds/google_ground.ts";
import { clusterTag, image1, image2, image3, open, regional, spec } from "../../../support/clouds/google_world.ts";
import { truthIn } from "../../../support/clouds/group_truth.ts";
import { type CloudConditions, type CloudUnderTest, conforms } from "../../../support/driver_conformance.ts";

function underTest(
  of: GroupSpec,
  special: Partial<GoogleConditions> = {},
): (conditions?: CloudConditions) => Promise<CloudUnderTest> {
  return async ({ hidesNew, capacity } = {}) => {
    const images = [image1, image2, image3];
    const { cloud, stub, driver, [Symbol.asyncDispose]: end } = open({
      ...{ ...special, images, groups: [of] },
      ...(hidesNew ? { lagMs: 3_600_000 } : {}),
      ...(capacity === undefined ? {} : { capacity }),
    });
    return {
      driver: await driver,
      group: of.id,
      images: [image2, image3],
      calls: () => stub.calls.length,
      befall: (fault, after) => {
        const at = stub.calls.length + 1 + after;
        stub.fault = (nth) => nth === at ? fault : undefined;
      },
      // The machine of an order is recognized by its name, which ends in a hash.
      ...truthIn(cloud, of.id, ({ token }) => token?.replace(/-[0-9a-f]{8}$/, "")),
      [Symbol.asyncDispose]: end,
    };
  };
}

conforms("openGoogle in a zone", underTest(spec));
// A regional group chooses the zone of an instance, so an order has no provider ID before its instance is listed.
const inRegion = { isListedAtOnce: true, saysNoIn: "Operation", templatesIn: "regions/europe-west1" } as const;
conforms("openGoogle in a region", underTest(regional, inRegion));

async function refusedFor(groups: GroupSpec[], conditions: Partial<GoogleConditions>, message: RegExp): Promise<void> {
  await using world = open({ groups, ...conditions });
  const driver = await world.driver;
  const [{ id: group } = spec] = groups;
  const before = await driver.instances(group);
  const verbs: (() => Promise<unknown>)[] = [
    ...[() => driver.template(group), () => driver.ensureImage({ group, image: image2 })],
    ...[() => driver.ensureTemplate({ group, template: "any" }), () => driver.order({ group, token: "t" })],
  ];
  for (const verb of verbs) await rejects(verb, { type: "CloudRefused", message });
  deepEqual([world.cloud.group(group)?.size, world.cloud.group(group)?.templates.length, before.length], [2, 1, 2]);
}

const restless: [string, GroupSpec, Partial<GoogleConditions>, RegExp][] = [
  [
    "replaces instances by itself",
    spec,
    { manager: () => ({ updatePolicy: { type: "PROACTIVE" } }) },
    /: it replaces instances by itself \(updatePolicy.type is PROACTIVE\); set OPPORTUNISTIC$/,
  ],
  [
    "keeps stopped instances",
    spec,
    { manager: () => ({ targetStoppedSize: 1 }) },
    /: it keeps stopped or suspended instances, which would join with the previous image; delete or resume them$/,
  ],
  [
    "boots two versions",
    spec,
    {
      manager: () => ({
        versions: [{ name: "a" }, { name: "canary" }].map((each) => ({ ...each, instanceTemplate: template })),
      }),
    },
    /: it boots 2 versions; configure one$/,
  ],
  [
    "redistributes its instances among zones",
    regional,
    { manager: () => ({ updatePolicy: { type: "OPPORTUNISTIC" } }) },
    /: it removes instances by itself to even out zones; set updatePolicy.instanceRedistributionType to NONE$/,
  ],
  [
    "is scaled by an autoscaler",
    spec,
    { autoscaler: "ON" },
    /: its autoscaler changes the group's size \(mode is ON\); set mode OFF$/,
  ],
];
const kept = { "state-disk": { autoDelete: "ON_PERMANENT_INSTANCE_DELETION" } };
const suspect = { status: { stateful: { hasStatefulConfig: true } } };
const stateful: [string, Partial<GoogleConditions>, RegExp][] = [
  [
    "preserves disks by a policy",
    { manager: () => ({ statefulPolicy: { preservedState: { disks: kept } } }) },
    /: its statefulPolicy preserves disks or addresses, which Google destroys or leaves behind/,
  ],
  [
    "preserves addresses by a policy",
    { manager: () => ({ statefulPolicy: { preservedState: { internalIPs: { nic0: { autoDelete: "NEVER" } } } } }) },
    /: its statefulPolicy preserves disks or addresses, .*; delete the group's stateful configuration$/,
  ],
  [
    "preserves a disk of one instance",
    {
      manager: () => suspect,
      configs: () => [{ name: "workers-1" }, { name: "workers-2", preservedState: { disks: kept } }],
    },
    /: its configuration of instance "workers-2" preserves disks, addresses or metadata, which Google/,
  ],
];

for (const [what, conditions, message] of stateful) {
  for (const group of [spec, regional]) {
    Deno.test(`fault G3: openGoogle changes nothing in a group (${group.name}) that ${what}`, async () => {
      await refusedFor([group], conditions, message);
      await removesNothing(group, conditions, message);
    });
  }
}

Deno.test("fault G3: openGoogle removes no instance whose preserved disks have lost their configuration", () =>
  removesNothing(
    spec,
    { member: () => ({ preservedStateFromConfig: { disks: kept } }) },
    /of "projects\/.*": its group preserves disks, addresses or metadata of the instance$/,
  ));

async function removesNothing(group: GroupSpec, conditions: Partial<GoogleConditions>, message: RegExp): Promise<void> {
  await using world = open({ groups: [group], ...conditions });
  const driver = await world.driver;
  const [{ providerId } = { providerId: "" }] = await driver.instances(group.id);
  for (const shrinks of [true, false]) {
    await rejects(driver.remove({ group: group.id, providerId, shrinks }), { type: "CloudRefused", message });
  }
  deepEqual([world.cloud.group(group.id)?.size, world.cloud.instances().length], [2, 2]);
  equal(world.stub.calls.some((each) => ["POST create", "POST delete", "PATCH group"].includes(each)), false);
}

Deno.test("fault G3: openGoogle rolls a group whose instances were created by name, because that preserves nothing", async () => {
  await using world = open();
  const driver = await world.driver;
  const first = await driver.order({ group: spec.id, token: "a" });
  const second = await driver.order({ group: spec.id, token: "b" });
  ok(first.outcome === "Ordered" && second.outcome === "Ordered");
  equal(await driver.remove({ group: spec.id, providerId: first.instance.providerId, shrinks: true }), "Going");
});

const template = `projects/${project}/global/instanceTemplates/workers`;

for (const [what, group, conditions, message] of restless) {
  Deno.test(`openGoogle: does not roll a group that ${what}`, () => refusedFor([group], conditions, message));
}

Deno.test("K20 openGoogle: finds the groups of all pages, zones and regions, and only those of its cluster", async () => {
  await using world = open({ groups: [{ ...spec, role: "ControlPlane" }, regional] });
  const { groups, isComplete } = await (await world.driver).groups();
  deepEqual(groups.map(({ id, name, role, min, max, size }) => [id, name, role, min, max, size]), [
    [spec.id, "workers", "ControlPlane", 1, 4, 2],
    [regional.id, "spread", "Worker", 1, 4, 2],
  ]);
  equal(groups[0]?.autoscalerName, `https://www.googleapis.com/compute/v1/${spec.id.replace("Managers", "s")}`);
  equal(isComplete, true);
  const other = await openGoogle({ project, clusterTag: "cluster-2", endpoint: world.stub.url });
  deepEqual([(await other.groups()).groups, await other.group(spec.id)], [[], undefined]);
  const elsewhere = await openGoogle({ project: "p-2", clusterTag, endpoint: world.stub.url });
  equal(await elsewhere.group(spec.id), undefined);
});

Deno.test("K20 openGoogle: fails when the second page of groups fails", async () => {
  await using world = open({ groups: [spec, regional] });
  const driver = await world.driver;
  await driver.groups();
  world.stub.calls.length = 0;
  world.stub.fault = () =>
    world.stub.calls.filter((each) => each === "GET groups").length === 2 ? "Throttled" : undefined;
  await rejects(driver.groups(), { type: "ApiUnavailable" });
});

Deno.test("K20 openGoogle: reports a zone whose groups could not be read", async () => {
  await using world = open({ isPartial: true });
  const { groups, isComplete } = await (await world.driver).groups();
  deepEqual([groups.map(({ id }) => id), isComplete], [[spec.id], false]);
});

Deno.test("openGoogle: returns the bounds 0 and 1000 for a group without an autoscaler, and refuses an order that Google refuses", async () => {
  await using world = open({ manager: () => ({ status: { isStable: true } }) });
  const driver = await world.driver;
  const { min, max } = await driver.group(spec.id) ?? {};
  deepEqual([min, max], [0, 1000]);
  for (const token of ["a", "b"]) await driver.order({ group: spec.id, token });
  await rejects(driver.order({ group: spec.id, token: "c" }), {
    type: "CloudRefused",
    message: /its maximum of 4 instances$/,
  });
  equal(world.cloud.group(spec.id)?.size, 4);
});

Deno.test("openGoogle: returns instances with node names, images, addresses and ages", async () => {
  await using world = open();
  const [first] = world.cloud.instances();
  ok(first);
  world.cloud.set(first.providerId, { state: "Ready" });
  const [seen] = await (await world.driver).instances(spec.id);
  deepEqual(seen, {
    ...{ providerId: "gce://p-1/europe-west1-b/workers-1", group: spec.id, node: "workers-1", state: "Ready" },
    ...{ trouble: "", image: image1, addresses: first.addresses, zone: "europe-west1-b", isProtected: false },
    since: "1970-01-01T00:00:00.000Z",
  });
});

Deno.test("openGoogle: reports protected, unhealthy and stopped instances", async () => {
  await using world = open({ groups: [{ ...spec, size: 3 }] });
  const [first, second, third] = world.cloud.instances();
  ok(first && second && third);
  first.isProtected = true;
  second.trouble = "ill";
  third.state = "Failed";
  const seen = await (await world.driver).instances(spec.id);
  deepEqual(seen.map(({ isProtected, trouble, state }) => [isProtected, trouble, state]), [
    [true, "", "Creating"],
    [false, "the group reports the instance as UNHEALTHY", "Creating"],
    [false, "", "Stopped"],
  ]);
});

Deno.test("openGoogle: stops when its signal is aborted, also during the wait for an operation", async () => {
  await using world = open();
  const ended = new AbortController();
  const driver = await openGoogle({ project, clusterTag, endpoint: world.stub.url, signal: ended.signal });
  world.stub.fault = (_, action) => {
    if (action === "POST create") setTimeout(() => ended.abort(new Error("it ends")), 20);
    return undefined;
  };
  await rejects(driver.order({ group: spec.id, token: "t" }), { message: "it ends" });
  await rejects(driver.groups(), { message: "it ends" });
});

Deno.test("openGoogle: reads credentials from the metadata server once, and sends none without TLS", async () => {
  const asked: string[] = [];
  await using metadata = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const { pathname, searchParams } = new URL(url);
    asked.push(`${pathname.split("/").at(-1)} ${searchParams.get("scopes")}`);
    const token = { access_token: "secret", expires_in: 3600, token_type: "Bearer" };
    return Response.json(pathname.endsWith("/token") ? token : {}, { headers: { "metadata-flavor": "Google" } });
  });
  const settings = {
    GCE_METADATA_HOST: `127.0.0.1:${metadata.addr.port}`,
    ...{ METADATA_SERVER_DETECTION: "assume-present", GOOGLE_APPLICATION_CREDENTIALS: "" },
    // In a real home folder the SDK would find the user's own credentials.
    HOME: "/nowhere",
  };
  const before = Object.keys(settings).map((key) => [key, Deno.env.get(key)] as const);
  for (const [key, value] of Object.entries(settings)) Deno.env.set(key, value);
  try {
    const open = await openGoogle({ project, clusterTag, endpoint: "http://127.0.0.1:1/" });
    await rejects(open.groups(), { type: "ApiUnavailable" });
    deepEqual(asked, []);
    const closed = await openGoogle({ project, clusterTag, endpoint: "https://127.0.0.1:1/" });
    for (let nth = 0; nth < 2; nth++) {
      await rejects(closed.groups(), { type: "ApiUnavailable", message: /ECONNREFUSED/ });
    }
    deepEqual(asked, ["token https://www.googleapis.com/auth/compute"]);
  } finally {
    for (const [key, value] of before) value === undefined ? Deno.env.delete(key) : Deno.env.set(key, value);
  }
});

Deno.test("openGoogle: a request for credentials without an answer ends at its timeout, so that a later call repeats it", async () => {
  let asked = 0;
  const ending = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, signal: ending.signal },
    () => ++asked <= 4 ? new Promise<Response>(() => {}) : Response.json({ access_token: "secret", expires_in: 3600 }),
  );
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/token`, "token-1");
  const account = {
    ...{ type: "external_account", audience: "it", subject_token_type: "urn:ietf:params:oauth:token-type:jwt" },
    ...{ token_url: `http://127.0.0.1:${server.addr.port}/token`, credential_source: { file: `${folder}/token` } },
  };
  await Deno.writeTextFile(`${folder}/account`, JSON.stringify(account));
  const before = Deno.env.get("GOOGLE_APPLICATION_CREDENTIALS");
  Deno.env.set("GOOGLE_APPLICATION_CREDENTIALS", `${folder}/account`);
  try {
    const driver = await openGoogle({ project, clusterTag, endpoint: "https://127.0.0.1:1/", requestMs: 300 });
    const said: string[] = [];
    for (let nth = 0; nth < 30 && !said.at(-1)?.includes("ECONNREFUSED"); nth++) {
      said.push(await driver.groups().then(() => "", (error) => `${error.type} ${error.message}`));
    }
    ok(said.every((each) => each.startsWith("ApiUnavailable")), said.join());
    ok(said.at(-1)?.includes("ECONNREFUSED"), `${asked} requests; ${said.at(-1)}`);
  } finally {
    if (before === undefined) Deno.env.delete("GOOGLE_APPLICATION_CREDENTIALS");
    else Deno.env.set("GOOGLE_APPLICATION_CREDENTIALS", before);
    ending.abort();
    await server.finished.catch(() => {});
    await Deno.remove(folder, { recursive: true });
  }
});
