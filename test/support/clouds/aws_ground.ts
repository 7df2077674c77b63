/** The state of both AWS APIs over the simulated cloud: AWS's IDs, tags, versions of launch templates, and lag. */
import type { CloudInstance, GroupCloud, Template } from "../../../deploy/local/cloud/groups/group_cloud.ts";

import { AwsWrong } from "./aws_requests.ts";

type Group = ReturnType<GroupCloud["groups"]>[number];

export interface AwsConditions {
  clusterTag: string;
  /** Milliseconds for which a new instance is hidden. */
  lagMs?: number;
  /** Whether a token stays used up after a launch that failed because its zone had no capacity. */
  remembersErrors?: boolean;
  /** Codes with which every launch fails, although the response itself is successful. */
  launchErrors?: readonly string[];
  /** Additional fields of each group in responses. */
  properties?: object;
  /** The MixedInstancesPolicy of each group, without its launch template. */
  mixed?: { Overrides?: Record<string, unknown>[]; InstancesDistribution?: Record<string, string | number> };
  /**
   * IDs of the existing images; by default any image exists. The double checks this only when a group is to boot an
   * image.
   */
  images?: readonly string[];
  /** Version of the launch template that groups use at first; by default "$Default". */
  version?: string;
}

export const groupTag = "aws:autoscaling:groupName";

export class AwsGround {
  /** Versions of launch templates with a higher number are hidden, as if not visible yet. */
  shownVersions = Infinity;
  /** Lifecycle hooks for which groups wait before they terminate an instance. */
  hooks: { LifecycleHookName: string; LifecycleTransition: string; HeartbeatTimeout: number }[] = [];
  /** Versions that a client deleted, as "<group>:<number>". */
  readonly deletedVersions = new Set<string>();
  /** Groups of other clusters. */
  strangers: object[] = [];
  /** Creation time of all versions of launch templates. */
  madeVersionsAt = new Date().toISOString();
  /** Whether groups refuse to terminate instances. */
  refusesEnds = false;
  /** Instances in standby, by their IDs in the simulated cloud; the sizes of groups do not count them. */
  readonly standby = new Set<string>();
  /** Zones without capacity. */
  fullZones: readonly string[] = [];
  /** The response to each request to launch, in place of a launch. */
  launchRefusal: { code: string; status: number } | undefined;
  /** Whether AWS has forgotten all tokens, so that a repeated request launches again. */
  isForgetful = false;
  #launches = 0;
  readonly #tags = new Map<string, Map<string, string>>();
  readonly #versions = new Map<string, string>();
  readonly #suspended = new Map<string, Set<string>>();
  /** The fields of each group's MixedInstancesPolicy, besides its launch template. */
  mixed: AwsConditions["mixed"];

  constructor(readonly cloud: GroupCloud, private readonly conditions: AwsConditions) {
    this.mixed = conditions.mixed;
  }

  get remembersErrors(): boolean {
    return this.conditions.remembersErrors ?? false;
  }

  get properties(): object {
    return this.conditions.properties ?? {};
  }

  get launchErrors(): readonly string[] | undefined {
    return this.conditions.launchErrors;
  }

  idOf({ node }: CloudInstance): string {
    return `i-${Number(node.slice(node.lastIndexOf("-") + 1)).toString(16).padStart(17, "0")}`;
  }

  find(id: string): CloudInstance | undefined {
    return this.cloud.instances().find((each) => this.idOf(each) === id);
  }

  visible(): CloudInstance[] {
    const { lagMs = 0 } = this.conditions;
    return this.cloud.instances().filter(({ since }) => Date.now() >= Date.parse(since) + lagMs);
  }

  launch(group: Group, { token, zone }: { token: string; zone: string }): CloudInstance {
    // The simulated cloud never forgets a token, so a suffix makes it launch again for a token that AWS has forgotten.
    const made = this.cloud.order(group, this.isForgetful ? `${token} ${++this.#launches}` : token);
    made.zone = zone;
    return made;
  }

  mark(instance: CloudInstance, key: string, value: string): void {
    const id = this.idOf(instance);
    this.#tags.set(id, new Map(this.#tags.get(id)).set(key, value));
  }

  /** Tags of an instance, or of a group. */
  tagsOf(found: CloudInstance | Group): [string, string][] {
    if ("node" in found) return [[groupTag, found.group], ...this.#tags.get(this.idOf(found)) ?? []];
    const role = { Worker: "worker", ControlPlane: "control-plane", "": "" }[found.role];
    const own: [string, string][] = [["constellation-role", role], ["constellation-node-group", found.name]];
    return [["constellation-uid", this.conditions.clusterTag], ...own];
  }

  /** The processes of a group that a client suspended. */
  suspended({ id }: Group): Set<string> {
    const found = this.#suspended.get(id) ?? new Set();
    this.#suspended.set(id, found);
    return found;
  }

  launchTemplateOf(group: Group): string {
    return `lt-${(this.cloud.groups().indexOf(group) + 1).toString(16).padStart(17, "0")}`;
  }

  /** Returns the version of the launch template that the group uses. */
  versionOf(group: Group): string {
    return this.#versions.get(group.id) ?? this.conditions.version ?? "$Default";
  }

  setVersion(group: Group, version: string): void {
    const fields = group.templates[this.numberOf(group, version) - 1]?.fields;
    const { images = [fields?.image] } = this.conditions;
    if (!images.includes(fields?.image ?? "")) throw new AwsWrong("ValidationError", "The image id does not exist");
    this.#versions.set(group.id, version);
    this.#follow(group);
  }

  numberOf(group: Group, version: string): number {
    return version === "$Latest" ? group.templates.length : version === "$Default" ? 1 : Number(version);
  }

  addVersion(group: Group, fields: Template["fields"]): Template {
    const made = this.cloud.addTemplate(group, fields);
    this.#follow(group);
    return made;
  }

  #follow(group: Group): void {
    const id = group.templates[this.numberOf(group, this.versionOf(group)) - 1]?.id;
    if (id !== undefined) this.cloud.useTemplate(group, id);
  }
}

export function isGoing({ state }: CloudInstance): boolean {
  return state === "Terminating" || state === "Terminated";
}
