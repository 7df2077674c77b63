/** Compares templates of machines without what machine-controller adds to them, and finds their last writer. */
import { canonicalJson } from "../../../profiles/canonical_json.ts";
import { templateHashLabel, withImage } from "../../kube/machine_deployment.ts";
import {
  MachineDeployment,
  machineDeployments,
  type MachineSpec,
  Metadata,
  type Resource,
  time,
} from "../../kube/resources.ts";
import { z } from "zod";

/** Returns the template without the label by which a MachineSet selects its machines. */
export function unlabelled(template: object): object {
  const { metadata = {}, ...rest } = template as { metadata?: { labels?: Record<string, string> } };
  const { [templateHashLabel]: _, ...labels } = metadata.labels ?? {};
  return { ...rest, metadata: { ...metadata, labels } };
}

/** Returns whether both templates are equal, apart from empty fields and what machine-controller adds. */
export function isSameTemplate(one: object | undefined, other: object | undefined): boolean {
  return canonicalJson(plain(one)) === canonicalJson(plain(other));
}

/** Returns the template with an empty image, to compare everything else. */
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

// The last writer of a template, as recorded by the API server.

/** The field manager under which Ostler writes a template. */
export const fieldManager = "ostler";

const ManagedField = z.object({
  manager: z.string().optional(),
  time: time.optional(),
  fieldsV1: z.unknown().optional(),
});

const WrittenDeployment = MachineDeployment.extend({
  metadata: Metadata.extend({ managedFields: z.array(ManagedField).optional().catch(undefined) }),
});
export type WrittenDeployment = z.infer<typeof WrittenDeployment>;

/** MachineDeployments with their managed fields, which other reads leave out because of their size. */
export const writtenDeployments: Resource<WrittenDeployment> = { ...machineDeployments, schema: WrittenDeployment };

// machine-controller is never named as the author of a change: it writes whole objects, so it owns fields of the
// template that it did not change.
const machineController = "machine-controller";

/** Returns the field manager with the newest write to the template; "unknown" without one. */
export function actorOf({ metadata }: WrittenDeployment): string {
  const writes = (metadata.managedFields ?? []).filter(({ manager, fieldsV1 }) =>
    manager !== machineController && at(at(fieldsV1, "f:spec"), "f:template") !== undefined
  );
  const [newest] = writes.sort((one, other) => (other.time ?? "").localeCompare(one.time ?? ""));
  return newest?.manager || "unknown";
}

function at(fields: unknown, key: string): unknown {
  return typeof fields === "object" && fields !== null ? (fields as Record<string, unknown>)[key] : undefined;
}
