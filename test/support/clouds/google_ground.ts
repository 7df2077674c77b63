/** The state of Google over the simulated cloud: Google's names and addresses, templates, and lag. */
import type { CloudInstance, GroupCloud, Template } from "../../../deploy/local/cloud/groups/group_cloud.ts";

export type Group = ReturnType<GroupCloud["groups"]>[number];

export interface GoogleConditions {
  clusterTag: string;
  /** Milliseconds for which a new instance is hidden. */
  lagMs?: number;
  /** Whether the instance group manager lists a new instance although the instance itself is still hidden. */
  isListedAtOnce?: boolean;
  /** Number of reads in which a group lists an ordered instance whose virtual machine does not exist yet. */
  unmadeLooks?: number;
  /** Scope of all instance templates: "global" by default, or a region such as "regions/b". */
  templatesIn?: string;
  /** Reasons with which the instance group manager refuses requests to create or delete instances. */
  saysNo?: { create?: string; delete?: string };
  /**
   * Where Google reports the refusal of such a request: in the response, or in the operation that the response names.
   */
  saysNoIn?: "Answer" | "Operation";
  /** Whether the list of groups reports that the zone "elsewhere" did not respond. */
  isPartial?: boolean;
  /** Functions that return additional fields of an instance group manager, and of an instance in its list. */
  manager?: (group: Group) => object;
  member?: (instance: CloudInstance) => object;
  /** Returns additional per-instance configs of a group, for instances that were not created by name. */
  configs?: (group: Group) => object[];
  /** The mode of each group's autoscaler, which also has the bounds of the group's size; by default "OFF". */
  autoscaler?: "OFF" | "ON";
}

/** An error response of Google to a valid request. */
export class GoogleNo extends Error {
  constructor(readonly status: number, readonly reason: string, message: string) {
    super(message);
  }
}

/** An instance that a group lists although there is no capacity for it. */
interface Unfilled {
  group: Group;
  name: string;
  looks: number;
}

export const project = "p-1";

/** Returns the URL by which Google's responses name a path. */
export function urlOf(path: string): string {
  return `https://www.googleapis.com/compute/v1/${path}`;
}

export function pathIn(url: string): string {
  return url.replace(/^https:\/\/(www|compute)\.googleapis\.com\/compute\/v1\//, "");
}

export function isGoing({ state }: CloudInstance): boolean {
  return state === "Terminating" || state === "Terminated";
}

export class GoogleGround {
  readonly unfilled = new Map<string, Unfilled>();
  /** Returns the properties that Google stores of a new template, given the requested ones. */
  stored: (properties: Record<string, unknown>) => Record<string, unknown> = (properties) => properties;
  readonly #looks = new Map<string, number>();
  readonly #names = new Map<string, string>();
  readonly #writes = new Map<string, number>();

  constructor(readonly cloud: GroupCloud, readonly conditions: GoogleConditions) {}

  /** Returns the group at a path in a zone or a region; throws 404 if it does not exist. */
  groupAt(scope: string, name: string): Group {
    const found = this.cloud.group(`projects/${project}/${scope}/instanceGroupManagers/${name}`);
    if (found) return found;
    throw new GoogleNo(404, "notFound", `The resource '${scope}/${name}' was not found`);
  }

  listed(): CloudInstance[] {
    if (!this.conditions.isListedAtOnce) return this.visible();
    return this.cloud.instances().filter(({ state }) => state !== "Terminated");
  }

  visible(): CloudInstance[] {
    const { lagMs = 0 } = this.conditions;
    return this.cloud.instances().filter(({ state, since }) =>
      state !== "Terminated" && Date.now() >= Date.parse(since) + lagMs
    );
  }

  /** Records a write of a group's manager, which changes the manager's fingerprint. */
  write({ id }: Group): void {
    this.#writes.set(id, (this.#writes.get(id) ?? 0) + 1);
  }

  fingerprintOf({ id }: Group): string {
    return `f${this.#writes.get(id) ?? 0}=`;
  }

  look({ node }: CloudInstance): void {
    this.#looks.set(node, (this.#looks.get(node) ?? 0) + 1);
  }

  isMade({ node, token }: CloudInstance): boolean {
    return token === undefined || (this.#looks.get(node) ?? 0) > (this.conditions.unmadeLooks ?? -1);
  }

  instancePath({ zone, node }: Pick<CloudInstance, "zone" | "node">): string {
    return `projects/${project}/zones/${zone}/instances/${node}`;
  }

  /** Creation time of all templates. */
  madeTemplatesAt = "2026-01-01T00:00:00.000-08:00";

  /** Where all templates are: global, or a region. */
  get templateScope(): string {
    return this.conditions.templatesIn ?? "global";
  }

  templates(scope: string): { name: string; group: Group; template: Template }[] {
    if (scope !== this.templateScope) return [];
    return this.cloud.groups().flatMap((group) =>
      group.templates.map((template, nth) => ({
        name: this.#names.get(template.id) ?? `${group.name}${nth === 0 ? "" : `-by-hand-${nth}`}`,
        ...{ group, template },
      }))
    );
  }

  name(template: Template, name: string): void {
    this.#names.set(template.id, name);
  }

  templatePath(template: Template): string {
    const name = this.templates(this.templateScope).find((each) => each.template === template)?.name;
    return `projects/${project}/${this.templateScope}/instanceTemplates/${name}`;
  }

  /** Fields of a template in Google's responses. */
  propertiesOf(group: Group, { fields }: Template): Record<string, unknown> {
    const { image, properties, machineType, userData } = fields;
    if (properties) return properties as Record<string, unknown>;
    const role = { Worker: "worker", ControlPlane: "control-plane", "": "" }[group.role];
    return {
      labels: {
        ...{ "constellation-uid": this.conditions.clusterTag, "constellation-role": role },
        "constellation-node-group": group.name,
      },
      ...{ machineType, canIpForward: true, networkInterfaces: [{ kind: "compute#networkInterface", name: "nic0" }] },
      disks: [{
        ...{ kind: "compute#attachedDisk", boot: true, index: 0, autoDelete: true, deviceName: "persistent-disk-0" },
        initializeParams: { sourceImage: urlOf(image), diskSizeGb: "10" },
      }, { kind: "compute#attachedDisk", index: 1, deviceName: "state-disk", initializeParams: { diskSizeGb: "30" } }],
      metadata: {
        ...{ kind: "compute#metadata", fingerprint: "abc=" },
        items: [{ key: "user-data", value: userData }, { key: "ostler-input-only", value: "{}" }],
      },
      confidentialInstanceConfig: { enableConfidentialCompute: true },
    };
  }
}
