/** The EC2 API over the simulated cloud: its instances with their tags, and launch templates with their versions. */
import type { CloudInstance, Template } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import { type AwsGround, groupTag } from "./aws_ground.ts";
import { AwsWrong } from "./aws_requests.ts";

type Group = ReturnType<AwsGround["cloud"]["groups"]>[number];

const states = {
  ...{ Creating: "pending", Ready: "running", Terminating: "shutting-down", Terminated: "terminated" },
  Failed: "stopped",
};

export class AwsEc2 {
  readonly #made = new Map<string, Template>();
  readonly #descriptions = new Map<Template, string>();

  constructor(private readonly ground: AwsGround) {}

  DescribeInstances(form: URLSearchParams): object {
    const id = form.get("InstanceId.1");
    const all = this.ground.visible().filter((each) => id === null || this.ground.idOf(each) === id);
    if (id !== null && all.length === 0) throw new AwsWrong("InvalidInstanceID.NotFound", `no instance ${id}`);
    const found = all.filter((each) => this.#passes(each, form));
    const at = Number(form.get("NextToken") ?? 0);
    const next = at + 2 < found.length ? { nextToken: at + 2 } : {};
    const reservations = found.slice(at, at + 2).map((each) => ({ instancesSet: [this.#shown(each)] }));
    return { reservationSet: reservations, ...next };
  }

  CreateTags(form: URLSearchParams): object {
    const found = this.ground.find(form.get("ResourceId.1") ?? "");
    if (!found) throw new AwsWrong("InvalidInstanceID.NotFound", "no such instance");
    this.ground.mark(found, form.get("Tag.1.Key") ?? "", form.get("Tag.1.Value") ?? "");
    return { return: true };
  }

  DescribeLaunchTemplateVersions(form: URLSearchParams): object {
    const group = this.#groupOf(form);
    const wanted = form.get("LaunchTemplateVersion.1");
    const number = wanted === null ? undefined : this.ground.numberOf(group, wanted);
    const isDeleted = (each: number): boolean => this.ground.deletedVersions.has(`${group.id}:${each}`);
    const shown = group.templates.map((_, index) => index + 1).filter((each) =>
      each <= this.ground.shownVersions && !isDeleted(each)
    );
    const all = shown.filter((each) => number === undefined || each === number);
    if (number !== undefined && all.length === 0) {
      throw new AwsWrong("InvalidLaunchTemplateId.VersionNotFound", `no version ${wanted}`);
    }
    const at = Number(form.get("NextToken") ?? 0);
    const next = at + 1 < all.length ? { nextToken: at + 1 } : {};
    return { launchTemplateVersionSet: all.slice(at, at + 1).map((each) => this.#version(group, each)), ...next };
  }

  CreateLaunchTemplateVersion(form: URLSearchParams): object {
    const group = this.#groupOf(form);
    const source = group.templates[Number(form.get("SourceVersion")) - 1];
    const token = form.get("ClientToken") ?? "";
    // A new version that is not based on a source version has only the given fields.
    const fields = { ...source?.fields, image: form.get("LaunchTemplateData.ImageId") ?? "" };
    const made = this.#made.get(token) ?? this.ground.addVersion(group, this.#disks(fields, form));
    this.#made.set(token, made);
    this.#descriptions.set(made, form.get("VersionDescription") ?? "");
    return { launchTemplateVersion: this.#version(group, group.templates.indexOf(made) + 1) };
  }

  DeleteLaunchTemplateVersions(form: URLSearchParams): object {
    const group = this.#groupOf(form);
    for (let nth = 1; form.has(`LaunchTemplateVersion.${nth}`); nth++) {
      this.ground.deletedVersions.add(`${group.id}:${form.get(`LaunchTemplateVersion.${nth}`)}`);
    }
    return { successfullyDeletedLaunchTemplateVersionSet: [] };
  }

  /** Replaces the disks of the source version: only the request determines which snapshots they have. */
  #disks(fields: Template["fields"], form: URLSearchParams): Template["fields"] {
    if (!("snapshot" in fields)) return fields;
    const { snapshot: _, ...others } = fields;
    const snapshot = form.get("LaunchTemplateData.BlockDeviceMapping.1.Ebs.SnapshotId");
    return snapshot === null ? { ...others, image: fields.image } : { ...others, image: fields.image, snapshot };
  }

  #groupOf(form: URLSearchParams): Group {
    const id = form.get("LaunchTemplateId");
    const found = this.ground.cloud.groups().find((group) => this.ground.launchTemplateOf(group) === id);
    if (found) return found;
    throw new AwsWrong("InvalidLaunchTemplateId.NotFound", `no launch template ${id}`);
  }

  #version(group: Group, number: number): object {
    const template = group.templates[number - 1];
    const { image, machineType, userData, snapshot } = template?.fields ?? { image: "" };
    const versionDescription = template && this.#descriptions.get(template);
    const disk = { deviceName: "/dev/sda1", ebs: { snapshotId: snapshot, volumeSize: 8 } };
    // Fields that AWS sets although the request did not have them.
    const metadataOptions = { state: number === 1 ? "applied" : "pending", httpTokens: "required" };
    const data = { imageId: image, instanceType: machineType, userData, metadataOptions };
    return {
      ...{ launchTemplateId: this.ground.launchTemplateOf(group), versionNumber: number },
      ...{ defaultVersion: number === 1, versionDescription, createTime: this.ground.madeVersionsAt },
      launchTemplateData: { ...data, ...(snapshot ? { blockDeviceMappingSet: [disk] } : {}) },
    };
  }

  #passes(each: CloudInstance, form: URLSearchParams): boolean {
    const tags = this.ground.tagsOf(each);
    for (let nth = 1; form.has(`Filter.${nth}.Name`); nth++) {
      const [name, value] = [form.get(`Filter.${nth}.Name`), form.get(`Filter.${nth}.Value.1`)];
      if (!tags.some(([key, found]) => `tag:${key}` === name && matches(value ?? "", found))) return false;
    }
    return true;
  }

  #shown(each: CloudInstance): object {
    const tags = this.ground.tagsOf(each).filter(([key]) => key !== groupTag || each.state !== "Terminated");
    return {
      ...{ instanceId: this.ground.idOf(each), imageId: each.template.fields.image, launchTime: each.since },
      ...{ instanceState: { code: 0, name: states[each.state] }, privateDnsName: `${each.node}.ec2.internal` },
      ...{ privateIpAddress: each.addresses[0], placement: { availabilityZone: each.zone } },
      tagSet: tags.map(([key, value]) => ({ key, value })),
    };
  }
}

/** "*" in a filter matches any text and "?" any character, unless "\\" precedes it. */
function matches(filter: string, found: string): boolean {
  const parts = filter.match(/\\[^]|[^]/g) ?? [];
  const pattern = parts.map((part) => part === "*" ? "[^]*" : part === "?" ? "[^]" : escaped(part.at(-1) ?? ""));
  return new RegExp(`^${pattern.join("")}$`).test(found);
}

function escaped(sign: string): string {
  return sign.replace(/[\\^$.*+?()[\]{}|]/, "\\$&");
}
