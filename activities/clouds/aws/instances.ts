/** Instances of groups: reads them from EC2 and from their group, and orders and removes each once. */
import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import { failureTypeOf, refused, unavailable } from "../../failures.ts";
import { groupKeyOf, type Instance, type Journal, type Ordered } from "../driver.ts";
import type { AwsApi } from "./api.ts";
import { type AwsGroups, isHalted, nameOf } from "./groups.ts";
import { groupTag, instanceIdOf, instanceOf, isInStandby, type Membership, orderTag, tagOf } from "./instance_of.ts";
import { checkToken, closeJournal, endAttempt, launchOnce } from "./launch.ts";
import { isWaiting, readHook } from "./hooks.ts";
import type { AwsTemplates } from "./templates.ts";

interface Ground {
  groups: AwsGroups;
  templates: AwsTemplates;
  clusterTag: string;
}

interface Found {
  instance: Ec2Instance;
  member: Membership | undefined;
}

/** Instances in one answer: the maximum of AWS. */
const MaxResults = 1_000;

export class AwsInstances {
  readonly #journals = new Map<string, string>();

  constructor(private readonly api: AwsApi, private readonly ground: Ground) {}

  /** Lists the instances of a group that are not terminated, by launch time (in whole seconds) and then by id. */
  async list(group: string): Promise<Instance[]> {
    const found = await this.ground.groups.need(group);
    const members = new Map(found.Instances?.map((each) => [each.InstanceId, each]));
    const all = await this.#tagged({ [groupTag]: nameOf(found) });
    const waitsFor = found.Instances?.some(isWaiting) ? await readHook(this.api, nameOf(found)) : undefined;
    const seen = all.map((each): Instance => {
      const member = members.get(each.InstanceId);
      return { ...instanceOf(each, member), ...(waitsFor && member && isWaiting(member) ? { waitsFor } : {}) };
    });
    const order = ({ since, providerId }: Instance): string => `${since} ${instanceIdOf(providerId)}`;
    return seen.filter(({ state }) => state !== "Terminated").sort((a, b) => order(a) < order(b) ? -1 : 1);
  }

  async find(providerId: string): Promise<Instance | undefined> {
    const found = await this.#look(providerId);
    return found && instanceOf(found.instance, found.member);
  }

  /**
   * Returns the instance that has the token as a tag, or launches it. Until the tag is visible, the attempt in the
   * journal identifies the instance.
   */
  async order(
    { group, token, zone: asked, journal = this.#remembered(group, token) }: {
      group: string;
      token: string;
      zone?: string;
      journal?: Journal;
    },
  ): Promise<Ordered> {
    checkToken({ group, token });
    const found = await this.ground.groups.need(group);
    const [known] = await this.#tagged({ [groupTag]: nameOf(found), [orderTag]: token });
    if (known) return { outcome: "Ordered", instance: instanceOf(known, undefined) };
    const listed = (): Promise<Ec2Instance[]> => this.#tagged({ [groupTag]: nameOf(found) });
    const launch = { group: found, token, clusterTag: this.ground.clusterTag, journal, listed };
    const launched = await launchOnce(this.api, { ...launch, ...(asked ? { zone: asked } : {}) });
    if (launched.outcome === "NoCapacity") return launched;
    const seen = await this.find(launched.providerId);
    if (seen) return { outcome: "Ordered", instance: { ...seen, token } };
    const { image } = await this.ground.templates.booted(nameOf(found));
    const { providerId, zone } = launched;
    // The instance is described by its order, because EC2 does not list it yet.
    const instance = { providerId, group: nameOf(found), node: "", state: "Creating" as const, trouble: "", image };
    const since = new Date().toISOString();
    return { outcome: "Ordered", instance: { ...instance, addresses: [], token, zone, isProtected: false, since } };
  }

  /**
   * Finds out whether an open attempt of an order launched an instance; starts no other attempt. Closes the attempt if
   * it launched none, or if its instance is terminating.
   */
  async end({ group, token, journal }: { group: string; token: string; journal: Journal }): Promise<void> {
    const found = await this.ground.groups.need(group);
    const [known] = await this.#tagged({ [groupTag]: nameOf(found), [orderTag]: token });
    const listed = (): Promise<Ec2Instance[]> => this.#tagged({ [groupTag]: nameOf(found) });
    if (!known) {
      return await endAttempt(this.api, { group: found, token, clusterTag: this.ground.clusterTag, journal, listed });
    }
    if (["Terminating", "Terminated"].includes(instanceOf(known, undefined).state)) await closeJournal(journal);
  }

