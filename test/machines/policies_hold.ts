/** That the cluster's network lets through what policies name and nothing else: those of anybody, and the chart's. */
import type { V1Pod } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";
import type { World } from "../integration/world.ts";
import { type Reach, reachFrom } from "./pod_reach.ts";

interface Scene {
  world: World;
  host: ContainerHost;
}

type Place = { host: string; port: number };

const policies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
const podsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;
const served = 8080;
const health = 8081;
/** Where Prometheus would look, where the release serves metrics at all. */
const metrics = 9090;

/**
 * Ostler's pods reach `allowed`, but not the mirror, which anybody else does; and strangers beside them reach none of
 * their ports. Before that the network shows that it forbids.
 */
export async function policiesHold(scene: Scene, allowed: readonly Place[]): Promise<void> {
  const { world } = scene;
  const pods = (await world.list<V1Pod>(podsOf("ostler-system"))).filter(isRunning);
  const [beside] = pods;
  assert.ok(beside?.spec?.nodeName, "Ostler runs in pods");
  const [one, other] = await Promise.all([
    startStranger(scene, { name: "one", node: beside.spec.nodeName }),
    startStranger(scene, { name: "other", node: beside.spec.nodeName }),
  ]);
  await forbids(scene, one, other);
  await keepsToItself(scene, { pods, stranger: one, allowed });
  for (const { metadata } of [one, other]) await world.remove(`${podsOf("default")}/${metadata?.name}`);
}

async function forbids(scene: Scene, one: V1Pod, other: V1Pod): Promise<void> {
  const { world } = scene;
  const door = doorOf(other, served);
  await turns(scene, { from: one, to: door }, "open");
  const nobody = { metadata: { name: "nobody" }, spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] } };
  await world.create(policies, nobody);
  await turns(scene, { from: one, to: door }, "forbidden");
  assert.equal(await reachFrom(scene.host, one, mirrorOf(scene)), "forbidden");
  await world.remove(`${policies}/nobody`);
  await turns(scene, { from: one, to: door }, "open");
}

interface Neighbours {
  pods: readonly V1Pod[];
  stranger: V1Pod;
  allowed: readonly Place[];
}

async function keepsToItself(scene: Scene, { pods, stranger, allowed }: Neighbours): Promise<void> {
  const { host } = scene;
  const mirror = mirrorOf(scene);
  assert.equal(await reachFrom(host, stranger, mirror), "open");
  for (const pod of pods) {
    const name = pod.metadata?.name ?? "";
    assert.equal(await reachFrom(host, pod, mirror), "forbidden", `${name} asks the mirror`);
    const reached = await Promise.all(allowed.map((place) => reachFrom(host, pod, place)));
    assert.deepEqual(reached, allowed.map(() => "open"), `${name} asks ${JSON.stringify(allowed)}`);
  }
  const neighbours = pods.filter(({ spec }) => spec?.nodeName === stranger.spec?.nodeName);
  const doors = neighbours.flatMap((pod) => [health, metrics].map((port) => doorOf(pod, port)));
  for (const door of doors) {
    assert.equal(await reachFrom(host, stranger, door), "forbidden", `a stranger asks ${JSON.stringify(door)}`);
  }
}

/** Waits for what a pod reaches to be this, as a policy takes a moment to be everywhere. */
async function turns({ world, host }: Scene, { from, to }: { from: V1Pod; to: Place }, wanted: Reach): Promise<void> {
  let last: Reach | undefined;
  await world.until(`${JSON.stringify(to)} to be ${wanted}`, async () => {
    last = await reachFrom(host, from, to);
    return last === wanted;
  }, 30).catch((error: unknown) => assert.fail(`it is ${last}: ${error}`));
}

/** A pod that serves, and that no policy knows. */
async function startStranger(
  { world, host }: Scene,
  { name, node }: { name: string; node: string },
): Promise<V1Pod> {
  const containers = [{ name: "server", image: host.mirror.images.podServer }];
  const spec = { nodeName: node, terminationGracePeriodSeconds: 0, tolerations: [{ operator: "Exists" }], containers };
  await world.create(podsOf("default"), { metadata: { name }, spec });
  return await world.until(`pod "${name}" to run`, async () => {
    const pod = await world.get<V1Pod>(`${podsOf("default")}/${name}`);
    return pod !== undefined && isRunning(pod) && pod;
  });
}

function isRunning({ metadata, status }: V1Pod): boolean {
  return metadata?.deletionTimestamp === undefined && status?.phase === "Running" && status.podIP !== undefined;
}

function doorOf({ status }: V1Pod, port: number): Place {
  return { host: status?.podIP ?? "", port };
}

function mirrorOf({ host }: Scene): Place {
  const { hostname, port } = new URL(host.mirror.url);
  return { host: hostname, port: Number(port) };
}
