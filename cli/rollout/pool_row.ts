/** A pool as a row: some fields of its MachineDeployment, ScalingGroup or NodePool, and the status of its Rollout. */
import { z } from "zod";
import { Metadata } from "../../activities/kube/resources.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { inCluster } from "../connect/cluster_name.ts";
import { printableFields } from "../view/printable.ts";
import { withKind } from "./scaling_groups.ts";

// The Rollout may be of an older or newer version than this command, so fields that are missing or invalid are left
// out.
const text = z.string().catch("");
const count = z.number().catch(0);
const time = z.string().optional().catch(undefined);

function list<T extends z.ZodType>(item: T): z.ZodType<z.output<T>[]> {
  return z.array(z.unknown()).catch([]).transform((items) =>
    items.flatMap((one) => {
      const { data } = item.safeParse(one);
      return data === undefined ? [] : [data];
    })
  ) as unknown as z.ZodType<z.output<T>[]>;
}

const Request = z.object({ by: text, reason: text, since: count });
const Blocker = z.object({ pod: text, owner: text, why: text });
const Wave = z.object({ upTo: count, state: text, soakUntil: time });
const Underway = z.object({
  machine: z.string(),
  node: time,
  step: text,
  since: text,
  until: text,
  attempt: z.number().optional().catch(undefined),
  waitsFor: text,
  blockers: list(Blocker),
});
const Quarantined = Request.extend({ specHash: text, templateHash: text, revision: text, image: text });
const Condition = z.object({
  type: z.string(),
  status: text,
  reason: text,
  message: text,
  lastTransitionTime: time,
});
const HistoryEntry = z.object({
  revision: text,
  image: text,
  kubelet: text,
  configDigest: text,
  startedAt: text,
  endedAt: text,
  outcome: text,
  machines: count,
  failed: count,
  actor: text,
  reason: text,
  seconds: z.number().optional().catch(undefined),
});
const LastGood = z.object({ templateHash: text, revision: text, image: text, kubelet: text, configDigest: text });

const Etcd = z.object({
  seats: list(z.object({ name: text, machine: text, role: text, isWell: z.boolean().catch(false), version: text })),
  quorum: z.object({ needed: count, well: count }).catch({ needed: 0, well: 0 }),
  doubts: list(z.object({ machine: text, says: text })),
});
export type EtcdRow = z.infer<typeof Etcd>;

/** The status of a Rollout, with a default for every field. */
export const RolloutStatus = z.object({
  phase: text,
  reason: text,
  message: text,
  updated: text,
  revision: text,
  image: text,
  kubelet: text,
  configDigest: text,
  wave: text,
  workflowId: text,
  policy: text,
  targetTemplateHash: text,
  convergedTemplateHash: text,
  observedGeneration: count,
  replicas: count,
  updatedReplicas: count,
  readyReplicas: count,
  failedMachines: count,
  blockedReason: z.string().nullish().catch(null).transform((value) => value ?? ""),
  eta: z.string().nullish().catch(null).transform((value) => value ?? ""),
  paused: z.boolean().catch(false),
  pausedBy: Request.nullish().catch(null),
  plan: z.object({ hash: text, approved: z.boolean().catch(false) }).nullish().catch(null),
  lastGood: LastGood.nullish().catch(null),
  /** The change that was rolled back, until another change converges. */
  left: z.object({}).nullish().catch(null),
  etcd: Etcd.nullish().catch(null),
  waves: list(Wave),
  underway: list(Underway),
  skipped: list(z.string()),
  quarantine: list(Quarantined),
  conditions: list(Condition),
  history: list(HistoryEntry),
});
export type RolloutStatus = z.infer<typeof RolloutStatus>;
export type UnderwayRow = RolloutStatus["underway"][number];
export type HistoryRow = RolloutStatus["history"][number];

/** One pool; `status` is missing before its first rollout. */
export interface PoolRow {
  pool: PoolRef;
  /** The generation of the pool's object. */
  generation: number;
  replicas: number;
  /**
   * The NodeVersion that a scaling group follows, and its stage; `target` is the hash of the target that the
   * NodeVersion asks for, if it was read.
   */
  follows?: { version: string; stage: "ControlPlane" | "Workers"; target?: string };
  /** Creation time of the Rollout, in RFC 3339. */
  createdAt?: string;
  /** The unparsed status of the Rollout, for `-o json`. */
  raw?: unknown;
  /** The status with printable texts, because many of them are from other systems. */
  status?: RolloutStatus;
}

/** Only the fields that a row needs: an otherwise invalid MachineDeployment must not hide the others. */
const Deployment = z.object({
  metadata: Metadata,
  spec: z.object({ replicas: z.number().optional() }).loose(),
  follows: z.object({ version: z.string(), stage: z.enum(["ControlPlane", "Workers"]) }).optional(),
});

const Rollout = z.object({ metadata: Metadata, status: z.unknown() });

/**
 * Returns a pool's object and its Rollout as a row; undefined if the first object is not a pool. `cluster` is the
 * cluster's name in Temporal.
 */
export function poolRow(deployment: unknown, rollout: unknown, cluster = ""): PoolRow | undefined {
  const { data } = Deployment.safeParse(deployment);
  if (data === undefined) return undefined;
  const { namespace, name, generation = 0 } = data.metadata;
  const pool = inCluster(cluster, withKind({ namespace, name }));
  const { follows } = data;
  const row: PoolRow = { pool, generation, replicas: data.spec.replicas ?? 1, ...(follows ? { follows } : {}) };
  const found = Rollout.safeParse(rollout).data;
  if (found === undefined) return row;
  row.createdAt = found.metadata.creationTimestamp;
  if (found.status === undefined || found.status === null) return row;
  const status = printableFields(RolloutStatus.parse(found.status));
  // The objects of scaling groups and NodePools do not have their number of machines, so it comes from the Rollout.
  const replicas = pool.kind !== undefined ? status.replicas : row.replicas;
  return { ...row, replicas, raw: found.status, status };
}

/** Returns the history of a pool, oldest first, with complete texts, for `-o json`. */
export function wholeHistory({ raw }: PoolRow): HistoryRow[] {
  return RolloutStatus.shape.history.parse((raw as { history?: unknown } | null | undefined)?.history);
}

/** Returns a condition by type; undefined if it is not reported. */
export function conditionOf(
  { conditions }: RolloutStatus,
  type: string,
): RolloutStatus["conditions"][number] | undefined {
  return conditions.find((one) => one.type === type);
}

/**
 * Returns the number of machines that are updated and verified: the first number of `updated`, such as "12/40". Without
 * that number, returns `updatedReplicas`, which also counts held machines.
 */
export function updatedCount({ updated, updatedReplicas }: RolloutStatus): number {
  const [, count] = /^(\d+)\//.exec(updated) ?? [];
  return count === undefined ? updatedReplicas : Number(count);
}
