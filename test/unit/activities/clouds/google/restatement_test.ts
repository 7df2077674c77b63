import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { inputs, shown } from "../../../../../activities/clouds/google/restatement.ts";
import { markedPaths } from "../../../../support/clouds/google_description.ts";
import { image1, image2, image3, open, spec, type World } from "../../../../support/clouds/google_world.ts";

const tags = { "tagKeys/1": "tagValues/2" };

/** Sets properties of the template that the group boots, with these values of input-only fields in its metadata. */
function tag({ cloud, stub }: World, restatement?: string): Record<string, unknown> {
  const group = cloud.group(spec.id);
  ok(group);
  const items = restatement === undefined ? [] : [{ key: "ostler-input-only", value: restatement }];
  const { disks: _, ...others } = stub.ground.propertiesOf(group, group.boots);
  const disk = { boot: true, initializeParams: { sourceImage: image1, resourceManagerTags: tags } };
  const properties = { ...others, disks: [disk], metadata: { items }, resourceManagerTags: tags };
  group.boots.fields["properties"] = properties;
  return properties;
}

function booted({ cloud, stub }: World): Record<string, unknown> {
  const group = cloud.group(spec.id);
  ok(group);
  return stub.ground.propertiesOf(group, group.boots);
}

const full = { resourceManagerTags: tags, "disks.initializeParams.resourceManagerTags": tags };

Deno.test("fault G4: inputs has each field that Google's description marks as input only", () => {
  deepEqual([...inputs, shown].toSorted(), markedPaths("InstanceProperties", "Input"));
});

Deno.test("fault G4: ensureImage refuses a template without values of its input-only fields, and changes nothing", async () => {
  await using world = open();
  tag(world);
  await rejects((await world.driver).ensureImage({ group: spec.id, image: image2 }), {
    type: "CloudRefused",
    message: 'Failed to copy template "projects/p-1/global/instanceTemplates/workers": the copy would lose the ' +
      "template's input-only fields, which Google does not show; write their values into the template's metadata " +
      'item "ostler-input-only" or into setting cloud-input-only, as a JSON object with values for resourceManagerTags, ' +
      "disks.initializeParams.resourceManagerTags, disks.forceAttach, or {} if the template has none of them",
  });
  equal(world.stub.calls.some((each) => ["POST template", "PATCH group"].includes(each)), false);
});

for (const where of ["metadata", "setting"]) {
  Deno.test(`fault G4: ensureImage copies the input-only fields with their values from the ${where}, and finds the copy again`, async () => {
    const restatement = JSON.stringify(full);
    await using world = open(where === "setting" ? { inputOnly: restatement } : {});
    const before = tag(world, where === "metadata" ? restatement : undefined);
    const driver = await world.driver;
    const first = await driver.ensureImage({ group: spec.id, image: image2 });
    const { disks, ...others } = booted(world);
    deepEqual(disks, [{ boot: true, initializeParams: { sourceImage: image2, resourceManagerTags: tags } }]);
    deepEqual(others["resourceManagerTags"], before["resourceManagerTags"]);
    // A copy of the copy has the fields too.
    await driver.ensureImage({ group: spec.id, image: image3 });
    deepEqual(booted(world)["resourceManagerTags"], tags);
    equal((await driver.ensureImage({ group: spec.id, image: image2 })).id, first.id);
    equal(world.stub.calls.filter((each) => each === "POST template").length, 2);
  });
}

Deno.test("fault G4: ensureImage prefers the metadata of a template to the setting", async () => {
  await using world = open({ inputOnly: JSON.stringify({ resourceManagerTags: { other: "tag" } }) });
  tag(world, JSON.stringify(full));
  await (await world.driver).ensureImage({ group: spec.id, image: image2 });
  deepEqual(booted(world)["resourceManagerTags"], tags);
});

for (const wrong of ["", "[]", "{", '{"machineType":"m"}', '{"resourceManagerTags":["a"]}']) {
  Deno.test(`fault G4: ensureImage refuses a template whose metadata item ostler-input-only is invalid: "${wrong}"`, async () => {
    await using world = open({ inputOnly: "{}" });
    tag(world, wrong);
    await rejects((await world.driver).ensureImage({ group: spec.id, image: image2 }), {
      type: "CloudRefused",
      message: /: .*metadata item "ostler-input-only".* a JSON object with values for resourceManagerTags, /,
    });
    equal(world.cloud.group(spec.id)?.templates.length, 1);
  });
}
