/** The subject of a step by the names that users know, for log lines and spans; names are not secret. */
import { z } from "zod";

/** The objects of a step by name, with at most twenty machines. */
export interface StepSubject {
  /** As "namespace/name". */
  pool?: string;
  machine?: string;
  machines?: string;
  node?: string;
}

const most = 20;

const Input = z.object({
  pool: z.object({ namespace: z.string(), name: z.string() }).optional().catch(undefined),
  machine: z.string().optional().catch(undefined),
  machines: z.array(z.union([z.string(), z.object({ machine: z.string() })])).optional().catch(undefined),
  node: z.string().optional().catch(undefined),
}).catch({});

/** Returns the subject of a step from the input of its activity. */
export function subjectOf(input: unknown): StepSubject {
  const { pool, machine, machines = [], node } = Input.parse(input);
  const names = machines.slice(0, most).map((each) => typeof each === "string" ? each : each.machine);
  const [only, ...more] = machine === undefined ? names : [machine];
  return {
    ...(pool ? { pool: `${pool.namespace}/${pool.name}` } : {}),
    ...(only !== undefined && more.length === 0 ? { machine: only } : {}),
    ...(more.length > 0 ? { machines: names.join(",") } : {}),
    ...(node === undefined ? {} : { node }),
  };
}
