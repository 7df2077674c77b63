/**
 * Adds input-only fields to the copy of a template: Google stores them and never shows them, such as the tags that
 * firewall rules match. A copy would lose them without any visible difference, so the administrator gives their values.
 */
import type { compute_v1 } from "@googleapis/compute";
import { z } from "zod";
import { refused } from "../../failures.ts";

type Properties = compute_v1.Schema$InstanceProperties;

/** Key of the metadata item with the values of the template's input-only fields, as JSON. */
const restatementKey = "ostler-input-only";

/** Google returns this field although its API description marks it as input only; Ostler reads the image from it. */
export const shown = "disks.initializeParams";

const tags = z.record(z.string(), z.string());
const Restatement = z.strictObject({
  ...{ "resourceManagerTags": tags.optional(), "disks.initializeParams.resourceManagerTags": tags.optional() },
  "disks.forceAttach": z.boolean().optional(),
});

/** The paths of all input-only fields; a test compares them with Google's description. */
export const inputs = Object.keys(Restatement.shape);

/** Values by path; a value below `disks` is for all disks that can have the field. */
type Restatement = z.infer<typeof Restatement>;

/** Parses the values of input-only fields; undefined for an invalid text. */
export function restatementIn(text: string): Restatement | undefined {
  try {
    return Restatement.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/**
 * Returns the values of the input-only fields from the template's metadata, else from `standard`. Throws Refused if
 * neither has them, because Google's response is the same for an absent field and for a hidden field.
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
  const state = text === ""
    ? "the copy would lose the template's input-only fields, which Google does not show; write their values into the " +
      `template's metadata item "${restatementKey}" or into setting cloud-input-only, as ${form}`
    : `the template's metadata item "${restatementKey}" or setting cloud-input-only is invalid; expected ${form}`;
  throw refused("CloudRefused", `${attempt}: ${state}`);
}

/** Returns the properties, with the given input-only fields added where they are absent. */
export function withRestated(properties: Properties, restatement: Restatement): Properties {
  return Object.entries(restatement).reduce(
    (value, [path, given]) => filled(value, path.split("."), given),
    properties,
  );
}

/** Returns the paths of given input-only fields that the found properties do not show. */
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
