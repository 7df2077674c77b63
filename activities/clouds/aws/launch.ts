/** Launches one instance for a token, however many callers and retries order it. */
import type { AutoScalingGroup, LaunchInstancesError, LaunchInstancesResult } from "@aws-sdk/client-auto-scaling";
import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import { createHash } from "node:crypto";
import { failureTypeOf, refused, unavailable } from "../../failures.ts";
import type { Journal } from "../driver.ts";
import { type AwsApi, failureOf } from "./api.ts";
import { attemptsIn, type OpenAttempt, textOf } from "./attempts.ts";
import { nameOf } from "./groups.ts";
import { orderTag, providerIdOf, tagOf } from "./instance_of.ts";

export type Launched =
  | { outcome: "Launched"; providerId: string; zone: string }
  | { outcome: "NoCapacity"; says: string };

interface Launch {
  group: AutoScalingGroup;
  token: string;
  clusterTag: string;
  /** The zone that the instance must have; any zone if the group does not have this zone. */
  zone?: string;
  journal: Journal;
  /** Lists the instances of the group. */
  listed: () => Promise<Ec2Instance[]>;
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
  const state = `the order's token "${token}" is longer than the ${longest} characters of a tag's value`;
  throw refused("CloudRefused", `Failed to order an instance of "${group}": ${state}`);
}

/**
 * Milliseconds after an attempt in which its request may be repeated. AWS does not publish how long it remembers a
 * token, and a repeated request with a forgotten token launches a second instance.
 */
const repeatMs = 600_000;
/** Maximum difference between clocks, and the time in which EC2 may not list a new instance, in milliseconds. */
const [skewMs, lagMs] = [300_000, 120_000];
/**
 * Steps after which the caller must retry: another process keeps changing the journal, the record of the order's
 * attempts.
 */
const mostSteps = 100;

/**
 * Launches only in the ordered zone; without an ordered zone, tries all zones until one has capacity, the zone with the
 * fewest instances first. Each attempt has its own token, because AWS may remember the failure of a token. The journal
 * records the attempt before its request, so that all callers and retries repeat the same attempt until its result is
 * known. Returns once the instance has the order's token as a tag.
 */
export async function launchOnce(api: AwsApi, launch: Launch): Promise<Launched> {
  const attempt = `order an instance of "${nameOf(launch.group)}"`;
  const says = new Map<string, string>();
  // The journal's text, if this call opened an attempt and has not sent its request yet.
  let opened: string | undefined;
  for (let step = 0; step < mostSteps; step++) {
    const text = await launch.journal.read();
    const { number, open } = attemptsIn(text);
    if (!open) {
      const zone = zonesFor(launch).find((each) => !says.has(each));
      if (zone === undefined) return { outcome: "NoCapacity", says: [...says.values()].join("; ") };
      const next = { number: number + 1, open: { zone, since: Date.now() } };
      if (await launch.journal.write({ from: text, to: textOf(next) })) opened = textOf(next);
      continue;
    }
    const isFirst = text === opened;
    opened = undefined;
    const answer = await answerOf(api, { ...launch, ...open, number, attempt }).catch(async (error: unknown) => {
      // A refused first request launched nothing; before a refused repetition, an earlier request may have launched an
      // instance.
      const isUnlaunched = isFirst && ["AccessDenied", "CloudRefused"].includes(failureTypeOf(error));
      if (isUnlaunched) await launch.journal.write({ from: text, to: textOf({ number, open: undefined }) });
      throw error;
    });
    if (answer && "id" in answer) {
      if (await launch.journal.read() !== text) await removeSurplus(api, answer.id, attempt);
      return await marked(api, { ...answer, token: launch.token });
    }
    if (!await launch.journal.write({ from: text, to: textOf({ number, open: undefined }) })) continue;
    const lines = answer?.errors.map(({ ErrorCode, ErrorMessage }) => lineOf(attempt, ErrorCode, ErrorMessage));
    if (lines) says.set(open.zone, lines.join("; "));
  }
  throw unavailable(`Failed to ${attempt}: another process keeps changing the record of this order's attempts`);
}

/**
 * Finds out whether an open attempt launched an instance, and starts no other attempt. An instance gets the order's
 * token as a tag; without an instance, the attempt is closed in the journal.
 */
export async function endAttempt(api: AwsApi, launch: Omit<Launch, "zone">): Promise<void> {
  const text = await launch.journal.read();
  const { number, open } = attemptsIn(text);
  if (!open) return;
  const attempt = `find out whether an unfinished launch attempt in "${nameOf(launch.group)}" created an instance`;
  const answer = await answerOf(api, { ...launch, ...open, number, attempt }).catch((error: Error) => {
    // A refusal is thrown as Transient, because an earlier request of the attempt may have launched an instance, which
    // the list of instances shows some minutes later.
    throw failureTypeOf(error) === "CloudRefused" ? unavailable(error.message) : error;
  });
  if (answer && "id" in answer) await marked(api, { ...answer, token: launch.token });
  else await launch.journal.write({ from: text, to: textOf({ number, open: undefined }) });
}

