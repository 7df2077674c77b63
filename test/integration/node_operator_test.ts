/**
 * Tasks of the Constellation node operator that Ostler performs besides rollouts: it annotates joining nodes as their
 * JoiningNode objects define, and starts or stops cluster-autoscaler as its AutoscalingStrategy defines.
 */
import assert from "node:assert/strict";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const apiVersion = "update.edgeless.systems/v1alpha1";
const records = `/apis/${apiVersion}/joiningnodes`;
const strategies = `/apis/${apiVersion}/autoscalingstrategies`;
const groups = `/apis/${apiVersion}/scalinggroups`;
const autoscaler = { namespace: "kube-system", name: "constellation-cluster-autoscaler" };
const components = "constellation.edgeless.systems/kubernetes-components";

const stories: [name: string, story: (world: World) => Promise<void>][] = [
  ["JN1 a node that is created after its JoiningNode, while the worker is down, is annotated later", comesLater],
  ["JN2 a node that is created before its JoiningNode is annotated once it is Ready", wasThere],
  ["JN3 a JoiningNode is deleted, with an Event, if its node does not appear before the deadline", neverComes],
  ["AS1 to AS3 an AutoscalingStrategy turns the autoscaler on and off", isSwitched],
  ["AS4 to AS7 the autoscaler's command names the groups that it may scale", isTold],
];

testInWorld("node operator: Ostler manages joining nodes and the autoscaler in its place", {}, async (world, t) => {
  await createAutoscaler(world);
  for (const [name, story] of stories) await t.step(name, () => story(world));
  assert.deepEqual(await world.list(records), []);
});

async function comesLater(world: World): Promise<void> {
  await announce(world, "later");
  world.site.ostler.worker.kill("SIGKILL");
  await world.create("/api/v1/nodes", { metadata: { name: "later" } });
  const run = world.temporal.workflow.getHandle("joining-node/later");
  await world.until("its run", async () => (await run.describe().catch(() => undefined))?.status.name === "RUNNING");
  await world.site.ostler.worker.restart();
  await isAnnotated(world, "later");
  assert.deepEqual(await run.result(), { outcome: "Annotated", node: "later", components: "k8s-components-2" });
}

// Nothing is written to a node that is not Ready: it may be a previous node of the same name, which is being deleted.
async function wasThere(world: World): Promise<void> {
  await world.create("/api/v1/nodes", { metadata: { name: "there" } });
  const { metadata } = await world.get<{ metadata: { creationTimestamp: string } }>("/api/v1/nodes/there") ??
    assert.fail();
  // Creation times in Kubernetes have a precision of one second, so the next object must be created in another second.
  await world.until(
    "another second",
    () => Promise.resolve(Date.now() > Date.parse(metadata.creationTimestamp) + 1_000),
  );
  await announce(world, "there");
  const run = world.temporal.workflow.getHandle("joining-node/there");
  await world.until("its run", async () => (await run.describe().catch(() => undefined))?.status.name === "COMPLETED");
  assert.equal((await run.result() as { outcome: string }).outcome, "Waiting");
  assert.equal(await annotationOf(world, "there"), undefined);
  await world.patch("/api/v1/nodes/there/status", { status: { conditions: [{ type: "Ready", status: "True" }] } });
  await isAnnotated(world, "there");
}

async function neverComes(world: World): Promise<void> {
  await announce(world, "never", { deadline: new Date(Date.now() + 2_000).toISOString() });
  await world.until("the record to go", async () => !await world.get(`${records}/never`));
  const events = await world.list<{ reason: string; involvedObject: { name: string } }>(
    "/api/v1/namespaces/default/events",
  );
  const told = events.filter(({ involvedObject }) => involvedObject.name === "never").map(({ reason }) => reason);
  assert.deepEqual(told, ["JoinExpired"]);
}

