/**
 * The driver of AWS: Auto Scaling groups that boot from launch templates. A boot template's id is "<launch
 * template>:<version number>", because a version never changes. If a group uses `$Latest` or `$Default`, Ostler's first
 * change of the group sets a version number instead.
 */
import { AwsApi, type Connected, patienceMs, type Place } from "./aws/api.ts";
import { attemptsIn } from "./aws/attempts.ts";
import { AwsGroups, groupOf } from "./aws/groups.ts";
import { AwsInstances } from "./aws/instances.ts";
import { checkToken } from "./aws/launch.ts";
import { deleteSpareVersions } from "./aws/spare_versions.ts";
import { AwsTemplates } from "./aws/templates.ts";
import type { Driver } from "./driver.ts";

/**
 * Opens the driver for the groups of a region whose tag `constellation-uid` names the cluster; `endpoint` replaces the
 * addresses of the APIs of Auto Scaling and EC2.
 */
export async function openAws(
  { clusterTag, ...place }: Place & { clusterTag: string },
): Promise<Driver> {
  const api = new AwsApi(await connected(place), place.signal, place.requestMs);
  const groups = new AwsGroups(api, clusterTag);
  const templates = new AwsTemplates(api, groups);
  const instances = new AwsInstances(api, { groups, templates, clusterTag });
  return {
    title: "AWS",
    capabilities: { orders: "Token", zones: "Ordered" },
    groups: async () => ({ groups: (await groups.list()).map(groupOf), isComplete: true }),
    group: async (group) => {
      const found = await groups.find(group);
      return found && groupOf(found);
    },
    template: (group) => templates.booted(group),
    ensureImage: (order) => templates.ensureImage(order),
    ensureTemplate: (order) => templates.ensure(order),
    instances: (group) => instances.list(group),
    instance: (providerId) => instances.find(providerId),
    deleteSpareTemplates: ({ keep }) => deleteSpareVersions(api, { groups, keep }),
    checkToken,
    ensureRebalancing: (order) => groups.ensureRebalancing(order),
    order: (order) => instances.order(order),
    attempts: { isOpen: (text) => attemptsIn(text).open !== undefined, end: (order) => instances.end(order) },
    remove: (order) => instances.remove(order),
  };
}

async function connected({ region, endpoint, requestMs = patienceMs }: Place): Promise<Connected> {
  const [{ AutoScaling }, { EC2 }] = await Promise.all([
    import("@aws-sdk/client-auto-scaling"),
    import("@aws-sdk/client-ec2"),
  ]);
  const settings = {
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    // The library must not retry, because callers do, and they know for how long.
    maxAttempts: 1,
    requestHandler: {
      // Connections are not reused, because a request on a reused connection may be sent twice.
      ...{ httpAgent: { keepAlive: false }, httpsAgent: { keepAlive: false } },
      // The library also sends its requests for credentials with these timeouts. It shares such a request among all
      // calls, so one without an end would block every later call of the process.
      ...{ requestTimeout: requestMs, socketTimeout: requestMs, throwOnRequestTimeout: true },
    },
  };
  return { scaling: new AutoScaling(settings), ec2: new EC2(settings) };
}
