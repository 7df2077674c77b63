/**
 * Boot templates of groups: versions of launch templates. To boot another image, a group gets a copy of its version in
 * which only the image differs; AWS makes the copy.
 */
import type { AutoScalingGroup } from "@aws-sdk/client-auto-scaling";
import type { LaunchTemplateVersion, ResponseLaunchTemplateData } from "@aws-sdk/client-ec2";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { refused, unavailable } from "../../failures.ts";
import type { BootTemplate } from "../driver.ts";
import type { AwsApi } from "./api.ts";
import { isReusable } from "../spare_templates.ts";
import { without } from "../without.ts";
import { type AwsGroups, nameOf } from "./groups.ts";
import { bootChange, specificationOf } from "./mixed.ts";
import { descriptionOf, isOfOther } from "./spare_versions.ts";

const absent = ["NotFound", "Malformed", "VersionNotFound"].map((each) => `InvalidLaunchTemplateId.${each}`);

/**
 * Paths of the fields that only EC2's responses contain, never requests; a test compares them with AWS's API model.
 */
export const outputs = [
  ...["MetadataOptions.State", "NetworkInterfaces.Ipv6Addresses.IsPrimaryIpv6"],
  ...["Operator.HiddenByDefault", "Operator.Managed"],
];

/** An existing version of a launch template. */
interface Version {
  launchTemplate: string;
  number: string;
  data: ResponseLaunchTemplateData;
  description: string;
  /** Creation time of the version (epoch ms). */
  since: number;
}

export class AwsTemplates {
  constructor(private readonly api: AwsApi, private readonly groups: AwsGroups) {}

  async booted(group: string): Promise<BootTemplate> {
    return bootOf(await this.#bootedBy(await this.groups.need(group)));
  }

  async ensureImage({ group, image }: { group: string; image: string }): Promise<BootTemplate> {
    if (image.startsWith("resolve:")) {
      const state = "the image is a Systems Manager parameter, whose value may change; name an AMI by ID";
      throw refused("CloudRefused", `Failed to set "${group}" to boot image "${image}": ${state}`);
    }
    const found = await this.groups.need(group);
    const boots = await this.#bootedBy(found);
    if (boots.data.ImageId === image) return await this.#pinned(found, boots);
    // A group with "$Latest" would boot the new version before the version is verified, so the group is pinned first.
    if (specificationOf(found)?.Version === "$Latest") await this.#pinned(found, boots);
    return await this.#use(found, await this.#like(boots, image));
  }

  /** Sets the group to a version number, because users can change the meaning of "$Latest" and "$Default". */
  async #pinned(group: AutoScalingGroup, boots: Version): Promise<BootTemplate> {
    return specificationOf(group)?.Version === boots.number ? bootOf(boots) : await this.#use(group, boots);
  }

  async ensure({ group, template }: { group: string; template: string }): Promise<BootTemplate> {
    const found = await this.groups.need(group);
    const [launchTemplate = "", number = ""] = template.split(":");
    const [version] = /^[1-9]\d*$/.test(number) ? await this.#versions(launchTemplate, [number]) : [];
    if (version) return await this.#use(found, version);
    throw refused(
      "CloudRefused",
      `Failed to set "${group}" to boot template "${template}": the template does not exist`,
    );
  }

