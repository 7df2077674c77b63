/** A gate as written in a RolloutPolicy: a name, when it is evaluated, and exactly one check. */
import { z } from "zod";
import { PositiveDuration } from "./duration.ts";
import { requirementsOf } from "../kube/status.ts";
import { LabelSelector } from "./label_selector.ts";
import { PlainUrl } from "./plain_url.ts";

const name = z.string().min(1).max(63).regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be a DNS label");
const objectName = z.string().min(1).max(253);

const NodeCondition = z.strictObject({
  type: z.string().min(1).max(316),
  status: z.enum(["True", "False"]).optional(),
});

const DaemonSets = z.strictObject({ namespace: name.optional(), selector: LabelSelector.optional() });

const Pods = z.strictObject({
  namespace: name.optional(),
  selector: LabelSelector.refine((selector) => requirementsOf(selector) > 0, "must require at least one label"),
  min: z.int().min(1).max(100_000).optional(),
});

const Prometheus = z.strictObject({
  url: PlainUrl,
  query: z.string().min(1).max(4096),
  operator: z.enum(["<", "<=", ">", ">="]),
  threshold: z.number(),
  samples: z.string().min(1).max(4096).optional(),
  minSamples: z.int().min(1).max(1_000_000_000).optional(),
}).refine((check) => check.minSamples === undefined || check.samples !== undefined, {
  path: ["minSamples"],
  message: "requires field samples, the query that counts the samples",
});

const Job = z.strictObject({ namespace: name.optional(), cronJob: objectName });

/** A gate has exactly one of these fields. */
export const checkFields = ["nodeCondition", "daemonSets", "pods", "prometheus", "job"] as const;

/** One gate. */
export const PolicyGate = z.strictObject({
  name,
  run: z.enum(["EachMachine", "EachWave"]).optional(),
  within: PositiveDuration.optional(),
  nodeCondition: NodeCondition.optional(),
  daemonSets: DaemonSets.optional(),
  pods: Pods.optional(),
  prometheus: Prometheus.optional(),
  job: Job.optional(),
}).refine(
  (gate) => checkFields.filter((field) => gate[field] !== undefined).length === 1,
  `must have exactly one of ${checkFields.join(", ")}`,
);
export type PolicyGate = z.infer<typeof PolicyGate>;
