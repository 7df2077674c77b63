/** A group in moto's AWS, created and read without a driver. */
import { AutoScaling } from "@aws-sdk/client-auto-scaling";
import { EC2, type Instance } from "@aws-sdk/client-ec2";
import type { Truth } from "../driver_conformance.ts";

export const clusterTag = "cluster-1";
export const groupName = "Workers-asg";
const region = "eu-west-1";

export class MotoGround {
  readonly #scaling: AutoScaling;
  readonly #ec2: EC2;
  /** IDs of three images. */
  images: string[] = [];
  #launchTemplate = "";

  constructor(private readonly url: string) {
    const place = { region, endpoint: url };
    this.#scaling = new AutoScaling(place);
    this.#ec2 = new EC2(place);
  }

  /** Resets moto, and creates one group of size 2 and maximum size 4. */
  async make(tags: Record<string, number>): Promise<void> {
    await (await fetch(`${this.url}/moto-api/reset`, { method: "POST" })).body?.cancel();
    for (const Name of ["image-1", "image-2", "image-3"]) {
      this.images.push((await this.#ec2.registerImage({ Name })).ImageId ?? "");
    }
    const { LaunchTemplate } = await this.#ec2.createLaunchTemplate({
      LaunchTemplateName: "workers",
      LaunchTemplateData: { ImageId: this.images[0], InstanceType: "m5.large", UserData: "c2VjcmV0" },
    });
    this.#launchTemplate = LaunchTemplate?.LaunchTemplateId ?? "";
    const told = {
      "constellation-uid": clusterTag,
      "constellation-node-group": "workers",
      "constellation-role": "worker",
    };
    await this.#scaling.createAutoScalingGroup({
      AutoScalingGroupName: groupName,
      ...{ MinSize: 1, MaxSize: 4, DesiredCapacity: 2 },
      AvailabilityZones: ["a", "b"].map((zone) => `${region}${zone}`),
      LaunchTemplate: { LaunchTemplateId: this.#launchTemplate, Version: "$Default" },
      Tags: Object.entries(told).map(([Key, Value]) => ({ Key, Value, PropagateAtLaunch: true })),
    });
    await this.set(tags);
  }

  /** Sets tags of the group, by which a test controls the simulated faults of moto. */
  async set(tags: Record<string, number>): Promise<void> {
    const of = { ResourceId: groupName, ResourceType: "auto-scaling-group", PropagateAtLaunch: false };
    const Tags = Object.entries(tags).map(([Key, value]) => ({ ...of, Key, Value: `${value}` }));
    if (Tags.length > 0) await this.#scaling.createOrUpdateTags({ Tags });
  }

  /** Returns the actual state, including new instances, which moto hides from other reads for `hiddenSeconds`. */
  async truth(hiddenSeconds: number): Promise<Truth> {
    await this.set({ "test/lag-seconds": 0 });
    const { AutoScalingGroups: [group] = [] } = await this.#scaling.describeAutoScalingGroups({});
    const all = await this.#instances();
    const LaunchTemplateId = this.#launchTemplate;
    const { LaunchTemplateVersions = [] } = await this.#ec2.describeLaunchTemplateVersions({ LaunchTemplateId });
    await this.set({ "test/lag-seconds": hiddenSeconds });
    const number = group?.LaunchTemplate?.Version ?? "";
    const isBooted = (version: typeof LaunchTemplateVersions[number]): boolean =>
      number === "$Default" ? version.DefaultVersion ?? false : `${version.VersionNumber}` === number;
    return {
      size: group?.DesiredCapacity ?? 0,
      alive: all.filter(({ State }) => State?.Name === "running").length,
      tokens: all.flatMap(({ Tags = [] }) => Tags.find(({ Key }) => Key === "ostler-order")?.Value ?? []),
      boots: LaunchTemplateVersions.find(isBooted)?.LaunchTemplateData?.ImageId ?? "",
      templates: LaunchTemplateVersions.length,
    };
  }

  /** Completes all deletions. */
  async settle(): Promise<void> {
    const going = (await this.#instances()).filter(({ State }) => State?.Name === "shutting-down");
    const InstanceIds = going.map(({ InstanceId = "" }) => InstanceId);
    if (InstanceIds.length > 0) await this.#ec2.terminateInstances({ InstanceIds });
  }

  async #instances(): Promise<Instance[]> {
    const { Reservations = [] } = await this.#ec2.describeInstances({});
    return Reservations.flatMap(({ Instances = [] }) => Instances);
  }
}
