/** Auto Scaling groups of one cluster, known by their tags. */
import type { AutoScalingGroup } from "@aws-sdk/client-auto-scaling";
import { refused } from "../../failures.ts";
import { type CloudGroup, groupKeyOf } from "../driver.ts";
import type { AwsApi } from "./api.ts";

const roles: Readonly<Record<string, CloudGroup["role"]>> = {
  ...{ worker: "Worker", "control-plane": "ControlPlane", controlplane: "ControlPlane" },
};

export class AwsGroups {
  constructor(private readonly api: AwsApi, private readonly clusterTag: string) {}

  list(): Promise<AutoScalingGroup[]> {
    const Filters = [{ Name: "tag:constellation-uid", Values: [this.clusterTag] }];
    return this.api.all({
      page: ({ scaling }, next, options) => scaling.describeAutoScalingGroups({ Filters, ...next }, options),
      of: (page) => page.AutoScalingGroups,
      attempt: "list Auto Scaling groups",
    });
  }

  /** AWS tells names that differ in case alone apart, so the one that is named exactly comes first. */
  async find(group: string): Promise<AutoScalingGroup | undefined> {
    const own = (await this.list()).filter(({ AutoScalingGroupName: name = "" }) =>
      groupKeyOf(name) === groupKeyOf(group)
    );
    return own.find(({ AutoScalingGroupName: name }) => name === group) ?? own[0];
  }

  async need(group: string): Promise<AutoScalingGroup> {
    const found = await this.find(group);
    if (found) return found;
    throw refused("CloudRefused", `Cannot use Auto Scaling group "${group}": this cluster has none of that name`);
  }
}

/** A group in the words of all clouds. */
export function groupOf(found: AutoScalingGroup): CloudGroup {
  const name = nameOf(found);
  const tags = new Map(found.Tags?.map(({ Key, Value = "" }) => [Key, Value]));
  return {
    ...{ id: name, name: tags.get("constellation-node-group") || name, autoscalerName: name },
    role: roles[tags.get("constellation-role")?.toLowerCase() ?? ""] ?? "",
    ...{ min: found.MinSize ?? 0, max: found.MaxSize ?? 0, size: found.DesiredCapacity ?? 0 },
  };
}

export function nameOf({ AutoScalingGroupName = "" }: AutoScalingGroup): string {
  return AutoScalingGroupName;
}
