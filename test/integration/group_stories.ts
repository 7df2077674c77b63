/** What happens to scaling groups every day: other images, other components, and who meddles. */
import assert from "node:assert/strict";
import { administratorOf, conditionOf, first, kinds } from "./group_world.ts";
import { alpha, beta, type GroupStory, nodesOf, policies, type Scene, strategies, upToDate } from "./group_scene.ts";
import type { World } from "./world.ts";

export const everyday: GroupStory[] = [
  [
    "F1, K10, K24, K25 two groups take another image; what nodes bore, their heirs bear, and the autoscaler is on again",
    image,
  ],
  ["F2 components alone are another", components],
  [
    "K2, K14 an image that does not boot is given up after its attempts, or gone back from, and another one is taken after it",
    badImage,
  ],
  [
    "K11, K17 somebody terminates a newcomer, deletes its record, and sets another template: all is set right",
    meddled,
  ],
];

async function image({ world, ground }: Scene): Promise<void> {
  const nodes = (await nodesOf(world)).sort();
  for (const [nth, name] of nodes.entries()) {
    const taints = [{ key: "example.com/slot", value: `${nth}`, effect: "PreferNoSchedule" }];
    await world.patch(`/api/v1/nodes/${name}`, {
      metadata: { labels: { slot: `${nth}` }, annotations: { "example.com/owner": `o${nth}` } },
      spec: { taints },
    });
  }
  const before = ground.cloud.instances().length;
  let wasOff = false;
  const look = setInterval(async () => {
    const strategy = await world.get<{ spec: { enabled: boolean } }>(`${strategies}/strategy`).catch(() => undefined);
    if (strategy?.spec.enabled === false) wasOff = true;
  }, 200);
  await ground.ask(administratorOf(world), { ...first, image: "image-2" });
  await upToDate(world, { ...first, image: "image-2" }, 5);
  clearInterval(look);
  assert.equal(ground.cloud.instances().length - before, 5, "as many were made as were replaced");
  assert.deepEqual(await bornBy(world), nodes.map((_, nth) => `${nth} ${nth} o${nth}`));
  assert.ok(wasOff, "the autoscaler was off meanwhile");
}

/** Slot, taint and owner of each node. */
async function bornBy(world: World): Promise<string[]> {
  const nodes = await world.list<{
    metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
    spec: { providerID?: string; taints?: { key: string; value?: string }[] };
  }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.providerID?.startsWith("sim:")).map(({ metadata, spec }) => {
    const taint = spec.taints?.find(({ key }) => key === "example.com/slot")?.value;
    return `${metadata.labels?.["slot"]} ${taint} ${metadata.annotations?.["example.com/owner"]}`;
  }).sort();
}

async function components({ world, ground }: Scene): Promise<void> {
  const before = ground.cloud.instances().length;
  await ground.ask(administratorOf(world), { image: "image-2", components: "components-2" });
  await upToDate(world, { image: "image-2", components: "components-2" }, 5);
  assert.equal(ground.cloud.instances().length - before, 5);
}

async function badImage({ world, ground, befalls }: Scene): Promise<void> {
  befalls.isDead = ({ template }) => template.fields.image === "image-dead";
  const join = { instance: "4s", address: "5s", registered: "6s", ready: "7s", attempts: 1 };
  await world.patch(`${policies}/alpha`, { spec: { join } });
  // On its way back machines join that do boot.
  const longer = { instance: "15s", address: "16s", registered: "20s", ready: "30s", attempts: 0 };
  await world.patch(`${policies}/beta`, { spec: { join: longer, onFailure: "Rollback" } });
  await ground.ask(administratorOf(world), { image: "image-dead", components: "components-2" });
  await world.until("the group to be halted", async () => {
    const { reason, message } = await conditionOf(world, "Ready");
    return reason === "GroupHalted" && message.includes("alpha");
  });
  const made = (): number =>
    ground.cloud.instances(alpha.id).filter(({ template }) => template.fields.image === "image-dead").length;
  const before = made();
  await new Promise((done) => setTimeout(done, 5_000));
  assert.equal(made(), before, "nothing more is ordered");
  await world.until("the other group to be back on the image of before", async () => {
    const { phase, image } = await world.status("scaling-group.beta") ?? {};
    return phase === "RolledBack" && image === "image-2" &&
      ground.cloud.group(beta.id)?.boots.fields.image === "image-2";
  });
  await world.until("both to be told, and nobody to do without an autoscaler", async () => {
    const { reason, message } = await conditionOf(world, "Ready");
    const strategy = await world.get<{ spec: { enabled: boolean } }>(`${strategies}/strategy`);
    return reason === "GroupHalted" && ["alpha", "beta"].every((name) => message.includes(`"${name}"`)) &&
      strategy?.spec.enabled;
  });
  for (const name of ["alpha", "beta"]) {
    await world.patch(`${policies}/${name}`, { spec: { join: null, onFailure: null } });
  }
  await ground.ask(administratorOf(world), { image: "image-3", components: "components-2" });
  await upToDate(world, { image: "image-3", components: "components-2" }, 5);
}

async function meddled({ world, ground }: Scene): Promise<void> {
  const known = ground.cloud.instances().length;
  await ground.ask(administratorOf(world), { image: "image-4", components: "components-2" });
  const ordered = await world.until(
    "an order",
    () => Promise.resolve(ground.cloud.instances().slice(known).find(({ token }) => token !== undefined)),
  );
  const record = `${kinds}/pendingnodes/${ordered.token}`;
  await world.remove(record);
  assert.ok(await world.get(record), "it is kept until we are done with it");
  // The group makes another, from what it boots then.
  ground.cloud.remove(ordered.providerId, false);
  const group = ground.cloud.group(alpha.id);
  assert.ok(group);
  const { id } = ground.cloud.addTemplate(group, { ...group.boots.fields, image: "image-of-somebody" });
  ground.cloud.useTemplate(group, id);
  await upToDate(world, { image: "image-4", components: "components-2" }, 5);
  assert.equal(group.boots.fields.image, "image-4");
}
