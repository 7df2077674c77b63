/** Auto Scaling groups of one cluster, identified by their tags. */
import type { AutoScalingGroup, DescribeAutoScalingGroupsCommandInput } from "@aws-sdk/client-auto-scaling";
import { refused, unavailable } from "../../failures.ts";
import { type CloudGroup, groupKeyOf } from "../driver.ts";
import type { AwsApi } from "./api.ts";
import { isInStandby } from "./instance_of.ts";
import { mixtureOf } from "./mixed.ts";

const roles: Readonly<Record<string, CloudGroup["role"]>> = {
  ...{ worker: "Worker", "control-plane": "ControlPlane", controlplane: "ControlPlane" },
};

/** Tag that identifies the groups of a cluster. */
const clusterKey = "constellation-uid";

/** The process of a group that ends instances to have equally many in all zones. */
const rebalancing = "AZRebalance";

/** Groups in one answer: the maximum of AWS. */
const MaxRecords = 100;

export class AwsGroups {
  constructor(private readonly api: AwsApi, readonly clusterTag: string) {}

  async list(): Promise<AutoScalingGroup[]> {
    const Filters = [{ Name: `tag:${clusterKey}`, Values: [this.clusterTag] }];
    return (await this.#asked({ Filters, MaxRecords })).filter((found) => this.#isOwn(found));
  }

  /** Lists all groups of the account in the region, also those of other clusters. */
  all(): Promise<AutoScalingGroup[]> {
    return this.#asked({ MaxRecords });
  }

  /**
   * Finds a group by its exact name, because AWS distinguishes names by case; else by a name that differs only in case.
   */
  async find(group: string): Promise<AutoScalingGroup | undefined> {
    const [exact] = await this.#asked({ AutoScalingGroupNames: [group] });
    if (exact && this.#isOwn(exact)) return exact;
    return (await this.list()).find((found) => groupKeyOf(nameOf(found)) === groupKeyOf(group));
  }

  /** Throws Refused if the group does not exist, or if Ostler cannot roll it (`troubleOf`). */
  async need(group: string): Promise<AutoScalingGroup> {
    const found = await this.find(group);
    const trouble = found && troubleOf(found);
    if (trouble) throw refused("CloudRefused", `Failed to use Auto Scaling group "${group}": ${trouble}`);
    if (found) return found;
    throw refused(
      "CloudRefused",
      `Failed to use Auto Scaling group "${group}": this cluster does not have a group of that name`,
    );
  }

  /** Suspends or resumes AZRebalance, which moves instances between zones. */
  async ensureRebalancing({ group, isOn }: { group: string; isOn: boolean }): Promise<void> {
    const found = await this.find(group);
    if (!found || isSuspended(found, rebalancing) !== isOn) return;
    const asked = { AutoScalingGroupName: nameOf(found), ScalingProcesses: [rebalancing] };
    const attempt = `${isOn ? "resume" : "suspend"} ${rebalancing} of "${group}"`;
    await this.api.ask({
      attempt,
      call: ({ scaling }, options) =>
        isOn ? scaling.resumeProcesses(asked, options) : scaling.suspendProcesses(asked, options),
    });
    const after = await this.find(group);
    if (!after || isSuspended(after, rebalancing) !== isOn) return;
    throw unavailable(`Failed to ${attempt}: AWS does not report the change yet`);
  }

  #asked(asked: DescribeAutoScalingGroupsCommandInput): Promise<AutoScalingGroup[]> {
    return this.api.all({
      page: ({ scaling }, next, options) => scaling.describeAutoScalingGroups({ ...asked, ...next }, options),
      of: (page) => page.AutoScalingGroups,
      attempt: "list Auto Scaling groups",
    });
  }

  #isOwn({ Tags = [] }: AutoScalingGroup): boolean {
    return Tags.some(({ Key, Value }) => Key === clusterKey && Value === this.clusterTag);
  }
}

/** Converts an Auto Scaling group to the form that is common to all clouds. */
export function groupOf(found: AutoScalingGroup): CloudGroup {
  const name = nameOf(found);
  const tags = new Map(found.Tags?.map(({ Key, Value = "" }) => [Key, Value]));
  const standby = (found.Instances ?? []).filter(isInStandby).length;
  const sizeOf = (counted = 0): number => counted + standby;
  const isSpread = (found.AvailabilityZones?.length ?? 0) > 1 && !isSuspended(found, rebalancing);
  return {
    ...{ id: name, name: tags.get("constellation-node-group") || name, autoscalerName: name },
    role: roles[tags.get("constellation-role")?.toLowerCase() ?? ""] ?? "",
    // The list of instances contains those in standby. If the size did not, as many instances that serve would be
    // drained as surplus.
    ...{ min: sizeOf(found.MinSize), max: sizeOf(found.MaxSize), size: sizeOf(found.DesiredCapacity) },
    // A group that Ostler cannot roll is reported as not rebalancing, so that Ostler does not suspend its AZRebalance.
    ...(isSpread && troubleOf(found) === undefined ? { rebalances: true } : {}),
  };
}

/** Returns why Ostler cannot roll the group; undefined if it can. */
function troubleOf(
  { WarmPoolConfiguration, MixedInstancesPolicy, Operator, DesiredCapacityType = "units", Tags = [] }: AutoScalingGroup,
): string | undefined {
  const nodeGroup = Tags.find(({ Key }) => Key === "eks:nodegroup-name")?.Value;
  if (nodeGroup !== undefined) {
    return `it belongs to EKS managed node group "${nodeGroup}", which EKS updates by itself; use a self-managed group`;
  }
  if (Operator) return `only its operator "${Operator.Principal}" can change it; use a self-managed group`;
  // Instances of a warm pool have the group's tag, do not count in its size, and later join with the template that they
  // were created from, even if the group boots another one by then.
  if (WarmPoolConfiguration) return "it has a warm pool; delete the warm pool";
  if (DesiredCapacityType !== "units") return `its size is in ${DesiredCapacityType}; set DesiredCapacityType to units`;
  return MixedInstancesPolicy && mixtureOf(MixedInstancesPolicy);
}

/** Returns whether a user suspended the process that launches instances. */
export function isHalted(group: AutoScalingGroup): boolean {
  return isSuspended(group, "Launch");
}

function isSuspended({ SuspendedProcesses = [] }: AutoScalingGroup, process: string): boolean {
  return SuspendedProcesses.some(({ ProcessName }) => ProcessName === process);
}

export function nameOf({ AutoScalingGroupName = "" }: AutoScalingGroup): string {
  return AutoScalingGroupName;
}
