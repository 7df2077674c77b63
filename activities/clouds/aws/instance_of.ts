/**
 * Combines the states of an instance in EC2 and in its Auto Scaling group, in the form that is common to all clouds.
 */
import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import type { Instance, InstanceState } from "../driver.ts";

/** Tag with the token of an instance's order. */
export const orderTag = "ostler-order";
/** Tag that a group adds to its instances, and removes from an instance that is detached alive. */
export const groupTag = "aws:autoscaling:groupName";

/** The state of an instance as its group reports it. */
export interface Membership {
  InstanceId?: string | undefined;
  LifecycleState?: string | undefined;
  HealthStatus?: string | undefined;
  ProtectedFromScaleIn?: boolean | undefined;
}

const states: Readonly<Record<string, InstanceState>> = {
  ...{ pending: "Creating", running: "Ready", stopping: "Stopped", stopped: "Stopped" },
  ...{ "shutting-down": "Terminating", terminated: "Terminated" },
};

export function instanceOf(found: Ec2Instance, member: Membership | undefined): Instance {
  const [zone, token] = [found.Placement?.AvailabilityZone, tagOf(found, orderTag)];
  return {
    ...{ providerId: providerIdOf(zone, found.InstanceId), group: tagOf(found, groupTag) ?? "" },
    ...{ node: found.PrivateDnsName ?? "", state: stateOf(found, member), trouble: troubleOf(found, member) },
    ...{ image: found.ImageId ?? "", addresses: found.PrivateIpAddress ? [found.PrivateIpAddress] : [] },
    ...(token === undefined ? {} : { token }),
    ...(zone ? { zone } : {}),
    isProtected: (member?.ProtectedFromScaleIn ?? false) || (member !== undefined && isInStandby(member)),
    since: (found.LaunchTime ?? new Date(0)).toISOString(),
  };
}

export function tagOf({ Tags }: Ec2Instance, key: string): string | undefined {
  return Tags?.find(({ Key }) => Key === key)?.Value;
}

export function providerIdOf(zone = "", instance = ""): string {
  return `aws:///${zone}/${instance}`;
}

/** Returns undefined for an id that is not of an AWS instance. */
export function instanceIdOf(providerId: string): string | undefined {
  return /^aws:\/\/\/[^/]*\/(i-[0-9a-z]+)$/.exec(providerId)?.[1];
}

/**
 * Returns whether an instance is in standby, or enters it. AWS neither counts such an instance in the desired capacity,
 * nor launches another when it is terminated.
 */
export function isInStandby({ LifecycleState }: Membership): boolean {
  return LifecycleState?.endsWith("Standby") ?? false;
}

function isLeaving(member: Membership | undefined): boolean {
  return member?.LifecycleState?.startsWith("Terminat") ?? false;
}

/**
 * Returns the state that EC2 reports, or "Terminating" if the group reports a termination, which it does before EC2.
 */
function stateOf({ State }: Ec2Instance, member: Membership | undefined): InstanceState {
  const state = states[State?.Name ?? ""] ?? "Unknown";
  return state !== "Terminated" && isLeaving(member) ? "Terminating" : state;
}

function troubleOf({ State, StateReason }: Ec2Instance, member: Membership | undefined): string {
  const health = member?.HealthStatus ?? "";
  if (health !== "" && health.toLowerCase() !== "healthy") return `the group reports the instance as ${health}`;
  return State?.Name === "stopped" ? StateReason?.Code ?? "" : "";
}
