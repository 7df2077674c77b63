import { deepEqual, rejects } from "node:assert/strict";
import { simulatedCloud } from "../../../../activities/clouds/simulated.ts";
import { type Fault, GroupApi } from "../../../../deploy/local/cloud/groups/group_api.ts";
import { GroupCloud } from "../../../../deploy/local/cloud/groups/group_cloud.ts";
import { truthIn } from "../../../support/clouds/group_truth.ts";
import { type CloudConditions, type CloudUnderTest, conforms } from "../../../support/driver_conformance.ts";

const spec = {
  ...{ id: "projects/p/groups/Workers", name: "workers", autoscalerName: "asg-workers", role: "Worker" as const },
  ...{ min: 1, max: 4, size: 2, zones: ["a", "b"] },
  template: { image: "image-1", machineType: "m", userData: "secret" },
};

/** A simulated cloud, its API with faults, and its driver. */
function open({ hidesNew, capacity }: CloudConditions = {}): CloudUnderTest {
  const images = ["image-1", "image-2", "image-3"];
  const cloud = new GroupCloud({ images, ...(capacity === undefined ? {} : { capacity }) });
  cloud.create(spec);
  // All clients see these instances, because they are old.
  for (const instance of cloud.instances()) instance.since = new Date(0).toISOString();
  let befalls: { fault: Fault | undefined; at: number } = { fault: undefined, at: 0 };
  const api = new GroupApi(cloud, {
    lagMs: () => hidesNew ? 3_600_000 : 0,
    fault: ({ nth }) => nth === befalls.at ? befalls.fault : undefined,
  });
  return {
    driver: simulatedCloud({ url: api.url }),
    group: spec.id,
    images: ["image-2", "image-3"],
    calls: () => api.calls.length,
    befall: (fault, after) => void (befalls = { fault, at: api.calls.length + 1 + after }),
    ...truthIn(cloud, spec.id),
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

conforms("simulatedCloud", open);

/** Calls `look` with a simulated cloud whose API has this fault at each call of the kind `at`. */
async function withFault(
  fault: Fault,
  at: string,
  look: (url: string, cloud: GroupCloud) => Promise<void>,
): Promise<void> {
  const cloud = new GroupCloud();
  cloud.create(spec);
  cloud.create({ ...spec, id: "other", name: "other" });
  await using api = new GroupApi(cloud, {
    fault: ({ method, path }) => `${method} ${path}` === at ? fault : undefined,
  });
  await look(api.url, cloud);
}

Deno.test("K20 simulatedCloud: reports an incomplete list of groups", async () => {
  await withFault("Partial", "GET /groups", async (url) => {
    const { groups, isComplete } = await simulatedCloud({ url }).groups();
    deepEqual([groups.map(({ id }) => id), isComplete], [["other"], false]);
  });
});

Deno.test("K19 simulatedCloud: refuses a template that lost a field on its way", async () => {
  const path = `/groups/${encodeURIComponent(spec.id)}/templates`;
  await withFault("Altered", `POST ${path}`, async (url, cloud) => {
    await rejects(simulatedCloud({ url }).ensureImage({ group: spec.id, image: "image-2" }), {
      type: "CloudRefused",
      message: /the new template differs from the requested one in "machineType", "userData"$/,
    });
    deepEqual(cloud.group(spec.id)?.boots.fields, spec.template);
  });
});

Deno.test("simulatedCloud: a deleted instance does not become Ready, even if its machine boots afterwards", () => {
  const cloud = new GroupCloud();
  cloud.create(spec);
  const [{ providerId } = { providerId: "" }] = cloud.instances();
  cloud.remove(providerId, false);
  cloud.set(providerId, { state: "Ready" });
  deepEqual([cloud.instance(providerId)?.state, cloud.instances().length], ["Terminating", 3]);
  cloud.set(providerId, { state: "Terminated" });
  deepEqual(cloud.instance(providerId)?.state, "Terminated");
});

for (const zone of spec.zones) {
  Deno.test(`fault G2: simulatedCloud creates an instance in ordered zone "${zone}"`, async () => {
    await using cloud = await open();
    const answer = await cloud.driver.order({ group: spec.id, token: "t", zone });
    deepEqual(answer.outcome === "Ordered" && answer.instance.zone, zone);
  });
}

Deno.test("fault G2: simulatedCloud suspends the rebalancing of zones, so that one zone can get a third machine, and resumes it", async () => {
  const cloud = new GroupCloud();
  cloud.create({ ...spec, rebalances: true });
  await using api = new GroupApi(cloud);
  const driver = simulatedCloud({ url: api.url });
  const zones = (): string =>
    cloud.instances().filter(({ state }) => state !== "Terminating").map((each) => each.zone).sort().join("");
  deepEqual((await driver.group(spec.id))?.rebalances, true);
  await driver.ensureRebalancing?.({ group: spec.id, isOn: false });
  deepEqual((await driver.group(spec.id))?.rebalances, undefined);
  for (const token of ["1", "2"]) await driver.order({ group: spec.id, token, zone: "a" });
  deepEqual(zones(), "aaab");
  await driver.ensureRebalancing?.({ group: spec.id, isOn: true });
  deepEqual(zones(), "aabb");
  await driver.ensureRebalancing?.({ group: "none", isOn: true });
});

Deno.test("fault G3: simulatedCloud refuses a group whose machines keep a disk, and changes nothing", async () => {
  const cloud = new GroupCloud();
  cloud.create({ ...spec, template: { ...spec.template, statefulDisk: "data" } });
  await using api = new GroupApi(cloud);
  const driver = simulatedCloud({ url: api.url });
  const message = /its machines have stateful disk "data", which the removal of a machine destroys/;
  await rejects(driver.template(spec.id), { type: "CloudRefused", message });
  await rejects(driver.ensureImage({ group: spec.id, image: "image-2" }), { type: "CloudRefused", message });
  deepEqual(cloud.group(spec.id)?.templates.length, 1);
});
