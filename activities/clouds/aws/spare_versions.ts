/** Deletes the launch template versions that Ostler made and no group of the account boots. */
import type { AutoScalingGroup, LaunchTemplateSpecification } from "@aws-sdk/client-auto-scaling";
import { spareTemplates } from "../spare_templates.ts";
import type { AwsApi } from "./api.ts";
import type { AwsGroups } from "./groups.ts";
import { specificationOf } from "./mixed.ts";

/** First words of the description of each version that Ostler makes. */
const maker = "Made by Ostler for ";

/** Returns the description of the versions that Ostler makes for a cluster. */
export function descriptionOf(clusterTag: string): string {
  return `${maker}${clusterTag}`.slice(0, 255);
}

/** Returns whether Ostler made a version with this description for another cluster, whose discovery may delete it. */
export function isOfOther(description: string, clusterTag: string): boolean {
  return description.startsWith(maker) && description !== descriptionOf(clusterTag);
}

/**
 * Deletes old, unused versions of the launch templates that this cluster's groups boot, except those in `keep`. First
 * reads all groups of the account, because groups of other clusters may boot the same launch template.
 */
export async function deleteSpareVersions(
  api: AwsApi,
  { groups, keep }: { groups: AwsGroups; keep: readonly string[] },
): Promise<void> {
  const own = await groups.list();
  const launchTemplates = new Set(own.flatMap((group) => specificationOf(group)?.LaunchTemplateId ?? []));
  let used: Set<string> | undefined;
  for (const launchTemplate of launchTemplates) {
    const made = await ownVersions(api, { launchTemplate, description: descriptionOf(groups.clusterTag) });
    const now = Date.now();
    if (spareTemplates(made, { used: new Set(keep), now }).length === 0) continue;
    used ??= new Set([...keep, ...(await groups.all()).flatMap(versionsOf)]);
    const spare = spareTemplates(made, { used, now });
    if (spare.length > 0) await deleteVersions(api, launchTemplate, spare);
  }
}

async function ownVersions(
  api: AwsApi,
  { launchTemplate, description }: { launchTemplate: string; description: string },
): Promise<{ id: string; since: number }[]> {
  const asked = { LaunchTemplateId: launchTemplate };
  const all = await api.all({
    page: ({ ec2 }, next, options) => ec2.describeLaunchTemplateVersions({ ...asked, ...next }, options),
    of: (page) => page.LaunchTemplateVersions,
    attempt: `read launch template "${launchTemplate}"`,
  });
  // AWS refuses to delete the default version; the latest version is kept, because a group may boot "$Latest".
  const latest = Math.max(...all.map(({ VersionNumber = 0 }) => VersionNumber));
  const own = all.filter(({ VersionDescription, DefaultVersion, VersionNumber }) =>
    VersionDescription === description && !DefaultVersion && VersionNumber !== latest
  );
  const inOrder = own.sort((a, b) => (a.VersionNumber ?? 0) - (b.VersionNumber ?? 0));
  return inOrder.map(({ VersionNumber, CreateTime }) => ({
    id: `${launchTemplate}:${VersionNumber}`,
    since: CreateTime?.getTime() ?? Infinity,
  }));
}

/** Returns the versions that a group's settings or mixed instances policy name, and those that its instances boot. */
function versionsOf({ LaunchTemplate, MixedInstancesPolicy, Instances = [] }: AutoScalingGroup): string[] {
  const { LaunchTemplateSpecification: base, Overrides = [] } = MixedInstancesPolicy?.LaunchTemplate ?? {};
  const all: (LaunchTemplateSpecification | undefined)[] = [
    ...[LaunchTemplate, base],
    ...Overrides.map(({ LaunchTemplateSpecification: each }) => each),
    ...Instances.map((each) => each.LaunchTemplate),
  ];
  return all.flatMap((each) => each?.LaunchTemplateId ? [`${each.LaunchTemplateId}:${each.Version}`] : []);
}

async function deleteVersions(api: AwsApi, LaunchTemplateId: string, ids: readonly string[]): Promise<void> {
  const Versions = ids.map((id) => id.slice(id.indexOf(":") + 1));
  await api.ask({
    attempt: `delete versions of launch template "${LaunchTemplateId}"`,
    // A successful response of AWS can list versions that were not deleted; the next discovery of scaling groups
    // deletes them.
    call: ({ ec2 }, options) => ec2.deleteLaunchTemplateVersions({ LaunchTemplateId, Versions }, options),
  });
}
