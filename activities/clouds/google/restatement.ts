/**
 * Restates fields of a template that Google stores and never shows, such as the tags that firewall rules match. A copy
 * would lose them without any difference to see, so their values come from the administrator.
 */
import type { compute_v1 } from "@googleapis/compute";
import { z } from "zod";
import { refused } from "../../failures.ts";

type Properties = compute_v1.Schema$InstanceProperties;

/** Key of the metadata item that restates the fields of its template. */
export const restatementKey = "ostler-input-only";

/** Google shows this field of a template in spite of its mark, and Ostler reads the image there. */
export const shown = "disks.initializeParams";

const tags = z.record(z.string(), z.string());
const Restatement = z.strictObject({
  ...{ "resourceManagerTags": tags.optional(), "disks.initializeParams.resourceManagerTags": tags.optional() },
  "disks.forceAttach": z.boolean().optional(),
});

/** The paths of the fields that can be restated; a test compares them with Google's description. */
export const inputs = Object.keys(Restatement.shape);

/** Values by path; a path below `disks` is of all disks that can have the field. */
export type Restatement = z.infer<typeof Restatement>;

/** Returns the restatement in a text; undefined for an invalid one. */
export function restatementIn(text: string): Restatement | undefined {
  try {
    return Restatement.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/**
 * Returns what the template's metadata restates, else `standard`. Throws Refused if nothing restates the fields, as an
 * absent field has the same response as a hidden field.
 */
export function restatementOf(
  { metadata }: Properties,
  { path, standard }: { path: string; standard: string },
): Restatement {
  const text = metadata?.items?.find(({ key }) => key === restatementKey)?.value ?? standard;
  const found = restatementIn(text);
  if (found) return found;
  const attempt = `Failed to copy template "${path}"`;
  const form = `a JSON object with values for ${inputs.join(", ")}, or {} if the template has none of them`;
  const where = `its metadata item "${restatementKey}" or setting cloud-input-only`;
  const state = text === ""
    ? `Google does not show its input-only fields, so the copy would lose them; restate them in ${where} as ${form}`
    : `${where} has an invalid restatement of its input-only fields; expected ${form}`;
  throw refused("CloudRefused", `${attempt}: ${state}`);
}

/** Returns the properties with the restated fields where they are absent. */
export function withRestated(properties: Properties, restatement: Restatement): Properties {
  return Object.entries(restatement).reduce(
    (value, [path, given]) => filled(value, path.split("."), given),
    properties,
  );
}

/** Returns the restated paths that none of the found properties show. */
export function hiddenIn(found: Properties, restatement: Restatement): string[] {
  return Object.keys(restatement).filter((path) => !shows(found, path.split(".")));
}

function filled<T>(value: T, [name = "", ...rest]: string[], given: unknown): T {
  if (Array.isArray(value)) return value.map((each) => filled(each, [name, ...rest], given)) as T;
  if (typeof value !== "object" || value === null) return value;
  const known = (value as Record<string, unknown>)[name];
  if (rest.length === 0) return known === undefined ? { ...value, [name]: given } : value;
  return known === undefined ? value : { ...value, [name]: filled(known, rest, given) };
}

function shows(value: unknown, [name = "", ...rest]: string[]): boolean {
  if (Array.isArray(value)) return value.some((each) => shows(each, [name, ...rest]));
  if (typeof value !== "object" || value === null) return false;
  const known = (value as Record<string, unknown>)[name];
  return rest.length === 0 ? known !== undefined : shows(known, rest);
}
