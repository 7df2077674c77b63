/** Templates that differ in their image alone; pure. */
import type { compute_v1 } from "@googleapis/compute";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { refused } from "../../failures.ts";
import { lastOf, pathOf } from "./paths.ts";

export type Template = compute_v1.Schema$InstanceTemplate;
type Properties = NonNullable<Template["properties"]>;

/** End of a name that was made here. */
const ownEnd = /-o[0-9a-f]{12}$/;

/** The image of the disk that instances of it boot from; "" for none. */
export function imageOf({ properties }: Template): string {
  return pathOf(bootDisk(properties)?.initializeParams?.sourceImage);
}

/** All of it with another image: what is not known here must not be lost either. */
export function withImage(source: Template, image: string): Properties {
  const { properties } = source;
  const disk = bootDisk(properties);
  if (!properties || !disk?.initializeParams?.sourceImage) {
    const state = "its instances boot no image by its name";
    throw refused("CloudRefused", `Cannot make a template like "${pathOf(source.selfLink)}": ${state}`);
  }
  const other = { ...disk, initializeParams: { ...disk.initializeParams, sourceImage: image } };
  const disks = properties.disks?.map((each) => each === disk ? other : each);
  const { fingerprint: _, ...metadata } = properties.metadata ?? {};
  return { ...properties, ...(disks ? { disks } : {}), ...(properties.metadata ? { metadata } : {}) };
}

/** The name that a template of these properties has, whoever makes it. */
export function nameLike({ name }: Template, properties: Properties): string {
  const hash = createHash("sha256").update(JSON.stringify(plain(properties))).digest("hex").slice(0, 12);
  const stem = lastOf(name).replace(ownEnd, "").slice(0, 49).replace(/-+$/, "");
  return `${stem}-o${hash}`;
}

/** Names of the fields in which two are not the same. */
export function differences(wanted: Properties, found: Properties | undefined): string[] {
  const [a, b] = [plain(wanted), plain(found ?? {})] as [Record<string, unknown>, Record<string, unknown>];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].filter((key) => !isDeepStrictEqual(a[key], b[key])).sort();
}

function bootDisk(properties: Properties | undefined): NonNullable<Properties["disks"]>[number] | undefined {
  return properties?.disks?.find(({ boot }) => boot) ?? properties?.disks?.[0];
}

/** Without what Google writes there itself, fields in one order, and addresses without the API's own. */
function plain(value: unknown): unknown {
  if (typeof value === "string") return pathOf(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([key, each]) =>
    key !== "kind" && key !== "fingerprint" && each !== undefined
  );
  const sorted = fields.sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(sorted.map(([key, each]) => [key, key === "items" ? unordered(plain(each)) : plain(each)]));
}

/** Items of metadata and tags are sets. */
function unordered(items: unknown): unknown {
  const keyOf = (item: unknown): string => JSON.stringify(item);
  return Array.isArray(items) ? [...items].sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1) : items;
}
