/** Boot templates of groups: instance templates. They never change, so another image needs another template. */
import { refused, unavailable } from "../../failures.ts";
import type { BootTemplate } from "../driver.ts";
import { without } from "../without.ts";
import type { GoogleApi } from "./api.ts";
import type { GoogleManagers, Manager } from "./managers.ts";
import { lastOf, pathOf } from "./paths.ts";
import { hiddenIn, restatementOf, withRestated } from "./restatement.ts";
import { clusterLabel, type Group } from "./group.ts";
import { failureOf, isKnown, type Refusal } from "./refusal.ts";
import type { compute_v1 } from "@googleapis/compute";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

/**
 * Paths of the fields that only Google's responses contain, never requests; a test compares them with Google's
 * description.
 */
export const outputs = {
  InstanceProperties: [
    ...["disks.architecture", "disks.diskEncryptionKey.sha256", "disks.index"],
    "disks.initializeParams.sourceImageEncryptionKey.sha256",
    "disks.initializeParams.sourceSnapshotEncryptionKey.sha256",
    ...["disks.kind", "disks.licenses", "disks.savedState", "disks.shieldedInstanceInitialState", "metadata.kind"],
    ...["networkInterfaces.accessConfigs.kind", "networkInterfaces.ipv6AccessConfigs.kind"],
    ...["networkInterfaces.ipv6AccessType", "networkInterfaces.kind", "networkInterfaces.name"],
  ],
  InstanceGroupManagerVersion: ["targetSize.calculated"],
};

/** The fields of a template that this process caches. */
interface TemplateFacts {
  labels: Record<string, string>;
  image: string;
}

/** Returns the path of the template that a manager creates instances from. */
export function templateOf({ versions, instanceTemplate }: Manager): string {
  return pathOf(versions?.[0]?.instanceTemplate ?? instanceTemplate);
}

export class GoogleTemplates {
  /** Cached fields, by the path of the template. */
  readonly #facts = new Map<string, TemplateFacts>();

  /** `inputOnly` has the values of input-only fields for templates whose metadata has none. */
  constructor(
    private readonly api: GoogleApi,
    private readonly managers: GoogleManagers,
    private readonly inputOnly: string,
  ) {}

  /** Reads a template once, because templates do not change; undefined if it does not exist. */
  async facts(path: string): Promise<TemplateFacts | undefined> {
    const known = this.#facts.get(path);
    const template = known ? undefined : await this.#find(path);
    if (!template) return known;
    const facts = { labels: template.properties?.labels ?? {}, image: imageOf(template) };
    this.#facts.set(path, facts);
    return facts;
  }

  async booted({ manager }: Group): Promise<BootTemplate> {
    return bootOf(await this.#need(templateOf(manager)));
  }

  async ensureImage(group: Group, image: string): Promise<BootTemplate> {
    const boots = await this.#need(templateOf(group.manager));
    if (imageOf(boots) === image) return bootOf(boots);
    // Instances report their images only in this form, so no instance would ever match another form.
    if (!/^projects\/[^/]+\/global\/images\/[^/]+$/.test(image)) {
      const state = `expected an image of the form "projects/<project>/global/images/<name>"`;
      throw refused("CloudRefused", `Failed to set "${group.id}" to boot image "${image}": ${state}`);
    }
    return await this.#use(group, await this.#like(boots, image));
  }

  async ensure(group: Group, template: string): Promise<BootTemplate> {
    const found = await this.#find(template);
    const attempt = `set "${group.id}" to boot template "${template}"`;
    if (!found) throw refused("CloudRefused", `Failed to ${attempt}: the template does not exist`);
    // This label identifies the group: without it, the group would not belong to this cluster any more.
    const isOwn = found.properties?.labels?.[clusterLabel] === group.labels[clusterLabel];
    if (isOwn) return await this.#use(group, found);
    throw refused("CloudRefused", `Failed to ${attempt}: the template does not belong to this cluster`);
  }

  /** Sets the group's template; fails if the group changed since it was read. Returns what the group really boots. */
  async #use({ id: group, place, manager }: Group, template: Template): Promise<BootTemplate> {
    const { id } = bootOf(template);
    const { fingerprint, versions } = manager;
    const instanceTemplate = template.selfLink ?? "";
    const refusal = await this.managers.patch(place, {
      instanceTemplate,
      versions: [{ ...without(versions?.[0], outputs.InstanceGroupManagerVersion), instanceTemplate }],
      ...(fingerprint ? { fingerprint } : {}),
    });
    if (refusal) throw failureOf(refusal, `set "${group}" to boot template "${id}"`);
    const after = await this.managers.find(place);
    const boots = after ? templateOf(after) : "nothing";
    if (boots === id) return bootOf(template);
    throw unavailable(`Failed to set "${group}" to boot template "${id}": it still boots "${boots}"`);
  }