async function announce(world: World, name: string, spec: object = {}): Promise<void> {
  const given = { name, componentsreference: "k8s-components-2", iscontrolplane: false, ...spec };
  await world.create(records, { apiVersion, kind: "JoiningNode", metadata: { name }, spec: given });
}

async function isAnnotated(world: World, name: string): Promise<void> {
  await world.until("the annotation", async () => await annotationOf(world, name) === "k8s-components-2");
  await world.until("the record to go", async () => !await world.get(`${records}/${name}`));
}

async function annotationOf(world: World, name: string): Promise<string | undefined> {
  const node = await world.get<{ metadata: { annotations?: Record<string, string> } }>(`/api/v1/nodes/${name}`);
  return node?.metadata.annotations?.[components];
}

async function createAutoscaler(world: World): Promise<void> {
  const labels = { app: "autoscaler" };
  const containers = [{
    name: "cluster-autoscaler",
    image: "images.example/autoscaler:1",
    command: ["./cluster-autoscaler"],
  }];
  await world.create(`/apis/apps/v1/namespaces/${autoscaler.namespace}/deployments`, {
    metadata: { name: autoscaler.name },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  });
  const spec = { enabled: false, deploymentName: autoscaler.name, deploymentNamespace: autoscaler.namespace };
  await world.create(strategies, { apiVersion, kind: "AutoscalingStrategy", metadata: { name: "strategy" }, spec });
}

async function isSwitched(world: World): Promise<void> {
  await runs(world, 0);
  for (const [enabled, replicas] of [[true, 1], [false, 0]] as const) {
    await world.patch(`${strategies}/strategy`, { spec: { enabled } });
    await runs(world, replicas);
  }
}

async function runs(world: World, replicas: number): Promise<void> {
  await world.until(`${replicas} replicas, and a status that reports them`, async () => {
    const { status } = await world.get<{ status?: { replicas?: number; enabled?: boolean } }>(
      `${strategies}/strategy`,
    ) ?? {};
    const has = (await deployment(world)).spec.replicas;
    return has === replicas && status?.replicas === replicas && status.enabled === replicas > 0;
  });
}

async function isTold(world: World): Promise<void> {
  const binary = "./cluster-autoscaler";
  await world.patch(`${strategies}/strategy`, { spec: { autoscalerExtraArgs: { foo: "bar", baz: "qux" } } });
  await hasCommand(world, [binary, "--baz=qux", "--foo=bar"]);
  const spec = { role: "Worker", min: 1, max: 10, autoscaling: true, autoscalerGroupName: "worker-group" };
  await world.create(groups, { apiVersion, kind: "ScalingGroup", metadata: { name: "workers" }, spec });
  await hasCommand(world, [binary, "--baz=qux", "--foo=bar", "--nodes=1:10:worker-group"]);
  await world.patch(`${groups}/workers`, { spec: { autoscaling: false } });
  await hasCommand(world, [binary, "--baz=qux", "--foo=bar"]);
  const controlPlane = { ...spec, role: "ControlPlane", autoscalerGroupName: "control-plane" };
  await world.create(groups, {
    apiVersion,
    kind: "ScalingGroup",
    metadata: { name: "control-plane" },
    spec: controlPlane,
  });
  await world.patch(`${groups}/workers`, { spec: { autoscaling: true, max: 3 } });
  await hasCommand(world, [binary, "--baz=qux", "--foo=bar", "--nodes=1:3:worker-group"]);
}

async function hasCommand(world: World, command: string[]): Promise<void> {
  await world.until(`the command "${command.join(" ")}"`, async () => {
    const [container] = (await deployment(world)).spec.template.spec.containers;
    return JSON.stringify(container?.command) === JSON.stringify(command);
  });
}

interface Deployment {
  spec: { replicas: number; template: { spec: { containers: { command?: string[] }[] } } };
}

async function deployment(world: World): Promise<Deployment> {
  const { namespace, name } = autoscaler;
  return await world.get<Deployment>(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`) ?? assert.fail();
}
