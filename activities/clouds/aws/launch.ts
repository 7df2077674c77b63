/**
 * Launches one instance for a token, for all callers and retries: AWS stores the token with the instance and its zone.
 */
import type { AutoScalingGroup, LaunchInstancesResult } from "@aws-sdk/client-auto-scaling";
import { createHash } from "node:crypto";
import { refused, unavailable } from "../../failures.ts";
import { type AwsApi, failureOf } from "./api.ts";
import { nameOf } from "./groups.ts";
import { orderTag, providerIdOf } from "./instance_of.ts";

export type Launched =
  | { outcome: "Launched"; providerId: string; zone: string }
  | { outcome: "NoCapacity"; says: string };

interface Launch {
  group: AutoScalingGroup;
  token: string;
  clusterTag: string;
  /** The zone that the instance must have; any zone if the group does not have this one. */
  zone?: string;
}

/** Error codes of a zone or an account without capacity. */
const noRoom = [
  ...["InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity"],
  ...["InsufficientCapacity", "InsufficientCapacityOnHost", "InsufficientCapacityOnOutpost", "UnfulfillableCapacity"],
  ...["InsufficientVolumeCapacity", "InsufficientAddressCapacity", "InsufficientFreeAddressesInSubnet"],
  ...["InstanceLimitExceeded", "VcpuLimitExceeded", "VolumeLimitExceeded", "MaxIOPSLimitExceeded", "HostLimitExceeded"],
  ...["NetworkInterfaceLimitExceeded", "MaxSpotInstanceCountExceeded", "SpotMaxPriceTooLow"],
  ...["ReservationCapacityExceeded", "Unsupported"],
];

/** Maximum characters of a tag's value. */
const longest = 256;

/** Throws Refused for a token that does not fit in a tag. */
export function checkToken({ group, token }: { group: string; token: string }): void {
  if (token.length <= longest) return;
  const state = `its token "${token}" is stored as a tag of at most ${longest} characters`;
  throw refused("CloudRefused", `Failed to order an instance of "${group}": ${state}`);
}

/**
 * Launches in the ordered zone only; without one it tries zones until one has capacity, the emptiest first. A launch
 * must name its zone, and a token that was used for another zone launches nothing, so a retry cannot launch a second
 * instance in a different zone. Returns once the
 * instance has the token as a tag, as AWS forgets tokens.
 */
export async function launchOnce(api: AwsApi, launch: Launch): Promise<Launched> {
  const attempt = `order an instance of "${nameOf(launch.group)}"`;
  const says: string[] = [];
  for (const zone of zonesFor(launch)) {
    const answer = await launchIn(api, { ...launch, zone, attempt });
    if (!answer) continue;
    const [launched] = answer.Instances ?? [];
    const [id] = launched?.InstanceIds ?? [];
    if (id) return await marked(api, { id, zone: launched?.AvailabilityZone ?? zone, token: launch.token });
    if (!answer.Errors?.length) throw unavailable(`Failed to ${attempt}: AWS reports neither an instance nor an error`);
    says.push(...answer.Errors.map(({ ErrorCode, ErrorMessage }) => lineOf(attempt, ErrorCode, ErrorMessage)));
    if (zone === launch.zone) break;
  }
  if (says.length > 0) return { outcome: "NoCapacity", says: says.join("; ") };
  throw refused(
    "CloudRefused",
    `Failed to ${attempt}: order "${launch.token}" was placed in a zone that the group no longer has`,
  );
}

/** Returns undefined if the token was used for another zone. */
async function launchIn(
  api: AwsApi,
  { group, token, clusterTag, zone, attempt }: Launch & { zone: string; attempt: string },
): Promise<LaunchInstancesResult | undefined> {
  const AutoScalingGroupName = nameOf(group);
  // Tokens of Ostler may be longer than AWS accepts, and other clusters of the account may use the same ones.
  const ClientToken = createHash("sha256").update(`${clusterTag} ${AutoScalingGroupName} ${token}`).digest("hex");
  const asked = { AutoScalingGroupName, RequestedCapacity: 1, ClientToken, AvailabilityZones: [zone] };
  const absent = ["IdempotentParameterMismatch"];
  return await api.find({
    ...{ attempt, absent },
    call: ({ scaling }, options) => scaling.launchInstances(asked, options),
  });
}

/** Returns the message for a zone without capacity. Throws the failure of any other error. */
function lineOf(attempt: string, code = "Unknown", message = ""): string {
  const line = `${code}: ${message.slice(0, 500)}`;
  if (noRoom.includes(code)) return line;
  throw failureOf({ name: code, status: 400, line: `Failed to ${attempt}: ${line}` });
}

async function marked(
  api: AwsApi,
  { id, zone, token }: { id: string; zone: string; token: string },
): Promise<Launched> {
  const asked = { Resources: [id], Tags: [{ Key: orderTag, Value: token }] };
  const answer = await api.find({
    attempt: `tag instance "${id}" with its token "${token}"`,
    absent: ["InvalidInstanceID.NotFound"],
    call: ({ ec2 }, options) => ec2.createTags(asked, options),
  });
  if (answer) return { outcome: "Launched", providerId: providerIdOf(zone, id), zone };
  throw unavailable(`Failed to tag instance "${id}" with its token "${token}": EC2 does not list the instance yet`);
}

/** Returns the ordered zone first; the others follow for a token that was used before its order had a zone. */
function zonesFor({ group: { AvailabilityZones = [], Instances = [] }, zone: asked }: Launch): string[] {
  const number = (zone: string): number => Instances.filter((each) => each.AvailabilityZone === zone).length;
  const rank = (zone: string): number => zone === asked ? -1 : number(zone);
  return [...AvailabilityZones].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