/** Closes the open attempt of a journal; for an attempt that launched no instance, or whose instance is terminating. */
export async function closeJournal(journal: Journal): Promise<void> {
  const text = await journal.read();
  await journal.write({ from: text, to: textOf({ number: attemptsIn(text).number, open: undefined }) });
}

interface Asked extends Omit<Launch, "zone">, OpenAttempt {
  number: number;
  attempt: string;
}

type Answer = { id: string; zone: string } | { errors: LaunchInstancesError[] };

/** Returns the result of an open attempt; undefined if it launched nothing. */
async function answerOf(api: AwsApi, asked: Asked): Promise<Answer | undefined> {
  const { group: { AvailabilityZones = [] }, zone, since, attempt } = asked;
  const isRepeatable = Date.now() < since + repeatMs && AvailabilityZones.includes(zone);
  const answer = isRepeatable ? await launchIn(api, asked) : undefined;
  if (!answer) return await launchedBefore(asked);
  const { Instances: [launched] = [], Errors: errors = [] } = answer;
  const [id] = launched?.InstanceIds ?? [];
  if (id) return { id, zone: launched?.AvailabilityZone ?? zone };
  if (errors.length > 0) return { errors };
  throw unavailable(`Failed to ${attempt}: AWS reports neither an instance nor an error`);
}

/**
 * Sends the request of an attempt, and returns the answer; undefined if AWS knows the attempt's token from a request
 * with different parameters, which another version of Ostler may have sent.
 */
async function launchIn(
  api: AwsApi,
  { group, token, clusterTag, zone, number, attempt }: Asked,
): Promise<LaunchInstancesResult | undefined> {
  const AutoScalingGroupName = nameOf(group);
  // AWS gets a hash, because a token may be longer than AWS accepts, and other clusters of the account may use the same
  // token.
  const named = JSON.stringify([clusterTag, AutoScalingGroupName, token, zone, number]);
  const ClientToken = createHash("sha256").update(named).digest("hex");
  const asked = { AutoScalingGroupName, RequestedCapacity: 1, ClientToken, AvailabilityZones: [zone] };
  const absent = ["IdempotentParameterMismatch"];
  return await api.find({
    ...{ attempt, absent },
    call: ({ scaling }, options) => scaling.launchInstances(asked, options),
  });
}

/**
 * Finds the instance of an attempt whose request cannot be repeated: the instance with the order's token as a tag, or
 * else the first untagged instance that was launched in the attempt's zone and time; undefined if there is none. Throws
 * Transient until EC2 lists all instances of that time, and all other orders have tagged those that they launched.
 */
async function launchedBefore({ listed, token, zone, since, attempt }: Asked): Promise<Answer | undefined> {
  const last = since + repeatMs + skewMs;
  if (Date.now() < last + lagMs) {
    const state = `the result of the launch in zone "${zone}" is unknown until ${new Date(last + lagMs).toISOString()}`;
    throw unavailable(`Failed to ${attempt}: ${state}`);
  }
  const launchedAt = ({ LaunchTime }: Ec2Instance): number => LaunchTime?.getTime() ?? 0;
  const all = await listed();
  const own = all.find((each) => tagOf(each, orderTag) === token);
  if (own) return { id: own.InstanceId ?? "", zone: own.Placement?.AvailabilityZone ?? zone };
  const [found] = all
    .filter((each) => each.Placement?.AvailabilityZone === zone && tagOf(each, orderTag) === undefined)
    .filter((each) => ["pending", "running"].includes(each.State?.Name ?? ""))
    .filter((each) => launchedAt(each) >= since - skewMs && launchedAt(each) <= last)
    .sort((one, other) => launchedAt(one) - launchedAt(other));
  return found && { id: found.InstanceId ?? "", zone };
}

/** Removes an instance because another process closed its launch attempt meanwhile. Always throws Transient. */
async function removeSurplus(api: AwsApi, id: string, attempt: string): Promise<never> {
  const asked = { InstanceId: id, ShouldDecrementDesiredCapacity: true };
  await api.ask({
    attempt: `remove surplus instance "${id}"`,
    call: ({ scaling }, options) => scaling.terminateInstanceInAutoScalingGroup(asked, options),
  });
  throw unavailable(
    `Failed to ${attempt}: another process closed the attempt that launched "${id}", so "${id}" was removed`,
  );
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

/** Returns the ordered zone, if the group has it; else all zones of the group, the emptiest first. */
function zonesFor({ group: { AvailabilityZones = [], Instances = [] }, zone: asked }: Launch): string[] {
  if (asked !== undefined && AvailabilityZones.includes(asked)) return [asked];
  const number = (zone: string): number => Instances.filter((each) => each.AvailabilityZone === zone).length;
  return [...AvailabilityZones].sort((a, b) => number(a) - number(b) || (a < b ? -1 : 1));
}
