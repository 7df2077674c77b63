/** Templates of machines compared: what machine-controller adds on its way says nothing about them. */
import { canonicalJson } from "../../../profiles/canonical_json.ts";
import { templateHashLabel, withImage } from "../../kube/machine_deployment.ts";
import type { MachineSpec } from "../../kube/resources.ts";

/** Without the label by which a set tells its machines from others'. */
export function unlabelled(template: object): object {
  const { metadata = {}, ...rest } = template as { metadata?: { labels?: Record<string, string> } };
  const { [templateHashLabel]: _, ...labels } = metadata.labels ?? {};
  return { ...rest, metadata: { ...metadata, labels } };
}

/** Whether both say the same. */
export function isSameTemplate(one: object | undefined, other: object | undefined): boolean {
  return canonicalJson(plain(one)) === canonicalJson(plain(other));
}

/** The template with no image, for who asks what else is in it. */
export function withoutImage(template: object | undefined): object {
  const { spec, ...rest } = (template ?? {}) as { spec?: MachineSpec };
  return spec ? { ...rest, spec: withImage(spec, "") } : rest;
}

function plain(template: object | undefined): object {
  const { metadata = {}, ...rest } = unlabelled(template ?? {}) as { metadata?: Record<string, unknown> };
  const said = Object.entries(metadata).filter(([key, value]) => key !== "creationTimestamp" && !isEmpty(value));
  return { ...rest, metadata: Object.fromEntries(said) };
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
