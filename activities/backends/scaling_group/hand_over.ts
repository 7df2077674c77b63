/** What a newcomer takes over: read off its donor when it is ordered, and written on its node before it counts as joined. */
import type { V1Node } from "@kubernetes/client-node";
import { z } from "zod";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Instance } from "../../clouds/driver.ts";
import { unavailable } from "../../failures.ts";
import { asMergePatch } from "../../kube/client.ts";
import type { Kube } from "../../kube/client.ts";
import { patchClusterObject, patchClusterStatus } from "../../kube/cluster_objects.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { pendingNodes } from "../../kube/update_kinds.ts";
import { handOver, type HandOverRules, type Inheritance, inheritanceOf } from "../../node_version/hand_over.ts";
import { marks } from "../../node_version/marks.ts";
import { handOverFor } from "../../policy/hand_over_for.ts";
import type { MemberRef } from "../contract.ts";
import { marksOf } from "./boots.ts";
import { memberIdOf, orderOfInstance } from "./member.ts";
import { deleteRecord, isAlive, type Order, recordAnnotations } from "./records.ts";
import { type Asked, type CloudSight, readAsked, readCloud } from "./sight.ts";

const texts = z.record(z.string(), z.string()).default({});
const Inheritance: z.ZodType<Inheritance> = z.object({
  labels: texts,
  annotations: texts,
  taints: z.array(z.object({ key: z.string(), value: z.string().optional(), effect: z.string() })).default([]),
}).transform(({ taints, ...rest }) => ({
  ...rest,
  taints: taints.map(({ key, value, effect }) => ({ key, effect, ...(value === undefined ? {} : { value }) })),
}));

const nothing: Inheritance = { labels: {}, annotations: {}, taints: [] };

/** What is kept of a donor, by the rules that hold now; undefined where it has no node. */
export async function inheritanceFor(
  kube: Kube,
  { pool, asked, seen }: { pool: PoolRef; asked: Asked; seen: CloudSight },
  donor: Instance,
): Promise<Inheritance | undefined> {
  const name = seen.nodes.get(donor.providerId.toLowerCase())?.name;
  const node = name === undefined ? undefined : await ifFound(kube.core.readNode({ name }));
  return node && inheritanceOf(bearing(node), await rulesOf(kube, pool, asked));
}

async function rulesOf(kube: Kube, { namespace, name }: PoolRef, { group }: Asked): Promise<HandOverRules> {
  const labels = group.metadata.labels ?? {};
  return await handOverFor(kube, { metadata: { namespace, name, labels } });
}

/** Writes on the node what it takes over and what it is, and notes that it is in. */
export function welcomeMember(kube: Kube, { pool, machine }: MemberRef): Promise<void> {
  return attempting(`hand over to machine "${machine}"`, async () => {
    const asked = await readAsked(kube, pool);
    if (!asked) return;
    const seen = await readCloud(kube, asked);
    const instance = seen.instances.find((each) => memberIdOf(each) === machine);
    const node = instance && seen.nodes.get(instance.providerId.toLowerCase());
    if (!instance || !node) return;
    const order = orderOfInstance(seen.records.orders, instance);
    const kept = order ? Inheritance.safeParse(keptOf(order)).data ?? nothing : nothing;
    await write(kube, node.name, { kept, instance, asked });
    if (order) await noteIn(kube, { seen, order, instance, node: node.name });
  });
}

function keptOf({ record }: Order): unknown {
  try {
    return JSON.parse(record.metadata.annotations?.[recordAnnotations.inheritance] ?? "{}");
  } catch {
    return undefined; // anybody may write there
  }
}

async function write(
  kube: Kube,
  name: string,
  { kept, instance, asked }: { kept: Inheritance; instance: Instance; asked: Asked },
): Promise<void> {
  const node = await ifFound(kube.core.readNode({ name }));
  if (!node) return;
  const own = marksOf(instance.image, asked.group.spec.groupId);
  const { labels, annotations, taints } = handOver(
    { ...kept, annotations: { ...kept.annotations, ...own } },
    bearing(node),
  );
  // The operator of before wrote it on a newcomer; whoever it named goes by our order now.
  const stale = node.metadata?.annotations?.[marks.donor] === undefined ? {} : { [marks.donor]: null };
  const all = { ...annotations, ...stale };
  if (Object.keys({ ...labels, ...all }).length === 0 && !taints) return;
  const { uid, resourceVersion } = node.metadata ?? {};
  const body = {
    metadata: { uid, resourceVersion, labels, annotations: all },
    ...(taints ? { spec: { taints } } : {}),
  };
  try {
    await kube.core.patchNode({ name, body }, asMergePatch);
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(`Cannot hand over to node "${name}": it was written meanwhile`);
  }
}

/** Its record stays as long as the one that goes for it, which may be gone by now. */
async function noteIn(
  kube: Kube,
  { seen, order, instance, node }: { seen: CloudSight; order: Order; instance: Instance; node: string },
): Promise<void> {
  const isDonorThere = seen.instances.some((each) => isAlive(each) && memberIdOf(each) === order.donor);
  if (!isDonorThere) return await deleteRecord(kube, order.record);
  if (order.isDone) return;
  const spec = { nodeName: node, providerID: instance.providerId };
  await ifFound(
    patchClusterObject(kube, pendingNodes, { name: order.id, body: { metadata: { uid: order.uid }, spec } }),
  );
  await ifFound(
    patchClusterStatus(kube, pendingNodes, { name: order.id, status: { cspState: "Ready", reachedGoal: true } }),
  );
}

function bearing({ metadata, spec }: V1Node): Inheritance {
  return Inheritance.parse({
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
    taints: (spec?.taints ?? []).map(({ key, value, effect }) => ({ key, value, effect })),
  });
}
