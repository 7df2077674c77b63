/** What has to be mended by a person before anything of a NodeVersion may begin. */
import type { VersionTrouble } from "../../workflows/contracts/mod.ts";
import { cloudOf } from "../clouds/cloud_of.ts";
import { groupKeyOf } from "../clouds/driver.ts";
import { failureTypeOf } from "../failures.ts";
import { abreast } from "../kube/abreast.ts";
import type { Kube } from "../kube/client.ts";
import type { NodeVersion, ScalingGroup } from "../kube/update_kinds.ts";
import { newerThanServer } from "./newer_than_server.ts";

/** Groups that are asked for at a time. */
const width = 10;

/** The first of it; null for none. */
export async function troubleWith(
  kube: Kube,
  { version, groups, all }: { version: NodeVersion; groups: readonly ScalingGroup[]; all: readonly ScalingGroup[] },
): Promise<VersionTrouble | null> {
  if (version.spec.image === "") return { reason: "ImageMissing", message: "The NodeVersion names no image" };
  const twice = groups.find((group) => all.some((other) => isSameGroup(group, other)));
  if (twice) {
    const others = all.filter((other) => isSameGroup(twice, other)).map(({ metadata }) => `"${metadata.name}"`);
    const message = `ScalingGroups "${twice.metadata.name}" and ${others.join(", ")} are one group of the cloud`;
    return { reason: "GroupClaimedTwice", message };
  }
  return await newerThanServer(kube, version) ?? await troubleInCloud(kube, groups);
}

/** What the cloud does not have, or will not tell. */
async function troubleInCloud(kube: Kube, groups: readonly ScalingGroup[]): Promise<VersionTrouble | null> {
  try {
    if (groups.length === 0) return null;
    const driver = await cloudOf(kube);
    const found = await abreast(width, [...groups], ({ spec }) => driver.group(spec.groupId));
    const missing = groups.find((_, nth) => found[nth] === undefined);
    if (!missing) return null;
    const { metadata: { name }, spec: { groupId } } = missing;
    return { reason: "GroupMissing", message: `ScalingGroup "${name}": ${driver.title} has no group "${groupId}"` };
  } catch (error) {
    if (failureTypeOf(error) !== "CloudRefused") throw error;
    return { reason: "CloudRefused", message: error instanceof Error ? error.message : "the cloud refused" };
  }
}

function isSameGroup(one: ScalingGroup, other: ScalingGroup): boolean {
  return one.metadata.uid !== other.metadata.uid && groupKeyOf(one.spec.groupId) === groupKeyOf(other.spec.groupId);
}
