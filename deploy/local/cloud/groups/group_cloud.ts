/** A cloud in memory that has scaling groups, with the rules that real ones share; what it is told by HTTP is in `group_api.ts`. */
import { randomUUID } from "node:crypto";

/** What instances boot from, as people gave it: an image, and whatever else, which nobody may lose. */
export interface TemplateFields {
  image: string;
  [field: string]: unknown;
}

export interface Template {
  id: string;
  fields: TemplateFields;
}

export interface GroupSpec {
  id: string;
  name: string;
  autoscalerName: string;
  role: "Worker" | "ControlPlane" | "";
  min: number;
  max: number;
  size: number;
  zones: string[];
  template: TemplateFields;
}

export interface CloudInstance {
  providerId: string;
  group: string;
  node: string;
  state: "Creating" | "Ready" | "Terminating" | "Terminated" | "Failed";
  trouble: string;
  template: Template;
  addresses: string[];
  token?: string;
  zone: string;
  isProtected: boolean;
  since: string;
}

interface Group extends Omit<GroupSpec, "template"> {
  templates: Template[];
  boots: Template;
}

/** Why it does not do what it was asked; `NoCapacity` may pass, the others do not by themselves. */
export class CloudRefusal extends Error {
  constructor(readonly reason: "NoCapacity" | "GroupFull" | "ImageUnknown" | "TemplateUnknown", message: string) {
    super(message);
  }
}

export interface CloudOptions {
  /** Images that it has; any where none are listed. */
  images?: readonly string[];
  /** Instances that it has room for, in all groups. */
  capacity?: number;
  /** Told of each instance that is made, and of each that goes; it says itself when one is Ready, with `set`. */
  onInstance?: (instance: CloudInstance, change: "Made" | "Going") => void;
}

export class GroupCloud {
  readonly #options: CloudOptions;
  readonly #groups = new Map<string, Group>();
  readonly #instances = new Map<string, CloudInstance>();
  #made = 0;

  constructor(options: CloudOptions = {}) {
    this.#options = options;
  }

  /** Makes a group with its first instances. */
  create({ template, ...spec }: GroupSpec): void {
    const boots = { id: `${spec.name}-${randomUUID().slice(0, 8)}`, fields: template };
    const group = { ...spec, templates: [boots], boots };
    this.#groups.set(spec.id.toLowerCase(), group);
    this.#fill(group);
  }

  groups(): Group[] {
    return [...this.#groups.values()];
  }

  group(id: string): Group | undefined {
    return this.#groups.get(id.toLowerCase());
  }

  /** All that were ever made, in that order. */
  instances(group?: string): CloudInstance[] {
    const all = [...this.#instances.values()];
    return group === undefined ? all : all.filter((each) => each.group.toLowerCase() === group.toLowerCase());
  }

  instance(providerId: string): CloudInstance | undefined {
    return this.#instances.get(providerId);
  }

  /** Puts a template beside the others, which boots nothing yet. */
  addTemplate(group: Group, fields: TemplateFields): Template {
    const { images } = this.#options;
    if (images && !images.includes(fields.image)) throw new CloudRefusal("ImageUnknown", `no image "${fields.image}"`);
    const template = { id: `${group.name}-${randomUUID().slice(0, 8)}`, fields };
    group.templates.push(template);
    return template;
  }

  /** Has the group boot one of its templates. */
  useTemplate(group: Group, id: string): Template {
    const template = group.templates.find((each) => each.id === id);
    if (!template) throw new CloudRefusal("TemplateUnknown", `no template "${id}"`);
    return group.boots = template;
  }

  /** The instance of a token, which is made at the first order; one more is then kept. */
  order(group: Group, token: string): CloudInstance {
    const known = this.instances(group.id).find((each) => each.token === token);
    if (known) return known;
    if (group.size >= group.max) throw new CloudRefusal("GroupFull", `it has ${group.size} instances, its most`);
    this.#checkRoom();
    group.size += 1;
    return this.#make(group, token);
  }

  /** Has an instance go; `shrinks` keeps one less, else the group makes another. A second time nothing is done. */
  remove(providerId: string, shrinks: boolean): void {
    const instance = this.#instances.get(providerId);
    if (!instance || isGoing(instance)) return;
    const group = this.group(instance.group);
    if (group && shrinks) group.size -= 1;
    instance.state = "Terminating";
    this.#options.onInstance?.(instance, "Going");
    if (group) this.#fill(group);
  }

  /** How many it keeps: it makes those that it lacks, and has its oldest go that are too many. */
  resize(group: Group, size: number): void {
    group.size = size;
    const alive = this.instances(group.id).filter((each) => !isGoing(each));
    for (const { providerId } of alive.slice(0, Math.max(0, alive.length - size))) this.remove(providerId, false);
    this.#fill(group);
  }

  /** What has become of an instance; one that goes can only be gone, whatever its machine was about to say. */
  set(
    providerId: string,
    changes: Partial<Pick<CloudInstance, "state" | "trouble" | "isProtected" | "addresses">>,
  ): void {
    const instance = this.#instances.get(providerId);
    if (!instance || (isGoing(instance) && changes.state !== "Terminated")) return;
    Object.assign(instance, changes);
  }

  #fill(group: Group): void {
    while (this.instances(group.id).filter((each) => !isGoing(each)).length < group.size) this.#make(group);
  }

  #checkRoom(): void {
    const { capacity = Infinity } = this.#options;
    const running = this.instances().filter(({ state }) => state !== "Terminated").length;
    if (running >= capacity) throw new CloudRefusal("NoCapacity", `all ${capacity} places are taken`);
  }

  #make({ id: group, name, zones, boots }: Group, token?: string): CloudInstance {
    const nth = ++this.#made;
    const zone = zones[nth % zones.length] ?? "";
    const node = `${name}-${nth}`;
    const instance: CloudInstance = {
      ...{ providerId: `sim:///${zone}/${node}`, group, node, state: "Creating", trouble: "", template: boots, zone },
      ...{ addresses: [`10.64.${nth >> 8}.${nth & 255}`], isProtected: false, since: new Date().toISOString() },
      ...(token === undefined ? {} : { token }),
    };
    this.#instances.set(instance.providerId, instance);
    this.#options.onInstance?.(instance, "Made");
    return instance;
  }
}

function isGoing({ state }: CloudInstance): boolean {
  return state === "Terminating" || state === "Terminated";
}
