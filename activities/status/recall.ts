/** Reads what earlier runs of a pool recorded on its Rollout. */
import type { Cluster } from "../cluster.ts";
import { z } from "zod";
import type { Memory, PoolRef, Quarantined } from "../../workflows/contracts/mod.ts";
import type { RolloutObject } from "../kube/resources.ts";
import { attempting } from "../kube/status.ts";
import { readRollout } from "./known_rollouts.ts";

/** Maximum number of failed changes that are remembered, and of durations that machines took to join or to leave. */
export const quarantineKept = 5;
export const usualKept = 20;
/** Maximum number of skipped machines that are remembered; the run refuses to skip more. */
export const skippedKept = 500;

/** Phases in which no run is expected. */
const ended: readonly string[] = ["Converged", "RolledBack", "Aborted"];

/**
 * The value of `convergedTemplateHash` until a rollback has ended, even if the run that began the rollback has ended.
 */
const whileRollingBack = "rolling-back";

const text = z.string().catch("");
const seconds = z.array(z.number()).transform((all) => all.slice(-usualKept)).catch([]);
const Request = z.object({ by: text, reason: text, since: z.number().catch(0) });
const Quarantined = Request.extend({
  specHash: z.string(),
  templateHash: text,
  revision: text,
  image: text,
  kubelet: text,
});
const LastGood = z.object({
  ...{ templateHash: z.string(), revision: text, image: text, kubelet: text },
  ...{ configDigest: text, specHash: text },
});
const Left = Request.extend({
  ...{ kind: z.enum(["RollBack", "Abort"]), bad: Quarantined, reapplied: z.number().catch(0) },
});

const Approval = z.object({
  ...{ plan: text, templateHash: text, wave: z.int().min(0) },
  terms: z.object({ hash: z.string(), replicas: z.int().min(0), form: z.int().optional() }).nullable().catch(null),
});

// Unreadable parts are dropped one by one: a partial record is better than a rollout that cannot start.
const Status = z.object({
  paused: z.boolean().catch(false),
  pausedBy: Request.nullable().catch(null),
  quarantine: z.array(Quarantined.nullable().catch(null)).catch([]),
  lastGood: LastGood.nullable().catch(null),
  left: Left.nullable().catch(null),
  usual: z.object({ join: seconds, leave: seconds }).catch({ join: [], leave: [] }),
  observed: text,
  phase: text,
  targetTemplateHash: text,
  convergedTemplateHash: text,
  skipped: z.array(z.string()).catch([]),
  approval: Approval.nullable().catch(null),
});

/**
 * Reads the record of a pool. A part that is missing or unreadable is empty; without a Rollout, all parts are empty.
 */
export function recall(kube: Cluster, pool: PoolRef): Promise<Memory> {
  return attempting(`read the rollout history of "${pool.namespace}/${pool.name}"`, async () => {
    return memoryOf(await readRollout(kube, pool));
  });
}

/** Returns the record in a Rollout. */
export function memoryOf(rollout: RolloutObject | undefined): Memory {
  const status = Status.parse(rollout?.status ?? {});
  const { paused, pausedBy, quarantine, observed, targetTemplateHash, convergedTemplateHash, ...others } = status;
  const { skipped, approval, phase, ...rest } = others;
  return {
    paused: paused ? pausedBy ?? { by: "unknown", reason: "", since: 0 } : null,
    quarantine: quarantine.filter((change): change is Quarantined => change !== null).slice(-quarantineKept),
    ...rest,
    ...(observed ? { observed } : {}),
    ...(skipped.length > 0 ? { skipped: skipped.slice(0, skippedKept) } : {}),
    ...(approval ? { approval } : {}),
    ...(phase !== "" && !ended.includes(phase) ? { isOpen: true } : {}),
    ...(targetTemplateHash ? { templateHash: targetTemplateHash } : {}),
    ...(convergedTemplateHash === whileRollingBack ? { isRollingBack: true } : {}),
  };
}
