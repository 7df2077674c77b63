/** A RolloutPolicy as users write it; deploy/kubernetes/crds/rollout_policies.yaml validates the same fields. */
import { z } from "zod";
import { Duration, PositiveDuration } from "./duration.ts";
import { Etcd } from "./etcd_schema.ts";
import { PolicyGate } from "./gate_schema.ts";
import { LabelSelector } from "./label_selector.ts";
import { PolicyWindow } from "./windows.ts";

const PolicyAmount = z.union([
  z.int().min(1).max(100_000),
  z.string().regex(/^(100|[1-9][0-9]?)%$/),
], { error: 'must be an integer of at least 1, or a percentage from "1%" to "100%"' });
type PolicyAmount = z.infer<typeof PolicyAmount>;

const PolicyWave = z.strictObject({ upTo: PolicyAmount, soak: Duration.optional() });

const Growth = z.strictObject({
  from: z.int().min(1).max(100_000).optional(),
  factor: z.number().min(1.1).max(100).optional(),
  soak: Duration.optional(),
});

const Budget = z.strictObject({
  machines: PolicyAmount.optional(),
  perZone: PolicyAmount.optional(),
  zones: z.enum(["Parallel", "OneAfterAnother"]).optional(),
  cluster: z.int().min(1).max(100_000).optional(),
  urgency: z.enum(["Low", "Normal", "High"]).optional(),
});

const Join = z.strictObject({
  instance: PositiveDuration.optional(),
  address: PositiveDuration.optional(),
  registered: PositiveDuration.optional(),
  ready: PositiveDuration.optional(),
  gates: PositiveDuration.optional(),
  attempts: z.int().min(0).max(20).optional(),
});

const Drain = z.strictObject({
  timeout: PositiveDuration.optional(),
  onBlocked: z.enum(["Wait", "SetAside", "Force"]).optional(),
  localStorage: z.enum(["Delete", "Block"]).optional(),
  order: z.enum(["ByPriority", "AllAtOnce"]).optional(),
});

const IllCondition = z.strictObject({
  type: z.string().min(1).max(316),
  status: z.enum(["True", "False", "Unknown"]),
  for: PositiveDuration.optional(),
});

const Repair = z.strictObject({
  enabled: z.boolean().optional(),
  notReadyFor: PositiveDuration.optional(),
  conditions: z.array(IllCondition).max(10).optional(),
  maxUnhealthy: z.string().regex(/^(100|[1-9]?[0-9])%$/, 'must be a percentage from "0%" to "100%"').optional(),
});

const HandOver = z.strictObject({
  labels: z.boolean().optional(),
  taints: z.boolean().optional(),
  annotations: z.array(z.string().min(1).max(317)).max(50).optional(),
  labelDomains: z.array(z.string().min(1).max(253)).max(50).optional(),
});

const InPlace = z.strictObject({
  stageAtOnce: z.int().min(1).max(1000).optional(),
  stage: PositiveDuration.optional(),
  boot: PositiveDuration.optional(),
  soak: Duration.optional(),
});

/** The spec of a RolloutPolicy: every field is optional. */
export const RolloutPolicySpec = z.strictObject({
  selector: LabelSelector.optional(),
  waves: z.array(PolicyWave).min(1).max(20).superRefine(refuseShrinking).optional(),
  growth: Growth.optional(),
  budget: Budget.optional(),
  windows: z.array(PolicyWindow).min(1).max(10).optional(),
  join: Join.optional(),
  drain: Drain.optional(),
  gates: z.array(PolicyGate).max(20).refine(
    (gates) => new Set(gates.map(({ name }) => name)).size === gates.length,
    "must have unique names",
  ).optional(),
  onFailure: z.enum(["Halt", "Rollback"]).optional(),
  maxFailed: z.int().min(1).max(1000).optional(),
  onProfileChange: z.enum(["NewMachinesOnly", "Roll"]).optional(),
  approvedProfiles: z.array(z.string().regex(/^sha256:[0-9a-f]{64}$/, "must be sha256: and 64 hexadecimal digits")).max(
    200,
  )
    .optional(),
  onImageChange: z.enum(["Replace", "InPlace", "ReplaceIfRefused"]).optional(),
  onNewChange: z.enum(["Finish", "Supersede"]).optional(),
  approval: z.enum(["Never", "BeforeFirst", "BeforeEachWave"]).optional(),
  repair: Repair.optional(),
  inPlace: InPlace.optional(),
  etcd: Etcd.optional(),
  handOver: HandOver.optional(),
  protectedMachines: z.enum(["Wait", "Skip", "Replace"]).optional(),
}).refine((spec) => spec.waves === undefined || spec.growth === undefined, {
  path: ["growth"],
  message: "must not be set together with waves",
});
export type RolloutPolicySpec = z.infer<typeof RolloutPolicySpec>;

// Refuses a wave that is not larger than all waves before it. Counts and percentages are not compared with each other,
// because the size of the pool is not known yet.
function refuseShrinking(waves: { upTo: PolicyAmount }[], context: z.RefinementCtx): void {
  const highest = { number: 0, string: 0 };
  waves.forEach(({ upTo }, nth) => {
    const kind = typeof upTo === "number" ? "number" : "string";
    const size = Number.parseInt(String(upTo));
    const isLarger = size > highest[kind];
    highest[kind] = Math.max(highest[kind], size);
    if (isLarger) return;
    context.addIssue({
      code: "custom",
      path: [nth, "upTo"],
      input: upTo,
      message: "must be larger than in the previous waves",
    });
  });
}
