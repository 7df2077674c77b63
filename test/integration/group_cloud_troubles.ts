/** A cloud that fails, shows things late, changes by itself, or has a past. */
import assert from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { CloudInstance, GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { alpha, type GroupStory, type Scene, upToDate } from "./group_scene.ts";
import { administratorOf, first, kinds } from "./group_world.ts";

export const cloudTroubles: GroupStory[] = [
  ["K7 the cloud fails whenever it is told to remove: it is told again until the machine is gone", removalFails],
  [
    "K9, K12 what was ordered is shown nowhere for a while: no other is ordered, and the group keeps its size",
    shownLate,
  ],
  ["K16 somebody makes the group larger in mid-rollout: it is as large as they said, and all of it is new", madeLarger],
  ["K18 a template that somebody made already is taken", takesTemplate],
  ["K19 a template that lost a field boots nothing, and that is told", losesField],
  ["a machine that the cloud protects is waited for by name, and replaced when it is protected no more", protects],
  ["K20, K21 a group that a look left out stays as people set it; one in another case is made once", lookedFor],
];

const root = fileURLToPath(new URL("../..", import.meta.url));

type Group = Parameters<Scene["ground"]["cloud"]["addTemplate"]>[0];

function groupOf({ ground }: Scene): Group {
  const group = ground.cloud.group(alpha.id);
  assert.ok(group);
  return group;
}

async function roll({ ground, world }: Scene, image: string, nodes = alpha.size): Promise<void> {
  await ground.ask(administratorOf(world), { ...first, image });
  await upToDate(world, { ...first, image }, nodes);
}

async function removalFails(scene: Scene): Promise<void> {
  const { ground, befalls } = scene;
  let told = 0;
  befalls.fault = ({ method }) => method === "DELETE" && ++told % 3 !== 0 ? "Broken" : undefined;
  const known = ground.cloud.instances().length;
  await roll(scene, "image-7");
  assert.ok(told >= 3 * alpha.size, `it was told ${told} times`);
  assert.equal(ground.cloud.instances().length - known, alpha.size);
}

async function shownLate(scene: Scene): Promise<void> {
  const { ground, befalls } = scene;
  befalls.lagMs = 4_000;
  const known = ground.cloud.instances().length;
  await roll(scene, "image-9");
  assert.equal(ground.cloud.instances().length - known, alpha.size);
}

async function madeLarger(scene: Scene): Promise<void> {
  const { ground, observer, world } = scene;
  const group = groupOf(scene);
  const known = ground.cloud.instances().length;
  await ground.ask(administratorOf(world), { ...first, image: "image-16" });
  const look = (): CloudInstance | undefined => ground.cloud.instances().slice(known).find(({ token }) => token);
  await world.until("an order", () => Promise.resolve(look()));
  observer.expect("alpha", alpha.size + 1, alpha.size);
  ground.cloud.resize(group, group.size + 1);
  await upToDate(world, { ...first, image: "image-16" }, alpha.size + 1);
  assert.equal(group.size, alpha.size + 1);
  observer.expect("alpha", alpha.size + 1, alpha.size - 1);
  ground.cloud.resize(group, alpha.size);
  await upToDate(world, { ...first, image: "image-16" }, alpha.size);
  observer.expect("alpha", alpha.size, alpha.size);
}

async function takesTemplate(scene: Scene): Promise<void> {
  const group = groupOf(scene);
  const { id } = scene.ground.cloud.addTemplate(group, { ...group.boots.fields, image: "image-18" });
  const known = group.templates.length;
  await roll(scene, "image-18");
  assert.deepEqual([group.boots.id, group.templates.length], [id, known]);
}

async function losesField(scene: Scene): Promise<void> {
  const { ground, world, befalls } = scene;
  befalls.fault = ({ method, path }) => method === "POST" && path.endsWith("/templates") ? "Altered" : undefined;
  await ground.ask(administratorOf(world), { ...first, image: "image-19" });
  await world.until("the rollout to say what it lost", async () => {
    return JSON.stringify(await world.status("scaling-group.alpha") ?? {}).includes("differs");
  });
  const booted = (): CloudInstance[] =>
    ground.cloud.instances().filter(({ template }) => template.fields.image === "image-19");
  assert.deepEqual(booted(), []);
  befalls.fault = () => undefined;
  await roll(scene, "image-19b");
  assert.deepEqual(booted(), []);
  assert.equal(groupOf(scene).boots.fields["disk"], alpha.template["disk"]);
}

async function protects({ ground, world }: Scene): Promise<void> {
  const version = { ...first, image: "image-protected" };
  const kept = ground.cloud.instances(alpha.id).find(({ state }) => state === "Ready");
  assert.ok(kept);
  const id = kept.token ?? kept.node;
  ground.cloud.set(kept.providerId, { isProtected: true });
  await ground.ask(administratorOf(world), version);
  await world.until("all but it to be replaced, and it to be named", async () => {
    const { reason, message, updated } = await world.status("scaling-group.alpha") ?? {};
    return reason === "ProtectedRemain" && message?.includes(id) && updated === "2/3";
  });
  assert.equal(kept.state, "Ready");
  const plan = JSON.parse(await ostler(world, ["plan", "sg/alpha", "-o", "json"]));
  assert.deepEqual(plan.plan.stays, [`until their cloud protects them no more: ${id}`]);
  assert.match(await ostler(world, ["status", "nodeversion/constellation-version"]), /sg\/alpha +2\/3 /);
  ground.cloud.set(kept.providerId, { isProtected: false });
  await upToDate(world, version, alpha.size);
}

/** Runs the command as people do. */
async function ostler({ site }: Scene["world"], args: string[]): Promise<string> {
  const { temporal, adminKubeconfig } = site.stack;
  const env = { TEMPORAL_ADDRESS: temporal.address, KUBECONFIG: adminKubeconfig, NO_COLOR: "1" };
  const { code, stdout } = await new Deno.Command(process.execPath, {
    args: ["run", "--no-prompt", "--cached-only", "--no-check", "--allow-all", "cli/main.ts", ...args],
    ...{ cwd: root, env, stderr: "inherit" },
  }).output();
  assert.equal(code, 0);
  return new TextDecoder().decode(stdout);
}

interface ScalingGroup {
  metadata: { name: string; uid: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: { groupId: string };
}

async function lookedFor(scene: Scene): Promise<void> {
  const { ground, world, befalls } = scene;
  const all = (): Promise<ScalingGroup[]> => world.list<ScalingGroup>(`${kinds}/scalinggroups`);
  befalls.fault = ({ method, path }) => method === "GET" && path === "/groups" ? "Partial" : undefined;
  await look(scene);
  const [kept] = await all();
  assert.deepEqual([kept?.metadata.name, kept?.metadata.labels?.["pool"]], ["alpha", "alpha"]);
  assert.equal(kept?.metadata.annotations?.["ostler.dev/missed-by-looks"], undefined, "it was not missed");
  befalls.fault = () => undefined;
  const other: GroupSpec = { ...alpha, id: "projects/p/groups/UPPER", name: "upper", min: 0, size: 0 };
  ground.cloud.create(other);
  await look(scene);
  const made = (await all()).filter(({ spec }) => spec.groupId.toLowerCase() === other.id.toLowerCase());
  assert.equal(made.length, 1);
  await look(scene);
  assert.deepEqual(
    (await all()).map(({ metadata: { uid } }) => uid).sort(),
    [kept, made[0]].map((each) => each?.metadata.uid).sort(),
  );
  await world.remove(`${kinds}/scalinggroups/${made[0]?.metadata.name}`);
}

/** Has the groups of the cloud looked for, and waits until that is done; a Schedule skips what is asked while it looks. */
async function look({ ground, world }: Scene): Promise<void> {
  const schedule = world.temporal.schedule.getHandle("discover-scaling-groups");
  const lists = (): number => ground.api.calls.filter(({ path }) => path === "/groups").length;
  const before = lists();
  await world.until("a look for groups", async () => {
    await schedule.trigger();
    await new Promise((done) => setTimeout(done, 1_000));
    return lists() > before;
  });
  await world.until("its end", async () => (await schedule.describe()).info.runningActions.length === 0);
}
