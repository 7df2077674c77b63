/**
 * The driver of Azure: scale sets with uniform instances. A scale set takes only a size and its instances cannot be
 * tagged, so tags of the set record the orders, written by the request that changes the size. Deleting those tags makes
 * Ostler forget which instance belongs to which order.
 */
import { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { AzureApi, type Connected, type Place } from "./azure/api.ts";
import { managerOf } from "./azure/authority.ts";
import { AzureImages, bootOf } from "./azure/images.ts";
import { AzureInstances } from "./azure/instances.ts";
import { addLimits, limited } from "./azure/limits.ts";
import { checkRoom, notesOf } from "./azure/notes.ts";
import { AzureOrders } from "./azure/orders.ts";
import { AzureRemovals } from "./azure/removals.ts";
import { groupOf, ScaleSets } from "./azure/scale_sets.ts";
import { Turns } from "./azure/turns.ts";
import type { Driver } from "./driver.ts";

/**
 * Milliseconds between two reads: Azure limits lists of instances with their states to about one in two seconds per
 * subscription, for all clients together.
 */
const lookMs = 15_000;

/** Opens the driver for the scale sets of a resource group whose tag `constellation-uid` names the cluster. */
export async function openAzure(
  { clusterTag, ...place }: Place & { clusterTag: string },
): Promise<Driver> {
  const api = new AzureApi(await connected(place), place.signal);
  const sets = new ScaleSets(api, { ...place, clusterTag });
  const instances = new AzureInstances(sets);
  const images = new AzureImages(sets, place);
  const orders = new AzureOrders(sets, place);
  const removals = new AzureRemovals(sets, place);
  const turns = new Turns();
  return {
    title: "Azure",
    capabilities: { orders: "Difference", zones: "Chosen" },
    lookEvery: lookMs,
    groups: async () => ({ groups: (await sets.list()).map(groupOf), isComplete: true }),
    group: async (group) => {
      const found = await sets.find(group);
      return found && groupOf(found);
    },
    template: async (group) => bootOf(await sets.need(group)),
    ensureImage: (order) => turns.take(order.group, () => images.ensure(order)),
    ensureTemplate: ({ group, template }) => turns.take(group, () => images.ensure({ group, image: template })),
    instances: (group) => instances.list(group),
    instance: (providerId) => instances.find(providerId),
    checkToken: ({ token }) => checkRoom({}, notesOf({}), token),
    order: (order) => turns.take(order.group, () => orders.order(order)),
    remove: (order) => turns.take(order.group, () => removals.remove(order)),
  };
}

/** Timeout of a request, in milliseconds. */
const patienceMs = 10_000;

async function connected(
  { subscription, resourceGroup, authority, endpoint, signal, requestMs = patienceMs }: Place,
): Promise<Connected> {
  const manager = managerOf(authority);
  // Only test servers work without TLS, and they get no credentials.
  const isTls = !endpoint?.startsWith("http:");
  const [{ ComputeManagementClient }, credential] = await Promise.all([
    import("@azure/arm-compute"),
    isTls ? ownCredential().then(limited) : { getToken: () => Promise.resolve(null) },
  ]);
  const client = new ComputeManagementClient(credential, subscription, {
    endpoint: endpoint ?? manager,
    // Without this scope, the library would request tokens for the public cloud, even in Azure's other clouds.
    credentials: { scopes: [`${manager}/.default`] },
    // The library must not retry, because callers do, and they know for how long.
    retryOptions: { maxRetries: 0 },
  });
  // Connections are not reused, because a request on a reused connection may be sent twice.
  const agent = isTls ? new TlsAgent({ keepAlive: false }) : new Agent({ keepAlive: false });
  addLimits(client, { requestMs, signal, agent, isTls });
  if (!isTls) client.pipeline.removePolicy({ name: "bearerTokenAuthenticationPolicy" });
  return { client, resourceGroup };
}

async function ownCredential(): Promise<
  ConstructorParameters<typeof import("@azure/arm-compute").ComputeManagementClient>[0]
> {
  const { DefaultAzureCredential } = await import("@azure/identity");
  return new DefaultAzureCredential();
}
