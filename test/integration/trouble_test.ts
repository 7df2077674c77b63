/** Invalid input: each case ends in a condition, an Event and a halted run that continues when the object is fixed. */
import assert from "node:assert/strict";
import { machineDeployment, poolPath, poolsPath, secretPath } from "./pool_objects.ts";
import type { PoolOverrides } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

interface Case {
  name: string;
  reason: string;
  wrong: PoolOverrides;
  /** Merge patch with the fix. */
  cure: object;
}

const template = (spec: object): object => ({ spec: { template: { spec } } });
const provider = (value: object): object => template({ providerSpec: { value } });

const cases: Case[] = [
  {
    name: "no-profile",
    reason: "ProfileMissing",
    wrong: { profile: "osp-nowhere" },
    cure: { metadata: { annotations: { "k8c.io/operating-system-profile": "osp-ubuntu" } } },
  },
  {
    name: "other-system",
    reason: "OperatingSystemMismatch",
    wrong: { operatingSystem: "rhel" },
    cure: provider({ operatingSystem: "ubuntu" }),
  },
  {
    name: "other-provider",
    reason: "ProviderUnsupported",
    wrong: { provider: "scaleway" },
    cure: provider({ cloudProvider: "kubevirt" }),
  },
  {
    name: "odd-kubelet",
    reason: "KubeletVersionInvalid",
    wrong: { kubelet: "seven" },
    cure: template({ versions: { kubelet: "1.36.1" } }),
  },
  {
    name: "odd-config",
    reason: "ProviderConfigInvalid",
    wrong: { provision: { surprise: true } },
    cure: provider({ surprise: null }),
  },
];

testInWorld(
  "rollOutMachineDeployment: halts for invalid input and continues when it is fixed",
  {},
  async (world, t) => {
    for (const each of cases) {
      await t.step(`${each.reason}: ${each.name}`, () => haltsAndGoesOn(world, each));
    }
    await t.step(
      "the published config stays when a pool is halted with KubeletVersionInvalid",
      () => keepsPublished(world),
    );
    await t.step(
      "a second pool with colliding names is refused with NameCollision, and the first pool keeps its objects",
      () => refusesCollision(world),
    );
    await t.step("a pool without replicas gets its secrets and is converged", () => publishesForNobody(world));
    await t.step("a missing replica count means one machine", () => countsOne(world));
  },
);

async function haltsAndGoesOn(world: World, { name, reason, wrong, cure }: Case): Promise<void> {
  await world.create(poolsPath(), machineDeployment({ name, replicas: 0, ...wrong }));
  const halted = await world.untilPhase(name, "Halted");
  assert.equal(halted.reason, reason);
  assert.equal(halted.blockedReason, reason);
  assert.equal(halted.conditions.find(({ type }) => type === "Blocked")?.status, "True");
  assert.equal(halted.conditions.find(({ type }) => type === "Ready")?.status, "False");
  assert.match(halted.message, /^(Cannot|Failed to|Invalid|Missing|Unsupported) /);
  await eventOf(world, name, reason);
  const run = await world.temporal.workflow.getHandle(`machine-deployment/kube-system/${name}`).describe();
  assert.equal(run.status.name, "RUNNING");
  assert.equal(await world.get(secretPath(`${name}-kube-system-bootstrap-config`)), undefined);
  await world.patch(poolPath(name), cure);
  await world.untilPhase(name, "Converged");
}

async function eventOf(world: World, name: string, reason: string): Promise<void> {
  const path = `/api/v1/namespaces/kube-system/events?fieldSelector=involvedObject.name=${name},reason=${reason}`;
  await world.until(`Event ${reason} on "${name}"`, async () => (await world.list(path)).length === 1, 10);
}

async function keepsPublished(world: World): Promise<void> {
  await world.create(poolsPath(), machineDeployment({ name: "keeps", replicas: 0 }));
  await world.untilPhase("keeps", "Converged");
  const path = secretPath("keeps-kube-system-bootstrap-config");
  const before = await world.get<{ data: object; metadata: object }>(path);
  await world.patch(poolPath("keeps"), template({ versions: { kubelet: "seven" } }));
  await world.untilPhase("keeps", "Halted");
  assert.deepEqual(await world.get(path), before);
}

async function refusesCollision(world: World): Promise<void> {
  await world.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "b-c" } });
  await world.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "c" } });
  await world.create(poolsPath("b-c"), machineDeployment({ name: "a", namespace: "b-c", replicas: 0 }));
  await world.untilPhase("a", "Converged", { namespace: "b-c" });
  const path = secretPath("a-b-c-bootstrap-config");
  const before = await world.get<{ data: object }>(path);
  await world.create(poolsPath("c"), machineDeployment({ name: "a-b", namespace: "c", replicas: 0 }));
  const halted = await world.untilPhase("a-b", "Halted", { namespace: "c" });
  assert.equal(halted.reason, "NameCollision");
  assert.match(halted.message, /"b-c\/a" already owns/);
  assert.deepEqual(await world.get(path), before);
  await world.remove(poolPath("a-b", "c"));
  await world.until("the second pool to be deleted", async () => (await world.get(poolPath("a-b", "c"))) === undefined);
  assert.deepEqual(await world.get(path), before);
}

async function publishesForNobody(world: World): Promise<void> {
  await world.create(poolsPath(), machineDeployment({ name: "nobody", replicas: 0 }));
  const status = await world.untilPhase("nobody", "Converged");
  assert.equal(status.reason, "ScaledToZero");
  assert.notEqual(await world.get(secretPath("nobody-kube-system-bootstrap-config")), undefined);
}

async function countsOne(world: World): Promise<void> {
  await world.create(poolsPath(), machineDeployment({ name: "single", replicas: null }));
  const status = await world.untilPhase("single", "Converged");
  assert.equal(status.updated, "1/1");
}