  /** Returns a journal in this process's memory, for an order that comes without one. */
  #remembered(group: string, token: string): Journal {
    const key = JSON.stringify([groupKeyOf(group), token]);
    const read = (): string => this.#journals.get(key) ?? "";
    return {
      read: () => Promise.resolve(read()),
      write: ({ from, to }) => {
        const isSame = read() === from;
        if (isSame) this.#journals.set(key, to);
        return Promise.resolve(isSame);
      },
    };
  }

  /**
   * Terminates an instance. Does not repeat the request for an instance that is terminating already, because with
   * `shrinks` each request would decrease the group's size.
   */
  async remove(
    { group, providerId, shrinks }: { group: string; providerId: string; shrinks: boolean },
  ): Promise<"Going" | "Gone"> {
    const found = await this.#look(providerId);
    const end = endOf(found);
    if (!found || end) return end ?? "Gone";
    const { instance, member } = found;
    const attempt = `remove instance "${providerId}"`;
    if (groupKeyOf(tagOf(instance, groupTag) ?? "") !== groupKeyOf(group)) {
      throw refused("CloudRefused", `Failed to ${attempt}: the instance does not belong to group "${group}"`);
    }
    if (!member) throw unavailable(`Failed to ${attempt}: group "${group}" does not list the instance yet`);
    if (!shrinks && isHalted(await this.ground.groups.need(group))) {
      throw refused(
        "CloudRefused",
        `Failed to ${attempt}: group "${group}" cannot replace the instance; resume its suspended process Launch`,
      );
    }
    // The desired capacity does not count an instance in standby, so a decrease would end an instance that serves.
    return await this.#terminate({ providerId, attempt, shrinks: shrinks && !isInStandby(member) });
  }

  async #terminate(
    { providerId, attempt, shrinks }: { providerId: string; attempt: string; shrinks: boolean },
  ): Promise<"Going" | "Gone"> {
    const asked = { InstanceId: instanceIdOf(providerId), ShouldDecrementDesiredCapacity: shrinks };
    try {
      await this.api.ask({
        attempt,
        call: ({ scaling }, options) => scaling.terminateInstanceInAutoScalingGroup(asked, options),
      });
      return "Going";
    } catch (error) {
      // AWS also refuses if another client terminated the instance first.
      const end = failureTypeOf(error) === "CloudRefused" ? endOf(await this.#look(providerId)) : undefined;
      if (end) return end;
      throw error;
    }
  }

  /**
   * Reads the instance from EC2 and from its group. Returns undefined for a terminated instance, which EC2 lists for an
   * hour.
   */
  async #look(providerId: string): Promise<Found | undefined> {
    const id = instanceIdOf(providerId);
    if (id === undefined) return undefined;
    const attempt = `read instance "${providerId}"`;
    const absent = ["InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"];
    const InstanceIds = [id];
    const seen = await this.api.find({
      ...{ attempt, absent },
      call: ({ ec2 }, options) => ec2.describeInstances({ InstanceIds }, options),
    });
    const instance = seen?.Reservations?.[0]?.Instances?.[0];
    if (!instance || instance.State?.Name === "terminated") return undefined;
    const { AutoScalingInstances } = await this.api.ask({
      attempt,
      call: ({ scaling }, options) => scaling.describeAutoScalingInstances({ InstanceIds }, options),
    });
    return { instance, member: AutoScalingInstances?.[0] };
  }

  /**
   * Lists instances with these tags; the answer is filtered again, because AWS filters treat some characters as
   * wildcards.
   */
  async #tagged(tags: Record<string, string>): Promise<Ec2Instance[]> {
    const all = Object.entries(tags);
    const Filters = all.map(([key, value]) => ({ Name: `tag:${key}`, Values: [value.replaceAll(/[\\*?]/g, "\\$&")] }));
    const found = await this.api.all({
      page: ({ ec2 }, next, options) => ec2.describeInstances({ Filters, MaxResults, ...next }, options),
      of: (page) => page.Reservations?.flatMap(({ Instances = [] }) => Instances),
      attempt: "list instances",
    });
    return found.filter((each) => all.every(([key, value]) => tagOf(each, key) === value));
  }
}

/** Returns "Going" for an instance that is being terminated, and "Gone" for an absent one; undefined for any other. */
function endOf(found: Found | undefined): "Going" | "Gone" | undefined {
  if (!found) return "Gone";
  return instanceOf(found.instance, found.member).state === "Terminating" ? "Going" : undefined;
}
