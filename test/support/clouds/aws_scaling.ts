/** The Auto Scaling API over the simulated cloud. */
import { CloudRefusal } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import { type AwsGround, groupTag, isGoing } from "./aws_ground.ts";
import { AwsWrong } from "./aws_requests.ts";

type Group = ReturnType<AwsGround["cloud"]["groups"]>[number];

/** Fields of a group that AWS always returns. */
const always = { HealthCheckType: "EC2", DefaultCooldown: 300, CreatedTime: new Date(0).toISOString() };
const empty = { ...always, MinSize: 0, MaxSize: 0, DesiredCapacity: 0, AvailabilityZones: [] };

export class AwsScaling {
  /** The launches that AWS remembers, by token: the zone and the result of each. */
  readonly #launches = new Map<string, { zone: string; result: object }>();

  constructor(private readonly ground: AwsGround) {}

  DescribeAutoScalingGroups(form: URLSearchParams): object {
    const [name, wanted] = [form.get("Filters.member.1.Name"), form.get("Filters.member.1.Values.member.1")];
    const asked = form.get("AutoScalingGroupNames.member.1");
    const own = this.ground.cloud.groups().filter((group) =>
      asked === null
        ? name === null || this.ground.tagsOf(group).some(([key, value]) => `tag:${key}` === name && value === wanted)
        : group.id === asked
    );
    const others = asked === null && name === null ? this.ground.strangers : [];
    const all = [...own.map((group) => this.#shown(group)), ...others.map((each) => ({ ...empty, ...each }))];
    // One item per page, so that a client that reads only the first page fails its test.
    const at = Number(form.get("NextToken") ?? 0);
    const next = at + 1 < all.length ? { NextToken: at + 1 } : {};
    return { AutoScalingGroups: all.slice(at, at + 1), ...next };
  }

  DescribeAutoScalingInstances(form: URLSearchParams): object {
    const id = form.get("InstanceIds.member.1") ?? "";
    const found = this.ground.visible().find((each) => this.ground.idOf(each) === id && each.state !== "Terminated");
    if (!found) return { AutoScalingInstances: [] };
    const AutoScalingGroupName = this.#nameOf(found.group);
    return { AutoScalingInstances: [{ AutoScalingGroupName, ...this.#member(found) }] };
  }

  UpdateAutoScalingGroup(form: URLSearchParams): object {
    const group = this.#need(form);
    const at = this.ground.mixed ? "MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification" : "LaunchTemplate";
    const [id, version] = [form.get(`${at}.LaunchTemplateId`), form.get(`${at}.Version`) ?? ""];
    // AWS stores a policy as it is sent: a field that an update omits is lost.
    if (this.ground.mixed && id) this.ground.mixed = policyIn(form);
    if (id === this.ground.launchTemplateOf(group)) this.ground.setVersion(group, version);
    else if (id) throw new AwsWrong("ValidationError", `no launch template ${id}`);
    return {};
  }

  DescribeLifecycleHooks(form: URLSearchParams): object {
    this.#need(form);
    return { LifecycleHooks: this.ground.hooks };
  }

  SuspendProcesses(form: URLSearchParams): object {
    this.ground.suspended(this.#need(form)).add(form.get("ScalingProcesses.member.1") ?? "");
    return {};
  }

  ResumeProcesses(form: URLSearchParams): object {
    this.ground.suspended(this.#need(form)).delete(form.get("ScalingProcesses.member.1") ?? "");
    return {};
  }

  LaunchInstances(form: URLSearchParams): object {
    const group = this.#need(form);
    const [token, zone] = [form.get("ClientToken") ?? "", form.get("AvailabilityZones.member.1") ?? ""];
    if (!group.zones.includes(zone)) throw new AwsWrong("ValidationError", `no zone "${zone}" in the group`);
    const used = this.ground.isForgetful ? undefined : this.#launches.get(token);
    if (used && used.zone !== zone) throw new AwsWrong("IdempotentParameterMismatch", "used for another zone");
    const result = used?.result ?? this.#launch(group, token, zone);
    if (this.ground.remembersErrors || !("Errors" in result)) this.#launches.set(token, { zone, result });
    return { AutoScalingGroupName: this.#nameOf(group.id), ClientToken: token, Instances: [], Errors: [], ...result };
  }

  #launch(group: Group, token: string, zone: string): object {
    const { launchErrors } = this.ground;
    const errorOf = (ErrorCode: string, ErrorMessage: string): object => ({
      ...{ AvailabilityZone: zone, ErrorCode, ErrorMessage },
    });
    if (launchErrors) return { Errors: launchErrors.map((code) => errorOf(code, "it failed")) };
    try {
      if (this.ground.fullZones.includes(zone)) throw new CloudRefusal("NoCapacity", `zone ${zone} is full`);
      const made = this.ground.launch(group, { token, zone });
      const InstanceIds = [this.ground.idOf(made)];
      return { Instances: [{ InstanceType: "m5.large", AvailabilityZone: zone, InstanceIds }] };
    } catch (error) {
      if (!(error instanceof CloudRefusal)) throw error;
      if (error.reason !== "NoCapacity") throw new AwsWrong("ValidationError", error.message);
      return { Errors: [errorOf("InsufficientInstanceCapacity", error.message)] };
    }
  }

  TerminateInstanceInAutoScalingGroup(form: URLSearchParams): object {
    const found = this.ground.find(form.get("InstanceId") ?? "");
    if (!found || found.state === "Terminated" || this.ground.refusesEnds) {
      throw new AwsWrong("ValidationError", "Instance Id not found");
    }
    const shrinks = form.get("ShouldDecrementDesiredCapacity") === "true";
    const group = this.ground.cloud.group(found.group);
    // AWS does not promise that a second termination does nothing, so here it lowers the desired size again.
    if (isGoing(found) && shrinks && group) group.size -= 1;
    this.ground.cloud.remove(found.providerId, shrinks);
    const AutoScalingGroupName = this.#nameOf(found.group);
    const Cause = "an instance was taken out of service in response to a user request";
    const StartTime = new Date().toISOString();
    return { Activity: { ActivityId: "a", AutoScalingGroupName, Cause, StartTime, StatusCode: "InProgress" } };
  }

  #need(form: URLSearchParams): Group {
    const name = form.get("AutoScalingGroupName");
    const found = this.ground.cloud.groups().find(({ id }) => id === name);
    if (found) return found;
    throw new AwsWrong("ValidationError", `AutoScalingGroup name not found - no such group: ${name}`);
  }

  #nameOf(group: string): string {
    return this.ground.cloud.group(group)?.id ?? "";
  }

  #shown(group: Group): object {
    const LaunchTemplateId = this.ground.launchTemplateOf(group);
    const own = this.ground.visible().filter((each) => each.group === group.id && each.state !== "Terminated");
    return {
      ...{ AutoScalingGroupName: group.id, MinSize: group.min, MaxSize: group.max, DesiredCapacity: group.size },
      ...always,
      ...this.#booted({ LaunchTemplateId, LaunchTemplateName: "template", Version: this.ground.versionOf(group) }),
      ...{ AvailabilityZones: group.zones, ...this.#suspended(group) },
      Instances: own.map((each) => this.#member(each)),
      Tags: this.ground.tagsOf(group).filter(([key]) => key !== groupTag).map(([Key, Value]) => ({ Key, Value })),
      ...this.ground.properties,
    };
  }

  #suspended(group: Group): object {
    const SuspendedProcesses = [...this.ground.suspended(group)].map((ProcessName) => ({ ProcessName }));
    return SuspendedProcesses.length > 0 ? { SuspendedProcesses } : {};
  }

  #booted(specification: object): object {
    const { mixed } = this.ground;
    if (!mixed) return { LaunchTemplate: specification };
    const LaunchTemplate = { LaunchTemplateSpecification: specification, Overrides: mixed.Overrides };
    return { MixedInstancesPolicy: { LaunchTemplate, InstancesDistribution: mixed.InstancesDistribution } };
  }

  #member(each: ReturnType<AwsGround["visible"]>[number]): object {
    const LifecycleState = isGoing(each)
      ? this.ground.hooks.length > 0 ? "Terminating:Wait" : "Terminating"
      : this.ground.standby.has(each.providerId)
      ? "Standby"
      : each.state === "Creating"
      ? "Pending"
      : "InService";
    return {
      ...{ InstanceId: this.ground.idOf(each), AvailabilityZone: each.zone, LifecycleState },
      ...{ HealthStatus: each.trouble ? "UNHEALTHY" : "HEALTHY", ProtectedFromScaleIn: each.isProtected },
    };
  }
}

/** Returns the fields of a sent policy besides its launch template. */
function policyIn(form: URLSearchParams): NonNullable<AwsGround["mixed"]> {
  const fields = (start: string): [string, string][] =>
    [...form].flatMap(([key, value]) => key.startsWith(start) ? [[key.slice(start.length), value]] : []);
  const distribution = fields("MixedInstancesPolicy.InstancesDistribution.");
  const overrides: Record<string, unknown>[] = [];
  for (let nth = 1;; nth++) {
    const own = fields(`MixedInstancesPolicy.LaunchTemplate.Overrides.member.${nth}.`);
    if (own.length === 0) break;
    overrides.push(Object.fromEntries(own));
  }
  return {
    ...(overrides.length > 0 ? { Overrides: overrides } : {}),
    ...(distribution.length > 0 ? { InstancesDistribution: Object.fromEntries(distribution) } : {}),
  };
}
