/** The label selectors that a RolloutPolicy may have: bounded, and without unknown fields. */
import { z } from "zod";

const key = z.string().min(1).max(317);
const value = z.string().max(63);

const Expression = z.strictObject({
  key,
  operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]),
  values: z.array(value).max(32).optional(),
}).refine(hasFittingValues, "must have values with In and NotIn, and none with Exists and DoesNotExist");

/** Selects objects; an empty selector selects all. */
export const LabelSelector = z.strictObject({
  matchLabels: z.record(key, value).refine((labels) => Object.keys(labels).length <= 32, "must have at most 32 labels")
    .optional(),
  matchExpressions: z.array(Expression).max(16).optional(),
});
export type LabelSelector = z.infer<typeof LabelSelector>;

function hasFittingValues({ operator, values = [] }: { operator: string; values?: string[] | undefined }): boolean {
  return (operator === "In" || operator === "NotIn") === (values.length > 0);
}
