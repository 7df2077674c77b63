/** Common steps of stories of scaling groups: ask for an image, hold nodes, wait for a status. */
import type { CloudInstance } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import { alpha, type GroupScene, nodesOf, upToDate } from "./group_story.ts";

/** Asks for an image, and waits for the first machine that is ordered for it. */
export async function askAndOrder(scene: GroupScene, image: string): Promise<CloudInstance> {
  const { ground, world } = scene;
  const known = ground.cloud.instances().length;
  await ask(scene, image);
  const look = (): CloudInstance | undefined => ground.cloud.instances().slice(known).find(({ token }) => token);
  return await world.until("an order", () => Promise.resolve(look()));
}

/** Requests an image for all groups, with the components of the first version. */
export function ask({ ground, world }: GroupScene, image: string): Promise<void> {
  return ground.ask(world, { ...first, image });
}

/** Waits until all machines of group alpha run the image. */
export function came({ world }: GroupScene, image: string): Promise<void> {
  return upToDate(world, { ...first, image }, alpha.size);
}

/** Returns the number of machines that were ordered with an image. */
export function madeOf({ ground }: GroupScene, image: string): number {
  return ground.cloud.instances().filter(({ template, token }) => token && template.fields.image === image).length;
}

export async function isReady({ world }: GroupScene, name: string): Promise<void> {
  await world.until(`node "${name}" to be Ready`, async () => {
    const node = await world.get<{ status?: { conditions?: { type: string; status: string }[] } }>(
      `/api/v1/nodes/${name}`,
    );
    return node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  });
}

/** Waits until the status of group alpha's Rollout matches. */
export async function untilTold({ world }: GroupScene, said: RegExp): Promise<void> {
  await world.until(`the rollout to say ${said}`, async () => {
    const status = await world.status("scaling-group.alpha");
    return said.test(JSON.stringify(status ?? {}));
  });
}

/**
 * Puts a pod on each node, whose PodDisruptionBudget blocks its eviction; returns a function that removes the blocks.
 */
export async function holdNodes({ world }: GroupScene): Promise<() => Promise<void>> {
  const [pods, budgets] = [
    "/api/v1/namespaces/default/pods",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
  ];
  const labels = { app: "hold" };
  const nodes = await nodesOf(world);
  for (const node of nodes) {
    await world.create(pods, {
      metadata: { name: `hold-${node}`, labels },
      spec: { nodeName: node, containers: [{ name: "c", image: "images.example/pause:1" }] },
    });
  }
  const spec = { minAvailable: nodes.length, selector: { matchLabels: labels } };
  await world.create(budgets, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "hold" },
    spec,
  });
  await world.until("the pods to run", async () => {
    const found = await world.list<{ status: { phase?: string } }>(pods);
    return found.length === nodes.length && found.every(({ status }) => status.phase === "Running");
  });
  return () => world.remove(`${budgets}/hold`);
}
