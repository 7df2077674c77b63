/**
 * The requests that AWS accepts, by its published descriptions of Auto Scaling (2011-01-01) and EC2 (2016-11-15), for
 * the calls served here. Any other action or field, a missing field, and a wrong type are errors.
 */

/** A request that AWS would refuse. */
export class AwsWrong extends Error {
  constructor(readonly code: string, message: string) {
    super(message);
  }
}

export type Api = "autoscaling" | "ec2";

interface Action {
  api: Api;
  /** The allowed fields; N in a name stands for a number from 1. */
  fields: Record<string, RegExp>;
  needs: string[];
}

const [text, flag, hash] = [/^.+$/s, /^(true|false)$/, /^[A-Za-z0-9\-_/]{1,64}$/];
const instance = /^i-[0-9a-f]{8,17}$/;
const launchTemplate = /^lt-[0-9a-f]{8,17}$/;
const most = /^([1-9]\d?\d?|1000)$/;
const filters = { "Filter.N.Name": text, "Filter.N.Value.N": text, NextToken: text, MaxResults: most };
const disk = "LaunchTemplateData.BlockDeviceMapping.N";

const processes: Action = {
  api: "autoscaling",
  fields: { AutoScalingGroupName: text, "ScalingProcesses.member.N": /^(AZRebalance|Launch|Terminate)$/ },
  needs: ["AutoScalingGroupName"],
};
const mixed = "MixedInstancesPolicy";

const actions: Record<string, Action> = {
  DescribeAutoScalingGroups: {
    api: "autoscaling",
    fields: {
      ...{ "Filters.member.N.Name": /^tag:.+$/, "Filters.member.N.Values.member.N": text, NextToken: text },
      ...{ "AutoScalingGroupNames.member.N": text, MaxRecords: /^([1-9]\d?|100)$/ },
    },
    needs: [],
  },
  DescribeAutoScalingInstances: { api: "autoscaling", fields: { "InstanceIds.member.N": instance }, needs: [] },
  UpdateAutoScalingGroup: {
    api: "autoscaling",
    fields: {
      ...{ AutoScalingGroupName: text, "LaunchTemplate.LaunchTemplateId": launchTemplate },
      "LaunchTemplate.Version": /^(\d+|\$Latest|\$Default)$/,
      [`${mixed}.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateId`]: launchTemplate,
      [`${mixed}.LaunchTemplate.LaunchTemplateSpecification.Version`]: /^(\d+|\$Latest|\$Default)$/,
      [`${mixed}.LaunchTemplate.Overrides.member.N.InstanceType`]: text,
      [`${mixed}.LaunchTemplate.Overrides.member.N.WeightedCapacity`]: /^\d{1,3}$/,
      [`${mixed}.InstancesDistribution.OnDemandBaseCapacity`]: /^\d+$/,
      [`${mixed}.InstancesDistribution.OnDemandPercentageAboveBaseCapacity`]: /^(\d\d?|100)$/,
      [`${mixed}.InstancesDistribution.SpotAllocationStrategy`]: /^(capacity|price|lowest)-[a-z-]+$/,
      [`${mixed}.InstancesDistribution.OnDemandAllocationStrategy`]: /^(prioritized|lowest-price)$/,
    },
    needs: ["AutoScalingGroupName"],
  },
  DescribeLifecycleHooks: {
    api: "autoscaling",
    fields: { AutoScalingGroupName: text },
    needs: ["AutoScalingGroupName"],
  },
  SuspendProcesses: processes,
  ResumeProcesses: processes,
  LaunchInstances: {
    api: "autoscaling",
    fields: {
      ...{ AutoScalingGroupName: text, RequestedCapacity: /^[1-9]\d*$/, ClientToken: hash },
      ...{ "AvailabilityZones.member.1": text, RetryStrategy: /^(none|retry-with-group-configuration)$/ },
    },
    needs: ["AutoScalingGroupName", "RequestedCapacity", "ClientToken"],
  },
  TerminateInstanceInAutoScalingGroup: {
    api: "autoscaling",
    fields: { InstanceId: instance, ShouldDecrementDesiredCapacity: flag },
    needs: ["InstanceId", "ShouldDecrementDesiredCapacity"],
  },
  DescribeInstances: { api: "ec2", fields: { ...filters, "InstanceId.N": instance }, needs: [] },
  CreateTags: {
    api: "ec2",
    fields: { "ResourceId.N": instance, "Tag.N.Key": /^(?!aws:).{1,128}$/, "Tag.N.Value": /^.{0,256}$/ },
    needs: ["ResourceId.1", "Tag.1.Key"],
  },
  DescribeLaunchTemplateVersions: {
    api: "ec2",
    fields: {
      LaunchTemplateId: launchTemplate,
      "LaunchTemplateVersion.N": /^(\d+|\$Latest|\$Default)$/,
      NextToken: text,
    },
    needs: ["LaunchTemplateId"],
  },
  DeleteLaunchTemplateVersions: {
    api: "ec2",
    fields: { LaunchTemplateId: launchTemplate, "LaunchTemplateVersion.N": /^\d+$/ },
    needs: ["LaunchTemplateId", "LaunchTemplateVersion.1"],
  },
  CreateLaunchTemplateVersion: {
    api: "ec2",
    fields: {
      ...{ LaunchTemplateId: launchTemplate, SourceVersion: /^\d+$/, ClientToken: hash },
      VersionDescription: /^.{0,255}$/,
      ...{ "LaunchTemplateData.ImageId": text, [`${disk}.DeviceName`]: text, [`${disk}.Ebs.SnapshotId`]: text },
      [`${disk}.Ebs.VolumeSize`]: /^\d+$/,
    },
    needs: ["LaunchTemplateId"],
  },
};

const versions: Record<Api, string> = { autoscaling: "2011-01-01", ec2: "2016-11-15" };

/** Returns the API that a request is for; throws for an invalid request. */
export function judge(form: URLSearchParams, authorization: string): Api {
  const name = form.get("Action") ?? "";
  const action = actions[name];
  if (!action) throw new AwsWrong("InvalidAction", `no action "${name}"`);
  if (form.get("Version") !== versions[action.api]) throw new AwsWrong("InvalidAction", `${name} of another version`);
  const scope = new RegExp(`^AWS4-HMAC-SHA256 Credential=[^/]+/\\d{8}/[a-z0-9-]+/${action.api}/aws4_request,`);
  if (!scope.test(authorization)) throw new AwsWrong("IncompleteSignature", `${name} is not signed for its API`);
  for (const [field, value] of form) {
    if (field !== "Action" && field !== "Version") checkField(name, field, value);
  }
  const missing = action.needs.find((field) => !form.has(field));
  if (missing !== undefined) throw new AwsWrong("MissingParameter", `${name} without "${missing}"`);
  return action.api;
}

function checkField(name: string, field: string, value: string): void {
  const pattern = actions[name]?.fields[field] ?? actions[name]?.fields[field.replaceAll(/\.\d+/g, ".N")];
  if (!pattern) throw new AwsWrong("UnknownParameter", `${name} has no field "${field}"`);
  if (!pattern.test(value)) throw new AwsWrong("InvalidParameterValue", `${name} with a wrong "${field}"`);
}
