/** Templates of machines: their image, and their last writer. */
import { withImage } from "../../kube/machine_deployment.ts";
import {
  MachineDeployment,
  machineDeployments,
  type MachineSpec,
  Metadata,
  type Resource,
  time,
} from "../../kube/resources.ts";
import { z } from "zod";

/** Returns the template with an empty image, to compare everything else. */
export function withoutImage(template: object | undefined): object {
  const { spec, ...rest } = (template ?? {}) as { spec?: MachineSpec };
  return spec ? { ...rest, spec: withImage(spec, "") } : rest;
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
