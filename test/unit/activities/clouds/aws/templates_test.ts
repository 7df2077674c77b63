import { deepEqual, equal, rejects } from "node:assert/strict";
import { openAws } from "../../../../../activities/clouds/aws.ts";
import { outputs } from "../../../../../activities/clouds/aws/templates.ts";
import { missingPaths } from "../../../../support/clouds/aws_description.ts";
import type { Driver } from "../../../../../activities/clouds/driver.ts";
import { AwsStub } from "../../../../support/clouds/aws_stub.ts";
import { spec, worldOf } from "../../../../support/clouds/aws_world.ts";
import { GroupCloud } from "../../../../../deploy/local/cloud/groups/group_cloud.ts";

for (const booted of ["image-1", "resolve:ssm:/images/workers"]) {
  Deno.test(`K17 openAws: refuses to replace image ${booted} by a Systems Manager parameter, whose value may change`, async () => {
    await using world = worldOf({ groups: [{ ...spec, template: { ...spec.template, image: booted } }] });
    const ensured = (await world.driver).ensureImage({ group: spec.id, image: "resolve:ssm:/images/workers" });
    await rejects(ensured, {
      type: "CloudRefused",
      message: /the image is a Systems Manager parameter, whose value may change; name an AMI by ID$/,
    });
    equal(world.cloud.group(spec.id)?.templates.length, 1);
  });
}

Deno.test("K9, K17 openAws: sets no template version that EC2 does not show yet, and makes no second version", async () => {
  await using world = worldOf();
  const driver = await world.driver;
  world.stub.ground.shownVersions = 1;
  const asked = { group: spec.id, image: "image-2" };
  for (let nth = 0; nth < 2; nth++) await rejects(driver.ensureImage(asked), { type: "ApiUnavailable" });
  const group = world.cloud.group(spec.id);
  deepEqual([group?.boots.fields.image, group?.templates.length], ["image-1", 2]);
  world.stub.ground.shownVersions = Infinity;
  equal((await driver.ensureImage(asked)).image, "image-2");
  equal(group?.templates.length, 2);
});

for (const version of ["$Latest", "$Default"]) {
  Deno.test(`K17 openAws: replaces template version "${version}" by a number, even for the same image`, async () => {
    await using world = worldOf({ version });
    const driver = await world.driver;
    const asked = { group: spec.id, image: "image-1" };
    const first = await driver.ensureImage(asked);
    const group = world.cloud.group(spec.id);
    deepEqual([first.id.replace(/^.*:/, ""), group && world.stub.ground.versionOf(group)], ["1", "1"]);
    const calls = world.stub.calls.length;
    deepEqual(await driver.ensureImage(asked), first);
    equal(world.stub.calls.slice(calls).includes("UpdateAutoScalingGroup"), false);
  });
}

Deno.test("fault G5: outputs lists exactly the template fields that AWS's API description has only in responses", () => {
  deepEqual(outputs, missingPaths("ResponseLaunchTemplateData", "RequestLaunchTemplateData"));
  // Block device mappings are sent as they were read; AWS itself copies all other fields from the source version.
  deepEqual(missingPaths("LaunchTemplateBlockDeviceMapping", "LaunchTemplateBlockDeviceMappingRequest"), []);
});

Deno.test("fault G4: templates.ts loses no field of a launch template, because each field that a request can have is in responses too", () => {
  deepEqual(missingPaths("RequestLaunchTemplateData", "ResponseLaunchTemplateData"), []);
});

const longAgo = "2026-01-01T00:00:00.000Z";

/** Makes twelve versions after the first one, which a person made; the group boots the last one. */
async function manyVersions(
  world: ReturnType<typeof worldOf>,
): Promise<{ driver: Driver; id: (nth: number) => string }> {
  const driver = await world.driver;
  world.stub.ground.madeVersionsAt = longAgo;
  for (let nth = 2; nth <= 13; nth++) await driver.ensureImage({ group: spec.id, image: `image-${nth}` });
  const { id } = await driver.template(spec.id);
  return { driver, id: (nth) => id.replace(/:.*$/, `:${nth}`) };
}

function deleted({ stub }: ReturnType<typeof worldOf>): string[] {
  return [...stub.ground.deletedVersions].map((each) => each.replace(/^.*:/, ""));
}

Deno.test("fault G11: openAws deletes old versions that it made and nothing boots, and keeps ten", async () => {
  await using world = worldOf();
  const { driver, id } = await manyVersions(world);
  await driver.deleteSpareTemplates?.({ keep: [] });
  // The newest version may be "$Latest" of another group, and the first one was made by a person.
  deepEqual(deleted(world), ["2"]);
  await driver.ensureImage({ group: spec.id, image: "image-14" });
  await driver.deleteSpareTemplates?.({ keep: [id(3)] });
  deepEqual(deleted(world), ["2"]);
  await driver.deleteSpareTemplates?.({ keep: [] });
  deepEqual(deleted(world), ["2", "3"]);
});

Deno.test("fault G11: openAws keeps a version that a group of another cluster boots, and young versions", async () => {
  await using world = worldOf();
  const { driver, id } = await manyVersions(world);
  const [LaunchTemplateId, Version] = id(2).split(":");
  const Overrides = [{ LaunchTemplateSpecification: { LaunchTemplateId, Version } }];
  world.stub.ground.strangers = [{
    AutoScalingGroupName: "other",
    MixedInstancesPolicy: { LaunchTemplate: { Overrides } },
  }];
  await driver.deleteSpareTemplates?.({ keep: [] });
  world.stub.ground.strangers = [];
  world.stub.ground.madeVersionsAt = new Date().toISOString();
  await driver.deleteSpareTemplates?.({ keep: [] });
  deepEqual(deleted(world), []);
});

Deno.test("fault G11: openAws deletes old versions also of a group with a mixed instances policy", async () => {
  await using world = worldOf({ mixed: { Overrides: [{ InstanceType: "m5.large" }] } });
  const { driver } = await manyVersions(world);
  await driver.deleteSpareTemplates?.({ keep: [] });
  deepEqual(deleted(world), ["2"]);
});

Deno.test("fault G11: openAws boots a new copy of an old version that a discovery may be deleting", async () => {
  await using world = worldOf();
  const { driver } = await manyVersions(world);
  const booted = async (image: string): Promise<string> =>
    (await driver.ensureImage({ group: spec.id, image })).id.replace(/^.*:/, "");
  equal(await booted("image-2"), "14");
  world.stub.ground.madeVersionsAt = new Date(Date.now() - 22 * 3_600_000).toISOString();
  equal(await booted("image-3"), "3");
  // A person made the first version, so Ostler never deletes it.
  world.stub.ground.madeVersionsAt = longAgo;
  equal(await booted("image-1"), "1");
});

Deno.test("openAws: boots no version that Ostler made for another cluster, which deletes it although this cluster may roll back to it", async () => {
  const cloud = new GroupCloud();
  cloud.create(spec);
  const owner = { clusterTag: "cluster-2" };
  await using stub = new AwsStub(cloud, owner);
  const booted = async (image: string): Promise<string> => {
    const driver = await openAws({ region: "eu-west-1", ...owner, endpoint: stub.url });
    return (await driver.ensureImage({ group: spec.id, image })).id.replace(/^.*:/, "");
  };
  deepEqual([await booted("image-2"), await booted("image-1")], ["2", "1"]);
  owner.clusterTag = "cluster-1";
  deepEqual([await booted("image-2"), await booted("image-1"), await booted("image-2")], ["3", "1", "3"]);
});
