/** Mixed instances policies: AWS launches single instances only for a policy that buys all instances the same way. */
import type {
  AutoScalingGroup,
  LaunchTemplateOverrides,
  LaunchTemplateSpecification,
  MixedInstancesPolicy,
} from "@aws-sdk/client-auto-scaling";

/** Returns the launch template and the version that a group boots, from its policy or else its own settings. */
export function specificationOf(
  { LaunchTemplate, MixedInstancesPolicy }: AutoScalingGroup,
): LaunchTemplateSpecification | undefined {
  return MixedInstancesPolicy ? MixedInstancesPolicy.LaunchTemplate?.LaunchTemplateSpecification : LaunchTemplate;
}

/** Returns the change that lets a group boot a version. It repeats the policy, as AWS may drop what an update omits. */
export function bootChange(
  { MixedInstancesPolicy: policy }: AutoScalingGroup,
  LaunchTemplate: LaunchTemplateSpecification,
): { LaunchTemplate: LaunchTemplateSpecification } | { MixedInstancesPolicy: MixedInstancesPolicy } {
  if (!policy) return { LaunchTemplate };
  const template = { ...policy.LaunchTemplate, LaunchTemplateSpecification: LaunchTemplate };
  return { MixedInstancesPolicy: { ...policy, LaunchTemplate: template } };
}

/** Returns why Ostler cannot roll a group with this policy; undefined if it can. */
export function mixtureOf({ InstancesDistribution = {}, LaunchTemplate }: MixedInstancesPolicy): string | undefined {
  const { OnDemandBaseCapacity: base = 0, OnDemandPercentageAboveBaseCapacity: percentage = 100 } =
    InstancesDistribution;
  if ((InstancesDistribution.DistributionSegments ?? []).length > 0) {
    return "its mixed instances policy has DistributionSegments; remove them";
  }
  if (percentage !== 100 && (percentage !== 0 || base !== 0)) {
    return `its mixed instances policy buys On-Demand and Spot Instances (base ${base}, then ${percentage} % ` +
      "On-Demand); set OnDemandPercentageAboveBaseCapacity to 100, or both it and OnDemandBaseCapacity to 0";
  }
  const override = (LaunchTemplate?.Overrides ?? []).map(overrideTrouble).find((each) => each !== undefined);
  return override && `an override of its mixed instances policy has ${override}`;
}

function overrideTrouble(
  { LaunchTemplateSpecification, ImageId, WeightedCapacity = "1" }: LaunchTemplateOverrides,
): string | undefined {
  if (LaunchTemplateSpecification) return "a launch template of its own; remove it";
  if (ImageId) return "an image of its own; remove it";
  // Ostler counts instances, and a weight makes the group's size a number of other units.
  return WeightedCapacity === "1" ? undefined : `weight ${WeightedCapacity}; remove the weights`;
}
