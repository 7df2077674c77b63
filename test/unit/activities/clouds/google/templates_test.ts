import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { outputs } from "../../../../../activities/clouds/google/templates.ts";
import { without } from "../../../../../activities/clouds/without.ts";
import { markedPaths } from "../../../../support/clouds/google_description.ts";
import { image1, image2, image3, open, regional, spec, type World } from "../../../../support/clouds/google_world.ts";

Deno.test("K18 openGoogle: gives templates of equal content the same short name", async () => {
  const driverOf = async (world: World): Promise<string> => {
    const driver = await world.driver;
    await driver.ensureImage({ group: spec.id, image: image2 });
    return (await driver.ensureImage({ group: spec.id, image: image3 })).id;
  };
  await using one = open();
  await using other = open();
  const id = await driverOf(one);
  equal(id, await driverOf(other));
  match(id, /^projects\/p-1\/global\/instanceTemplates\/workers-o[0-9a-f]{12}$/);
});

Deno.test("K18 openGoogle: uses the template that an earlier attempt made", async () => {
  await using world = open();
  const driver = await world.driver;
  world.stub.fault = (_, action) => action === "PATCH group" ? "CutBefore" : undefined;
  await rejects(driver.ensureImage({ group: spec.id, image: image2 }), { type: "ApiUnavailable" });
  world.stub.fault = () => undefined;
  equal((await driver.ensureImage({ group: spec.id, image: image2 })).image, image2);
  equal(world.cloud.group(spec.id)?.templates.length, 2);
});

