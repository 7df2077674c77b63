/**
 * The driver of Google: managed instance groups of zones and regions, which boot from instance templates. A template's
 * id is its path. Groups that replace or remove instances by themselves are refused, because their nodes would not be
 * drained.
 */
import type { compute_v1 } from "@googleapis/compute";
import { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import type { Driver } from "./driver.ts";
import { GoogleApi, type Place } from "./google/api.ts";
import { groupOf } from "./google/group.ts";
import { GoogleGroups } from "./google/groups.ts";
import { GoogleMachines } from "./google/machines.ts";
import { GoogleManagers } from "./google/managers.ts";
import { GoogleMembers } from "./google/members.ts";
import { nameOfOrder } from "./google/names.ts";
import { GoogleOrders } from "./google/orders.ts";
import { GoogleRemovals } from "./google/removals.ts";
import { deleteSpareTemplates } from "./google/spare_templates.ts";
import { GoogleTemplates } from "./google/templates.ts";

/**
 * Opens the driver for the groups of a project whose templates have the label `constellation-uid` of the cluster.
 * `inputOnly` has the values of input-only fields (`google/restatement.ts`) for templates whose metadata has none.
 */
export async function openGoogle(
  { clusterTag, inputOnly = "", ...place }: Place & { clusterTag: string; inputOnly?: string },
): Promise<Driver> {
  const api = new GoogleApi(await connected(place), place);
  const managers = new GoogleManagers(api);
  const templates = new GoogleTemplates(api, managers, inputOnly);
  const groups = new GoogleGroups(api, { managers, templates, clusterTag });
  const ground = { managers, templates, groups, machines: new GoogleMachines(api) };
  const members = new GoogleMembers(api, ground);
  const orders = new GoogleOrders(api, ground, members);
  const removals = new GoogleRemovals(api, ground, members);
  return {
    title: "Google",
    capabilities: { orders: "Token", zones: "Chosen" },
    groups: () => groups.list(),
    group: async (group) => {
      const found = await groups.find(group);
      return found && groupOf(found, api.project);
    },
    template: async (group) => await templates.booted(await groups.needSteady(group)),
    ensureImage: async ({ group, image }) => await templates.ensureImage(await groups.needSteady(group), image),
    ensureTemplate: async ({ group, template }) => await templates.ensure(await groups.needSteady(group), template),
    instances: (group) => members.list(group),
    instance: (providerId) => members.find(providerId),
    deleteSpareTemplates: ({ keep }) => deleteSpareTemplates(api, { groups, managers, clusterTag, keep }),
    checkToken: ({ group, token }) => void nameOfOrder(group, token),
    order: (order) => orders.order(order),
    remove: (order) => removals.remove(order),
  };
}

async function connected({ project, endpoint }: Place): Promise<() => compute_v1.Compute> {
  const { auth: { GoogleAuth }, compute_v1 } = await import("@googleapis/compute");
  const isOpen = endpoint?.startsWith("http:") ?? false;
  // Without `projectId` the library runs `gcloud`, and asks the metadata server, for a project that is not needed.
  const auth = { scopes: ["https://www.googleapis.com/auth/compute"], projectId: project };
  return () =>
    new compute_v1.Compute({
      ...(endpoint === undefined ? {} : { rootUrl: endpoint }),
      // Credentials are never sent without TLS.
      ...(isOpen ? {} : { auth: new GoogleAuth(auth) }),
      // The library must not retry, because callers do, and they know for how long.
      retry: false,
      // Connections are not reused, because a request on a reused connection may be sent twice.
      agent: ({ protocol }: URL) => new (protocol === "http:" ? Agent : TlsAgent)({ keepAlive: false }),
    });
}
