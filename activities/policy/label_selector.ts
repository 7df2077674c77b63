/** The label selectors that a RolloutPolicy may hold: bounded, and with nothing in them that is not understood. */
import { z } from "zod";

const key = z.string().min(1).max(317);
const value = z.string().max(63);

const Expression = z.strictObject({
  key,
  operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]),
  values: z.array(value).max(32).optional(),
}).refine(hasFittingValues, "In and NotIn need values, Exists and DoesNotExist have none");

/** Which objects are meant; an empty one means all. */
export const LabelSelector = z.strictObject({
  matchLabels: z.record(key, value).refine((labels) => Object.keys(labels).length <= 32, "must have at most 32 labels")
    .optional(),
  matchExpressions: z.array(Expression).max(16).optional(),
});
export type LabelSelector = z.infer<typeof LabelSelector>;

function hasFittingValues({ operator, values = [] }: { operator: string; values?: string[] | undefined }): boolean {
  return (operator === "In" || operator === "NotIn") === (values.length > 0);
}
