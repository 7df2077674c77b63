/** The values of a Rollout that metrics use; only few, because the controller keeps them for each pool. */
import { z } from "zod";
import { issuedAt } from "../activities/config/renewal.ts";
import type { RolloutObject } from "../activities/kube/resources.ts";

/** Times are epoch ms. */
export interface RolloutNumbers {
  namespace: string;
  name: string;
  phase: string;
  /** Why the pool starts no more machines, else the reason of its phase; "" if neither is known. */
  reason: string;
  paused: boolean;
  quarantined: boolean;
  blocked?: { reason: string; since: number };
  desired: number;
  updated: number;
  ready: number;
  failed: number;
  /** Steps of the machines in progress. */
  steps: string[];
  credentials?: { issuedAt: number; renewAt: number; expiresAt: number };
}

const count = z.number().int().nonnegative().catch(0);
const time = z.string().transform((text) => Date.parse(text)).refine(Number.isFinite);
const Told = z.object({
  phase: z.string().catch(""),
  reason: z.string().catch(""),
  paused: z.boolean().catch(false),
  replicas: count,
  updatedReplicas: count,
  readyReplicas: count,
  failedMachines: count,
  underway: z.array(z.object({ step: z.string() })).catch([]),
  credentials: z.object({ expiresAt: time, renewAt: time }).optional().catch(undefined),
});
type Times = z.infer<typeof Told>["credentials"];

/** Returns the numbers of a Rollout; unreadable fields count as missing. */
export function rolloutNumbers({ metadata: { namespace, name }, status }: RolloutObject): RolloutNumbers {
  const told = Told.parse(status ?? {});
  const condition = (type: string): NonNullable<NonNullable<typeof status>["conditions"]>[number] | undefined =>
    status?.conditions?.find((each) => each.type === type && each.status === "True");
  const blocked = condition("Blocked");
  const since = Date.parse(blocked?.lastTransitionTime ?? "");
  const credentials = lifeOf(`${namespace}/${name}`, told.credentials);
  return {
    ...{ namespace, name },
    phase: told.phase,
    reason: blocked ? `${blocked["reason"]}` : told.reason,
    paused: told.paused,
    quarantined: condition("Quarantined") !== undefined,
    ...(blocked && Number.isFinite(since) ? { blocked: { reason: `${blocked["reason"]}`, since } } : {}),
    desired: told.replicas,
    updated: told.updatedReplicas,
    ready: told.readyReplicas,
    failed: told.failedMachines,
    steps: told.underway.map(({ step }) => step),
    ...(credentials ? { credentials } : {}),
  };
}

function lifeOf(pool: string, times: Times): RolloutNumbers["credentials"] {
  return times && { ...times, issuedAt: issuedAt(pool, times) };
}
