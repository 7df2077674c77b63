/**
 * Stories (test scenarios) of everyday events of two scaling groups: a new image, new components, an image that does
 * not boot. They run on a real API server with Ostler's processes, or on a cluster in memory.
 */
import assert from "node:assert/strict";
import { first, kinds } from "../../deploy/local/cloud/groups/group_ground.ts";
import {
  alpha,
  beta,
  conditionOf,
  type GroupScene,
  type GroupWorld,
  type JoinSeconds,
  nodesOf,
  policies,
  strategies,
  upToDate,
} from "./group_story.ts";

/** Machines of both groups. */
const machines = alpha.size + beta.size;

export async function image({ world, ground }: GroupScene): Promise<void> {
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
  await ground.ask(world, { ...first, image: "image-2" });
  await upToDate(world, { ...first, image: "image-2" }, machines);
  clearInterval(look);
  assert.equal(ground.cloud.instances().length - before, machines, "Expected as many orders as replacements");
  assert.deepEqual(await bornBy(world), nodes.map((_, nth) => `${nth} ${nth} o${nth}`));
  assert.ok(wasOff, "Expected the autoscaler to be off during the rollout");
}

/** Returns slot label, taint and owner annotation of each node. */
async function bornBy(world: GroupWorld): Promise<string[]> {
  const nodes = await world.list<{
    metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
    spec: { providerID?: string; taints?: { key: string; value?: string }[] };
  }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.providerID?.startsWith("sim:")).map(({ metadata, spec }) => {
    const taint = spec.taints?.find(({ key }) => key === "example.com/slot")?.value;
    return `${metadata.labels?.["slot"]} ${taint} ${metadata.annotations?.["example.com/owner"]}`;
  }).sort();
}

export async function components({ world, ground }: GroupScene): Promise<void> {
  const before = ground.cloud.instances().length;
  await ground.ask(world, { image: "image-2", components: "components-2" });
  await upToDate(world, { image: "image-2", components: "components-2" }, machines);
  assert.equal(ground.cloud.instances().length - before, machines);
}

export async function badImage(scene: GroupScene): Promise<void> {
  const { world, ground, befalls, joinSeconds, idle } = scene;
  befalls.isDead = ({ template }) => template.fields.image === "image-dead";
  await world.patch(`${policies}/alpha`, { spec: { join: { ...durations(joinSeconds, 1), attempts: 1 } } });
  // Twice the deadlines of group alpha, because machines with a good image must join within them during the rollback.
  const longer = { ...durations(joinSeconds, 2), attempts: 0 };
  await world.patch(`${policies}/beta`, { spec: { join: longer, onFailure: "Rollback" } });
  const before = ground.cloud.group(beta.id)?.boots.fields.image;
  await ground.ask(world, { ...first, image: "image-dead" });
  await world.until('group "alpha" to be halted', async () => {
    const { reason, message } = await conditionOf(world, "Ready");
    return reason === "GroupHalted" && message.includes("alpha");
  });
  const made = (): number =>
    ground.cloud.instances(alpha.id).filter(({ template }) => template.fields.image === "image-dead").length;
  const atHalt = made();
  await idle();
  assert.equal(made(), atHalt, "Expected no further order");
  await world.until('group "beta" to be back on the previous image', async () => {
    const { phase, image } = await world.status("scaling-group.beta") ?? {};
    return phase === "RolledBack" && image === before && ground.cloud.group(beta.id)?.boots.fields.image === before;
  });
  await world.until("both groups to be reported, and the autoscaler to be released", async () => {
    const { reason, message } = await conditionOf(world, "Ready");
    const strategy = await world.get<{ spec: { enabled: boolean } }>(`${strategies}/strategy`);
    return reason === "GroupHalted" && ["alpha", "beta"].every((name) => message.includes(`"${name}"`)) &&
      strategy?.spec.enabled;
  });
  for (const name of ["alpha", "beta"]) {
    await world.patch(`${policies}/${name}`, { spec: { join: null, onFailure: null } });
  }
  await ground.ask(world, { ...first, image: "image-3" });
  await upToDate(world, { ...first, image: "image-3" }, machines);
}

/** Returns the join deadlines of a RolloutPolicy: each `times` as long as given. */
export function durations(join: JoinSeconds, times: number): Record<string, string> {
  return Object.fromEntries(Object.entries(join).map(([rung, seconds]) => [rung, `${times * seconds}s`]));
}

/** Terminates a new machine, deletes its record, and changes the template of its group, like another controller. */
export async function meddled({ world, ground }: GroupScene): Promise<void> {
  const known = ground.cloud.instances().length;
  const version = { ...first, image: "image-4" };
  await ground.ask(world, version);
  const ordered = await world.until(
    "an order",
    () => Promise.resolve(ground.cloud.instances().slice(known).find(({ token }) => token !== undefined)),
  );
  const record = `${kinds}/pendingnodes/${ordered.token}`;
  await world.remove(record);
  assert.ok(await world.get(record), "Expected the record to stay until Ostler is done with it");
  // After the termination the group launches another instance, from its current template.
  ground.cloud.remove(ordered.providerId, false);
  const group = ground.cloud.group(alpha.id);
  assert.ok(group);
  const { id } = ground.cloud.addTemplate(group, { ...group.boots.fields, image: "image-of-somebody" });
  ground.cloud.useTemplate(group, id);
  await upToDate(world, version, machines);
  assert.equal(group.boots.fields.image, version.image);
}