Deno.test("K19 openGoogle: keeps all of a template except its image, including unknown fields", async () => {
  await using world = open({ groups: [{ ...spec, template: { ...spec.template, description: "by hand" } }] });
  const group = world.cloud.group(spec.id);
  ok(group);
  const before = world.stub.ground.propertiesOf(group, group.boots);
  await (await world.driver).ensureImage({ group: spec.id, image: image2 });
  const after = world.stub.ground.propertiesOf(group, group.boots);
  const plain = JSON.stringify(before).replace(/https:[^"]*image-1/, image2).replace('"fingerprint":"abc=",', "");
  deepEqual(after, without(JSON.parse(plain), markedPaths("InstanceProperties", "Output")));
  equal(group.boots.fields["description"], "by hand");
});

Deno.test("K19 openGoogle: refuses a template that lost a field on its way, and shows no secret", async () => {
  await using world = open();
  world.stub.ground.stored = ({ confidentialInstanceConfig: _, metadata: __, ...left }) => left;
  for (let nth = 0; nth < 2; nth++) {
    await rejects((await world.driver).ensureImage({ group: spec.id, image: image2 }), {
      type: "CloudRefused",
      message:
        /: besides the image, the template also differs from "projects\/p-1\/global\/instanceTemplates\/workers" in "confidentialInstanceConfig", "metadata"$/,
    });
  }
  equal(world.cloud.group(spec.id)?.boots.fields.image, image1);
});

Deno.test("K19 openGoogle: names the field that Google rejected, and not its value", async () => {
  await using world = open({ images: [image1] });
  await rejects((await world.driver).ensureImage({ group: spec.id, image: image2 }), {
    type: "CloudRefused",
    message:
      /Invalid value for field 'resource.properties.disks\[0\].initializeParams.sourceImage': …\. The referenced image/,
  });
});

for (
  const image of [
    "image-2",
    `https://www.googleapis.com/compute/v1/${image2}`,
    "projects/images/global/images/family/f",
  ]
) {
  Deno.test(`openGoogle: refuses image "${image}", because no instance would report it`, async () => {
    await using world = open();
    await rejects((await world.driver).ensureImage({ group: spec.id, image }), {
      type: "CloudRefused",
      message: /: expected an image of the form "projects\/<project>\/global\/images\/<name>"$/,
    });
  });
}

Deno.test("K17 openGoogle: does not set the template of a group that another client changed meanwhile", async () => {
  await using world = open();
  const driver = await world.driver;
  world.stub.fault = (_, action) => {
    const group = world.cloud.group(spec.id);
    if (action === "PATCH group" && group) world.stub.ground.write(group);
    return undefined;
  };
  await rejects(driver.ensureImage({ group: spec.id, image: image2 }), { type: "ApiUnavailable" });
  equal(world.cloud.group(spec.id)?.boots.fields.image, image1);
});

Deno.test("K17 openGoogle: fails with ApiUnavailable when the group still boots another template after the request", async () => {
  const template = `projects/p-1/global/instanceTemplates/workers`;
  await using world = open({ manager: () => ({ versions: [{ instanceTemplate: template }] }) });
  await rejects((await world.driver).ensureImage({ group: spec.id, image: image2 }), {
    type: "ApiUnavailable",
    message: /: it still boots "projects\/p-1\/global\/instanceTemplates\/workers"$/,
  });
});

Deno.test("K18 openGoogle: uses the template that another process makes at the same time", async () => {
  await using world = open();
  const driver = await world.driver;
  const both = [1, 2].map(() => driver.ensureImage({ group: spec.id, image: image2 }));
  for (const each of await Promise.allSettled(both)) {
    // Of two concurrent writes of the group one is refused as a conflict.
    if (each.status === "rejected") equal(each.reason.type, "ApiUnavailable", each.reason.message);
  }
  const calls = world.stub.calls.filter((each) => each === "POST template");
  deepEqual([calls.length, world.cloud.group(spec.id)?.templates.length], [2, 2]);
  equal(world.cloud.group(spec.id)?.boots.fields.image, image2);
});

Deno.test("openGoogle: sets no template of another cluster", async () => {
  await using world = open();
  const group = world.cloud.group(spec.id);
  ok(group);
  const { labels: _, ...properties } = world.stub.ground.propertiesOf(group, group.boots);
  const other = world.cloud.addTemplate(group, { image: image2, properties });
  await rejects(
    (await world.driver).ensureTemplate({ group: spec.id, template: world.stub.ground.templatePath(other) }),
    {
      type: "CloudRefused",
      message:
        /boot template "projects\/p-1\/global\/instanceTemplates\/workers-by-hand-1": the template does not belong to this cluster$/,
    },
  );
  equal(group.boots.fields.image, image1);
});

Deno.test("fault G5: outputs lists exactly the fields that Google's API description marks as output only", () => {
  for (const [schema, paths] of Object.entries(outputs)) {
    deepEqual(paths.toSorted(), markedPaths(schema, "Output"), schema);
  }
});

Deno.test("fault G5: openGoogle sends no output-only field to Google, neither of a group's version nor of its template", async () => {
  const disk = {
    boot: true,
    architecture: "X86_64",
    licenses: ["l"],
    index: 0,
    initializeParams: { sourceImage: image1 },
  };
  const nic = { name: "nic0", kind: "compute#networkInterface" };
  await using world = open();
  const group = world.cloud.group(spec.id);
  ok(group);
  const like = { ...world.stub.ground.propertiesOf(group, group.boots), disks: [disk], networkInterfaces: [nic] };
  group.boots.fields["properties"] = like;
  // The simulated API refuses each request that contains an output-only field.
  await (await world.driver).ensureImage({ group: spec.id, image: image2 });
  const sent = world.stub.ground.propertiesOf(group, group.boots);
  deepEqual(sent["disks"], [{ boot: true, initializeParams: { sourceImage: image2 } }]);
  deepEqual(sent["networkInterfaces"], [{}]);
});

Deno.test("fault G11: openGoogle deletes old templates that it made and no group uses, and keeps ten", async () => {
  await using world = open({ groups: [spec, { ...regional, template: spec.template }] });
  const driver = await world.driver;
  const images = Array.from({ length: 12 }, (_, nth) => `projects/images/global/images/other-${nth}`);
  const made: string[] = [];
  for (const image of images) made.push((await driver.ensureImage({ group: spec.id, image })).id);
  const left = (): string[] => {
    const { ground } = world.stub;
    return ground.templates(ground.templateScope).map(({ template }) => ground.templatePath(template));
  };
  const gone = (): string[] => made.filter((id) => !left().includes(id));
  const [first, second = ""] = made;
  world.stub.ground.madeTemplatesAt = new Date().toISOString();
  await driver.deleteSpareTemplates?.({ keep: [] });
  deepEqual(gone(), []);
  world.stub.ground.madeTemplatesAt = "2026-01-01T00:00:00.000-08:00";
  await driver.deleteSpareTemplates?.({ keep: [second] });
  deepEqual([gone(), left().length], [[first], made.length + 1]);
});
