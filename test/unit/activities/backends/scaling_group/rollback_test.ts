import { deepEqual, equal, rejects } from "node:assert/strict";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { ensureRolloutReported } from "../../../../../activities/status/report_rollout.ts";
import type { Quarantined, RolloutReport } from "../../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../../support/activity_context.ts";
import { directCloud, GroupInMemory, next, pool, version } from "../../../../support/group_in_memory.ts";
import { useCloud } from "../../../../support/staged_cluster.ts";

type Version = typeof version;

const groupId = "projects/p/groups/workers";
const third = { ...next, image: "image-3" };
const pinKey = "ostler.dev/went-back";
const { namespace, name } = pool;

/** Releases a version to the group and publishes it. */
async function publish(group: GroupInMemory, of: Version): Promise<void> {
  group.ask(of, { stage: "Workers", digest: hashOf(of) });
  await group.backend.boots?.publish({ pool, revision: "v" });
}

/** Records that the rollout of a version has converged. */
function converge(group: GroupInMemory, of: Version): void {
  const hashes = { templateHash: hashOf(of), specHash: hashOf(of) };
  const lastGood = { ...hashes, revision: "r", image: of.image, kubelet: "", configDigest: "" };
  group.kube.put("rollouts", { metadata: { namespace, name }, status: { lastGood } });
}

function restore(group: GroupInMemory, bad?: Version): Promise<{ changed: boolean }> {
  const change = bad ? { bad: { specHash: hashOf(bad), templateHash: hashOf(bad) } } : {};
  const order = { pool, by: "policy", reason: "it does not join", ...change };
  return inActivity(() => group.backend.restore(order, { profileNamespace: "" }));
}

function bootedBy(group: GroupInMemory): string | undefined {
  return group.cloud.group(groupId)?.boots.fields.image;
}

async function wantedBy(group: GroupInMemory): Promise<{ image?: string; observed?: string }> {
  const wanted = await group.backend.wanted(pool, { profileNamespace: "" });
  return wanted.state === "Present" ? wanted.desired : {};
}

function pinOf(group: GroupInMemory): string | undefined {
  return group.kube.get("scalinggroups", "workers")?.metadata.annotations?.[pinKey];
}

/** Returns a group whose rollout of `next` failed and was rolled back to `version`. */
async function rolledBack(): Promise<GroupInMemory> {
  const group = new GroupInMemory();
  await publish(group, version);
  converge(group, version);
  await publish(group, next);
  deepEqual(await restore(group, next), { changed: true });
  await publish(group, next);
  equal(bootedBy(group), version.image);
  return group;
}

Deno.test("rollback: its pin ends when another version is published, so that the failed version can be rolled out later", async () => {
  const group = await rolledBack();
  await publish(group, third);
  converge(group, third);
  await publish(group, next);
  deepEqual([(await wantedBy(group)).image, bootedBy(group), pinOf(group)], [next.image, next.image, undefined]);
});

Deno.test("rollback: its pin ends when the NodeVersion names the last good version, which starts a run although the target of the group stays equal", async () => {
  const group = await rolledBack();
  const { observed } = await wantedBy(group);
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  equal((await wantedBy(group)).observed === observed, false, "Expected another `observed`");
  await publish(group, version);
  equal((await wantedBy(group)).observed, observed);
  await publish(group, next);
  deepEqual([(await wantedBy(group)).image, bootedBy(group)], [next.image, next.image]);
});

Deno.test("rollback: its pin stays when the group is published again, and when the release of the failed version ends", async () => {
  const group = await rolledBack();
  await group.backend.boots?.publish({ pool, revision: "v" });
  group.ask(next);
  await group.backend.boots?.publish({ pool, revision: "v" });
  await publish(group, next);
  equal(bootedBy(group), version.image);
});

function report(group: GroupInMemory, quarantine: Quarantined[]): Promise<void> {
  const told: RolloutReport = {
    ...{ phase: "RolledBack", reason: "RollBack", message: "", blockedReason: null, paused: false, pausedBy: null },
    ...{ quarantine, left: null, eta: null, plan: null, underway: [], conditions: [] },
  };
  return inActivity(() => ensureRolloutReported(group.client, { pool, report: told, events: [] }));
}

