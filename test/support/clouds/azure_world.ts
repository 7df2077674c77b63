/** A scale set of two instances and a maximum of four in the simulated cloud, and the driver of Azure for the set. */
import { ok, rejects } from "node:assert/strict";
import { setTimeout as pass } from "node:timers/promises";
import { notesOf, tagsWith } from "../../../activities/clouds/azure/notes.ts";
import { openAzure } from "../../../activities/clouds/azure.ts";
import type { Driver } from "../../../activities/clouds/driver.ts";
import { GroupCloud, type GroupSpec } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import type { Truth } from "../driver_conformance.ts";
import type { AzureConditions } from "./azure_ground.ts";
import { AzureStub } from "./azure_stub.ts";

export const clusterTag = "cluster-1";
const place = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute";
export const images = [1, 2, 3].map((nth) => `${place}/images/${nth}`) as [string, string, string];

export const spec: GroupSpec = {
  ...{ id: `${place}/virtualMachineScaleSets/Workers-vmss`, name: "workers", autoscalerName: "Workers-vmss" },
  ...{ role: "Worker", min: 1, max: 4, size: 2, zones: ["1", "2"] },
  template: { image: images[0], userData: "c2VjcmV0" },
};

/** Returns the provider ID of an instance of the scale set `spec`. */
export function providerIdOf(id: number): string {
  return `azure://${spec.id}/virtualMachines/${id}`;
}

export interface World extends AsyncDisposable {
  cloud: GroupCloud;
  stub: AzureStub;
  open: (signal?: AbortSignal) => Promise<Driver>;
}

export interface Conditions extends Partial<AzureConditions> {
  capacity?: number;
  groups?: GroupSpec[];
  requestMs?: number;
  patienceMs?: number;
}

export function worldOf(
  { capacity, requestMs, patienceMs = 2_000, groups = [spec], ...conditions }: Conditions = {},
): World {
  const cloud = new GroupCloud({ images, ...(capacity === undefined ? {} : { capacity }) });
  for (const group of groups) cloud.create(group);
  // Existing instances are old enough to be visible to all clients.
  for (const instance of cloud.instances()) instance.since = new Date(0).toISOString();
  const stub = new AzureStub(cloud, { clusterTag, ...conditions });
  const limit = requestMs === undefined ? {} : { requestMs };
  const asked = { subscription: "s", resourceGroup: "r", clusterTag, endpoint: stub.url, patienceMs, ...limit };
  const open = (signal?: AbortSignal): Promise<Driver> => openAzure({ ...asked, ...(signal ? { signal } : {}) });
  return { cloud, stub, open, [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose]() };
}

/** Completes all deletions. */
export function settle(cloud: GroupCloud): void {
  for (const { providerId, state } of cloud.instances()) {
    if (state === "Terminating") cloud.set(providerId, { state: "Terminated" });
  }
}

/** Returns the actual size and instances of the set. */
export function truthOf(world: World): Truth {
  const group = world.cloud.group(spec.id);
  ok(group);
  const { size, boots, templates } = group;
  return {
    size,
    alive:
      world.cloud.instances(spec.id).filter(({ state }) => state !== "Terminating" && state !== "Terminated").length,
    tokens: tokensIn(world),
    boots: boots.fields.image,
    templates: templates.length,
  };
}

/**
 * Returns the tokens of all completed orders in the set's tags, and the token of the open order if an instance exists
 * for it.
 */
function tokensIn(world: World): string[] {
  const { open, orders } = notesOf(tagsOf(world));
  const isHeir = (id: number): boolean => id > (open?.after ?? Infinity) && !orders.has(id);
  const isFilled = world.cloud.instances(spec.id).some(({ node }) => isHeir(Number(node.replace(/^.*-/, ""))));
  return [...orders.values(), ...(open && isFilled ? [open.token] : [])];
}

export function tagsOf({ cloud, stub }: World): Record<string, string> {
  const group = cloud.group(spec.id);
  ok(group);
  return stub.ground.tagsOf(group);
}

/**
 * Starts an order, cuts the connection after the size of the set was raised, and waits until Azure has completed the
 * change.
 */
export async function cutOff({ cloud, stub }: World, driver: Driver): Promise<void> {
  stub.fault = (_, action) => action === "update" ? "CutAfter" : undefined;
  await rejects(driver.order({ group: spec.id, token: "t" }), { type: "ApiUnavailable" });
  stub.fault = () => undefined;
  const group = cloud.group(spec.id);
  while (group && stub.ground.isBusy(group)) await pass(10);
}

/** Makes the open order so old that all its results are visible. */
export function age(world: World): void {
  const [group, tags] = [world.cloud.group(spec.id), tagsOf(world)];
  const notes = notesOf(tags);
  ok(group && notes.open);
  world.stub.ground.setTags(group, tagsWith(tags, { ...notes, open: { ...notes.open, since: 0 } }));
}