  /**
   * Returns a template that differs from `source` only in its image, as far as Google shows the fields; a retry finds
   * the template by its name.
   */
  async #like(source: Template, image: string): Promise<Template> {
    const copied = withImage(source, image);
    const asked = { path: pathOf(source.selfLink), standard: this.inputOnly };
    const restatement = restatementOf(copied, asked);
    const properties = withRestated(copied, restatement);
    const path = pathOf(source.selfLink).replace(/[^/]+$/, nameLike(source, properties));
    const made = await this.#find(path) ?? await this.#made(path, { source, properties });
    const hidden = hiddenIn(made.properties ?? {}, restatement);
    const others = differences(without(properties, hidden), made.properties);
    if (others.length === 0) return made;
    // Reports names only, because values may be secrets.
    const names = others.map((key) => `"${key}"`).join(", ");
    const attempt = `boot image "${image}" from template "${path}"`;
    throw refused(
      "CloudRefused",
      `Failed to ${attempt}: besides the image, the template also differs from "${
        pathOf(source.selfLink)
      }" in ${names}`,
    );
  }

  async #made(
    path: string,
    { source, properties }: { source: Template; properties: NonNullable<Template["properties"]> },
  ): Promise<Template> {
    const refusal = await this.#insert(path, {
      name: nameLike(source, properties),
      ...(source.description ? { description: source.description } : {}),
      properties,
    });
    if (refusal && !isKnown(refusal)) throw failureOf(refusal, `create template "${path}"`);
    const made = await this.#find(path);
    if (made) return made;
    throw unavailable(`Failed to create template "${path}": Google does not list it yet`);
  }

  #insert(path: string, requestBody: Template): Promise<Refusal | undefined> {
    const { project } = this.api;
    const { region } = scopeOf(path);
    return this.api.change({
      attempt: `create template "${path}"`,
      call: ({ instanceTemplates, regionInstanceTemplates }, options) =>
        region === undefined
          ? instanceTemplates.insert({ project, requestBody }, options)
          : regionInstanceTemplates.insert({ project, region, requestBody }, options),
    });
  }

  async #need(path: string): Promise<Template> {
    const found = await this.#find(path);
    if (found) return found;
    throw refused("CloudRefused", `Failed to read template "${path}": the template does not exist`);
  }

  /** Returns undefined if the template does not exist, or if the path does not name a template of the project. */
  async #find(path: string): Promise<Template | undefined> {
    const { project } = this.api;
    const { of, region, instanceTemplate } = scopeOf(path);
    if (of !== project || instanceTemplate === undefined) return undefined;
    return await this.api.find({
      attempt: `read template "${path}"`,
      call: ({ instanceTemplates, regionInstanceTemplates }, options) =>
        region === undefined
          ? instanceTemplates.get({ project, instanceTemplate }, options)
          : regionInstanceTemplates.get({ project, region, instanceTemplate }, options),
    });
  }
}

interface Scope {
  of?: string | undefined;
  region?: string | undefined;
  instanceTemplate?: string | undefined;
}

function scopeOf(path: string): Scope {
  const form = /^projects\/([^/]+)\/(?:global|regions\/([^/]+))\/instanceTemplates\/([^/]+)$/;
  const [, of, region, instanceTemplate] = form.exec(path) ?? [];
  return { of, region, instanceTemplate };
}

function bootOf(template: Template): BootTemplate {
  return { id: pathOf(template.selfLink), image: imageOf(template) };
}

// Templates that differ only in their image; pure.

type Template = compute_v1.Schema$InstanceTemplate;
type Properties = NonNullable<Template["properties"]>;

/** Fields with hashes that belong to one template: copies are made without them, and comparisons ignore them. */
const fingerprints = ["metadata.fingerprint", "tags.fingerprint"];

/** Suffix of names that Ostler generates. */
const ownEnd = /-o[0-9a-f]{12}$/;

/** Returns whether Ostler gave this name to a template. */
export function isOwnName(name: string): boolean {
  return ownEnd.test(name);
}

/** Returns the image of the boot disk; "" without one. */
function imageOf({ properties }: Template): string {
  return pathOf(bootDisk(properties)?.initializeParams?.sourceImage);
}

/** Returns all properties that users write, with another image; also copies fields that this code does not know. */
function withImage(source: Template, image: string): Properties {
  const properties = without(source.properties, outputs.InstanceProperties);
  const disk = bootDisk(properties);
  if (!properties || !disk?.initializeParams?.sourceImage) {
    const state = "its boot disk does not name an image";
    throw refused("CloudRefused", `Failed to copy template "${pathOf(source.selfLink)}": ${state}`);
  }
  const other = { ...disk, initializeParams: { ...disk.initializeParams, sourceImage: image } };
  const disks = properties.disks?.map((each) => each === disk ? other : each);
  return without({ ...properties, ...(disks ? { disks } : {}) }, fingerprints);
}

/** Returns the name of a template with these properties, the same in every process. */
export function nameLike({ name }: Template, properties: Properties): string {
  const hash = createHash("sha256").update(JSON.stringify(written(properties))).digest("hex").slice(0, 12);
  const stem = lastOf(name).replace(ownEnd, "").slice(0, 49).replace(/-+$/, "");
  return `${stem}-o${hash}`;
}

/** Returns the names of the fields that differ. */
function differences(wanted: Properties, found: Properties | undefined): string[] {
  const [a, b] = [written(wanted), written(found ?? {})];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].filter((key) => !isDeepStrictEqual(a[key], b[key])).sort();
}

function bootDisk(properties: Properties | undefined): NonNullable<Properties["disks"]>[number] | undefined {
  return properties?.disks?.find(({ boot }) => boot) ?? properties?.disks?.[0];
}

/** Returns the fields that users write, in a form that is equal for equal templates. */
function written(properties: Properties): Record<string, unknown> {
  return plain(without(properties, [...outputs.InstanceProperties, ...fingerprints])) as Record<string, unknown>;
}

/** Removes the API's address from URLs, and sorts the fields. */
function plain(value: unknown): unknown {
  if (typeof value === "string") return pathOf(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, each]) => each !== undefined);
  const sorted = fields.sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(sorted.map(([key, each]) => [key, key === "items" ? unordered(plain(each)) : plain(each)]));
}

/** Sorts items of metadata and tags, which are sets. */
function unordered(items: unknown): unknown {
  const keyOf = (item: unknown): string => JSON.stringify(item);
  return Array.isArray(items) ? [...items].sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1) : items;
}
