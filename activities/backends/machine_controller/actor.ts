/** Who wrote a template last, as the API server remembers it. */
import { z } from "zod";
import { MachineDeployment, machineDeployments, Metadata, type Resource } from "../../kube/resources.ts";

/** The name under which Ostler writes a template. */
export const fieldManager = "ostler";

const ManagedField = z.object({
  manager: z.string().optional(),
  time: z.union([z.string(), z.date()]).transform((value) => new Date(value).toISOString()).optional(),
  fieldsV1: z.unknown().optional(),
});

const WrittenDeployment = MachineDeployment.extend({
  metadata: Metadata.extend({ managedFields: z.array(ManagedField).optional().catch(undefined) }),
});
export type WrittenDeployment = z.infer<typeof WrittenDeployment>;

/** MachineDeployments with who wrote them, which is much text and left out elsewhere. */
export const writtenDeployments: Resource<WrittenDeployment> = { ...machineDeployments, schema: WrittenDeployment };

// It writes whole objects back, and so comes to own fields of the template that nobody gave, such as an empty metadata.
const machineController = "machine-controller";

/** The field manager with the newest write to the template; "unknown" where none is known. */
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