const held = (specHash: string): Quarantined => ({
  ...{ specHash, templateHash: specHash, revision: "r", image: "i", kubelet: "" },
  ...{ by: "policy", reason: "r", since: 1 },
});

Deno.test("rollback: its pin ends when a person takes the failed version out of quarantine", async () => {
  const group = await rolledBack();
  await report(group, [held(hashOf(next))]);
  await report(group, Array.from({ length: 5 }, (_, nth) => held(`other ${nth}`)));
  equal((await wantedBy(group)).image, version.image, "Expected the pin to stay, because an entry was only displaced");
  await report(group, [held("other"), held(hashOf(next))]);
  await report(group, [held(hashOf(next))]);
  equal((await wantedBy(group)).image, version.image);
  await report(group, []);
  deepEqual([(await wantedBy(group)).image, pinOf(group)], [next.image, undefined]);
});

Deno.test("rollback: its pin ends when a person takes the failed version out of quarantine while the NodeVersion does not exist", async () => {
  const group = await rolledBack();
  await report(group, [held(hashOf(next))]);
  group.kube.remove("nodeversions", "v");
  await report(group, []);
  equal(pinOf(group), undefined);
});

Deno.test("rollback: restores the last good template after a version that did not converge was superseded", async () => {
  const group = new GroupInMemory();
  await publish(group, version);
  const good = group.cloud.group(groupId)?.boots.id;
  converge(group, version);
  await publish(group, next);
  await publish(group, third);
  deepEqual(await restore(group, third), { changed: true });
  await publish(group, third);
  equal(group.cloud.group(groupId)?.boots.id, good);
});

Deno.test("rollback: changes nothing when the NodeVersion already names another version than the failed one", async () => {
  const group = new GroupInMemory();
  await publish(group, version);
  converge(group, version);
  await publish(group, next);
  group.ask(third, { stage: "Workers", digest: hashOf(third) });
  deepEqual([await restore(group, next), (await wantedBy(group)).image], [{ changed: false }, third.image]);
});

Deno.test("rollback: a group that is rolled back while a newer version is not released to it yet boots the newer version once it is released", async () => {
  const group = new GroupInMemory();
  await publish(group, version);
  converge(group, version);
  await publish(group, next);
  group.ask(third);
  deepEqual([await restore(group), (await wantedBy(group)).image], [{ changed: true }, version.image]);
  await group.backend.boots?.publish({ pool, revision: "v" });
  equal(bootedBy(group), version.image);
  await publish(group, third);
  deepEqual([bootedBy(group), pinOf(group)], [third.image, undefined]);
});

for (
  const [when, method] of [["reads the cloud", "group"], ["reads the template of the group", "template"]] as const
) {
  Deno.test(`rollback: an order of the failed version that ${when} during the rollback neither sets the failed template again nor creates a machine`, async () => {
    const group = new GroupInMemory();
    await publish(group, version);
    converge(group, version);
    await publish(group, next);
    await group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" });
    const driver = directCloud(group.cloud);
    let isFirst = true;
    const during = <Answer>(call: (id: string) => Promise<Answer>) => async (id: string): Promise<Answer> => {
      if (isFirst) {
        isFirst = false;
        await restore(group, next);
        await group.backend.boots?.publish({ pool, revision: "v" });
        equal(bootedBy(group), version.image);
      }
      return await call(id);
    };
    useCloud(group.client, () => Promise.resolve({ ...driver, [method]: during<unknown>(driver[method]) }));
    await rejects(group.backend.orders.admit({ pool, machine: "workers-new-2", victim: "workers-2" }), {
      type: "GenerationStale",
    });
    deepEqual([bootedBy(group), (await wantedBy(group)).image], [version.image, version.image]);
    deepEqual(group.cloud.instances().flatMap(({ token }) => token ?? []), ["workers-new-1"]);
  });
}