  /** Sets a group to boot a version by its number; returns what the group will really boot, not what was requested. */
  async #use(group: AutoScalingGroup, version: Version): Promise<BootTemplate> {
    const AutoScalingGroupName = nameOf(group);
    const { id } = bootOf(version);
    const change = bootChange(group, { LaunchTemplateId: version.launchTemplate, Version: version.number });
    await this.api.ask({
      attempt: `set "${AutoScalingGroupName}" to boot template "${id}"`,
      call: ({ scaling }, options) => scaling.updateAutoScalingGroup({ AutoScalingGroupName, ...change }, options),
    });
    const boots = await this.booted(AutoScalingGroupName);
    if (boots.id === id) return boots;
    throw unavailable(`Failed to set "${AutoScalingGroupName}" to boot template "${id}": it still boots "${boots.id}"`);
  }

  /**
   * Returns a version that differs from `source` only in its image: an existing version, or a new one after a check of
   * all its fields. An old version that Ostler made is not used again, because a concurrent discovery of scaling
   * groups, which deletes unused versions, may be about to delete it. A version of another cluster is never used,
   * because that cluster's discovery does not know to which versions this cluster may roll back.
   */
  async #like(source: Version, image: string): Promise<Version> {
    const wanted = plain({ ...source.data, ImageId: image });
    const all = await this.#versions(source.launchTemplate, []);
    const { clusterTag } = this.groups;
    const equal = all.filter(({ data, description }) =>
      !isOfOther(description, clusterTag) && isDeepStrictEqual(plain(data), wanted)
    );
    const own = descriptionOf(clusterTag);
    const known = equal.find((each) => each.description !== own || isReusable(each, Date.now()));
    if (known) return known;
    const made = await this.#clone(source, {
      image,
      latest: Math.max(0, ...equal.map(({ number }) => Number(number))),
    });
    checkLike(source, made, wanted);
    const [seen] = await this.#versions(made.launchTemplate, [made.number]);
    if (seen) return seen;
    throw unavailable(`Failed to read new template "${bootOf(made).id}": EC2 does not list the template yet`);
  }

  /**
   * Copies a version with another image; `latest` is the number of the newest equal version, which is too old to be
   * reused, or 0 if there is none.
   */
  async #clone(source: Version, { image, latest }: { image: string; latest: number }): Promise<Version> {
    const { launchTemplate, number, data: { BlockDeviceMappings } } = source;
    const description = descriptionOf(this.groups.clusterTag);
    const parts = [launchTemplate, number, image, description, ...(latest > 0 ? [latest] : [])];
    const { LaunchTemplateVersion: made } = await this.api.ask({
      attempt: `create a version of launch template "${launchTemplate}" with image "${image}"`,
      call: ({ ec2 }, options) =>
        ec2.createLaunchTemplateVersion({
          LaunchTemplateId: launchTemplate,
          SourceVersion: number,
          // Makes concurrent requests create only one version.
          ClientToken: createHash("sha256").update(parts.join(" ")).digest("hex"),
          VersionDescription: description,
          // AWS copies all other fields from the source, but omits the snapshots of disks that the request does not
          // name.
          LaunchTemplateData: { ImageId: image, ...(BlockDeviceMappings ? { BlockDeviceMappings } : {}) },
        }, options),
    });
    return versionOf(made ?? {});
  }

  /** Resolves the version that a group is configured to boot, such as "$Latest", to its number. */
  async #bootedBy(group: AutoScalingGroup): Promise<Version> {
    const name = nameOf(group);
    const { LaunchTemplateId: id, Version = "$Default" } = specificationOf(group) ?? {};
    if (!id) {
      throw refused(
        "CloudRefused",
        `Failed to read the boot template of "${name}": the group does not have a launch template; set one`,
      );
    }
    const [version] = await this.#versions(id, [Version]);
    if (version) return version;
    throw refused(
      "CloudRefused",
      `Failed to read the boot template of "${name}": launch template "${id}" does not have version "${Version}"`,
    );
  }

  /**
   * Returns the versions in `Versions`, or all if it is empty; returns none if the launch template or one of the
   * versions does not exist.
   */
  async #versions(LaunchTemplateId: string, Versions: string[]): Promise<Version[]> {
    const asked = { LaunchTemplateId, ...(Versions.length > 0 ? { Versions } : {}) };
    return await this.api.all({
      page: ({ ec2 }, next, options) => ec2.describeLaunchTemplateVersions({ ...asked, ...next }, options),
      of: (page) => page.LaunchTemplateVersions?.map(versionOf),
      attempt: `read launch template "${LaunchTemplateId}"`,
      absent,
    });
  }
}

function versionOf(
  { LaunchTemplateId = "", VersionNumber, LaunchTemplateData = {}, VersionDescription = "", CreateTime }:
    LaunchTemplateVersion,
): Version {
  return {
    ...{ launchTemplate: LaunchTemplateId, number: String(VersionNumber ?? ""), data: LaunchTemplateData },
    ...{ description: VersionDescription, since: CreateTime?.getTime() ?? Infinity },
  };
}

function bootOf({ launchTemplate, number, data: { ImageId = "" } }: Version): BootTemplate {
  return { id: `${launchTemplate}:${number}`, image: ImageId };
}

/** Removes the fields that only responses contain. */
function plain(data: ResponseLaunchTemplateData): ResponseLaunchTemplateData {
  return without(data, outputs);
}

function checkLike(source: Version, made: Version, wanted: ResponseLaunchTemplateData): void {
  const found = plain(made.data);
  const keys = new Set([...Object.keys(wanted), ...Object.keys(found)]) as Set<keyof ResponseLaunchTemplateData>;
  const others = [...keys].filter((key) => !isDeepStrictEqual(found[key], wanted[key]));
  if (others.length === 0) return;
  // Reports names only, because values may be secrets.
  const names = others.map((key) => `"${key}"`).join(", ");
  const attempt = `boot image "${wanted.ImageId}" from template "${bootOf(made).id}"`;
  throw refused(
    "CloudRefused",
    `Failed to ${attempt}: besides the image, the template also differs from "${bootOf(source).id}" in ${names}`,
  );
}
