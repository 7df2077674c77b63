/**
 * An in-memory cloud with scaling groups, which follow the rules that real clouds share; `group_api.ts` serves it over
 * HTTP.
 */
import { randomUUID } from "node:crypto";

/**
 * The fields of a template. Users can set fields other than the image, and a template that Ostler adds must keep these
 * fields.
 */
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
  /**
   * Like AZRebalance of AWS: when zones differ by more than one instance, the group creates an instance in the emptiest
   * zone, and deletes the oldest instance of the fullest zone without a drain. If this is not set, the group leaves
   * instances in their zones.
   */
  rebalances?: true;
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

/**
 * A refused request. `NoCapacity` may be temporary; for the other reasons, the same request fails until the groups or
 * the images of the cloud change.
 */
export class CloudRefusal extends Error {
  constructor(readonly reason: "NoCapacity" | "GroupFull" | "ImageUnknown" | "TemplateUnknown", message: string) {
    super(message);
  }
}

export interface CloudOptions {
  /** Names of the available images; undefined allows any image. */
  images?: readonly string[];
  /** Maximum number of instances in all groups. */
  capacity?: number;
  /**
   * Called when an instance is created and when its deletion begins; the listener then reports the progress of the
   * instance with `set`.
   */
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

  /** Creates a group, and as many instances as its size requires. */
  create({ template, ...spec }: GroupSpec): void {
    const boots = { id: `${spec.name}-${randomUUID().slice(0, 8)}`, fields: { ...template } };
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

  /** Returns all instances ever created, oldest first: those of one group, or of all groups if `group` is undefined. */
  instances(group?: string): CloudInstance[] {
    const all = [...this.#instances.values()];
    return group === undefined ? all : all.filter((each) => each.group.toLowerCase() === group.toLowerCase());
  }

  instance(providerId: string): CloudInstance | undefined {
    return this.#instances.get(providerId);
  }

  /** Adds a template; no instance boots from it before `useTemplate`. */
  addTemplate(group: Group, fields: TemplateFields): Template {
    const { images } = this.#options;
    if (images && !images.includes(fields.image)) throw new CloudRefusal("ImageUnknown", `no image "${fields.image}"`);
    const template = { id: `${group.name}-${randomUUID().slice(0, 8)}`, fields };
    group.templates.push(template);
    return template;
  }

  /** Sets the template from which new instances of the group boot. */
  useTemplate(group: Group, id: string): Template {
    const template = group.templates.find((each) => each.id === id);
    if (!template) throw new CloudRefusal("TemplateUnknown", `no template "${id}"`);
    return group.boots = template;
  }

  /**
   * Returns the instance that was created for `token`. If there is none, increases the group's size by one and creates
   * it, in `zone` if the group has that zone; throws CloudRefusal if the group or the cloud is full.
   */
  order(group: Group, token: string, zone?: string): CloudInstance {
    const known = this.instances(group.id).find((each) => each.token === token);
    if (known) return known;
    if (group.size >= group.max) {
      throw new CloudRefusal("GroupFull", `the group has its maximum of ${group.size} instances`);
    }
    this.#checkRoom();
    group.size += 1;
    const made = this.#make(group, token, zone);
    this.#rebalance(group);
    return made;
  }

  /**
   * Deletes an instance. If `shrinks`, decreases the group's size by one; otherwise the group creates another instance.
   * Does nothing if the instance is unknown or already being deleted.
   */
  remove(providerId: string, shrinks: boolean): void {
    const instance = this.#instances.get(providerId);
    if (!instance || isGoing(instance)) return;
    const group = this.group(instance.group);
    if (group && shrinks) group.size -= 1;
    instance.state = "Terminating";
    this.#options.onInstance?.(instance, "Going");
    if (group) this.#fill(group);
    if (group) this.#rebalance(group);
  }

  /** Suspends or resumes the rebalancing of zones; a resumed group is rebalanced immediately. */
  setRebalancing(group: Group, isOn: boolean): Group {
    if (isOn) group.rebalances = true;
    else delete group.rebalances;
    this.#rebalance(group);
    return group;
  }

  /** Sets the group's size: creates missing instances, or deletes surplus instances, the oldest first. */
  resize(group: Group, size: number): void {
    group.size = size;
    const alive = this.instances(group.id).filter((each) => !isGoing(each));
    for (const { providerId } of alive.slice(0, Math.max(0, alive.length - size))) this.remove(providerId, false);
    this.#fill(group);
  }

  /** Updates the state of an instance; an instance that is being deleted can only become Terminated. */
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
    if (running >= capacity) throw new CloudRefusal("NoCapacity", `the capacity of ${capacity} instances is exhausted`);
  }

  #inZone(group: Group, zone: string): CloudInstance[] {
    return this.instances(group.id).filter((each) => each.zone === zone && !isGoing(each));
  }

  /**
   * Returns the zones of a group, the emptiest first; the order of zones with equally many instances rotates with each
   * new instance.
   */
  #zonesOf(group: Group): string[] {
    const number = (zone: string): number => this.#inZone(group, zone).length;
    const turn = this.#made % group.zones.length;
    return [...group.zones.slice(turn), ...group.zones.slice(0, turn)].sort((a, b) => number(a) - number(b));
  }

  #rebalance(group: Group): void {
    if (!group.rebalances) return;
    const zones = this.#zonesOf(group);
    const [emptiest = "", fullest = ""] = [zones[0], zones.at(-1)];
    const surplus = this.#inZone(group, fullest);
    const [oldest] = surplus;
    if (!oldest || surplus.length - this.#inZone(group, emptiest).length < 2) return;
    this.#make(group, undefined, emptiest);
    // The new instance already replaces the oldest one, so this deletion neither shrinks the group nor creates another
    // instance.
    this.remove(oldest.providerId, false);
  }

  /** Creates an instance in zone `asked` if the group has that zone, otherwise in its emptiest zone. */
  #make(group: Group, token?: string, asked?: string): CloudInstance {
    const { id, name, zones, boots } = group;
    const nth = ++this.#made;
    const zone = zones.find((each) => each === asked) ?? this.#zonesOf(group)[0] ?? "";
    const node = `${name}-${nth}`;
    const instance: CloudInstance = {
      ...{
        providerId: `sim:///${zone}/${node}`,
        group: id,
        node,
        state: "Creating",
        trouble: "",
        template: boots,
        zone,
      },
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
