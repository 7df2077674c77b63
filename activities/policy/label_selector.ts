/** Label selectors as Kubernetes writes them, told apart by how much they ask for. */
import { z } from "zod";

const key = z.string().min(1).max(317);
const value = z.string().max(63);

const Expression = z.strictObject({
  key,
  operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]),
  values: z.array(value).max(32).optional(),
}).refine(hasFittingValues, "In and NotIn need values, Exists and DoesNotExist have none");
type Expression = z.infer<typeof Expression>;

/** Which objects are meant; an empty one means all. */
export const LabelSelector = z.strictObject({
  matchLabels: z.record(key, value).refine((labels) => Object.keys(labels).length <= 32, "must have at most 32 labels")
    .optional(),
  matchExpressions: z.array(Expression).max(16).optional(),
});
export type LabelSelector = z.infer<typeof LabelSelector>;

/** How many requirements a selector makes; 0 is every object. */
export function requirementsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): number {
  return Object.keys(matchLabels).length + matchExpressions.length;
}

/** All requirements hold for the labels. */
export function selects(selector: LabelSelector, labels: Record<string, string> = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return Object.entries(matchLabels).every(([key, wanted]) => labels[key] === wanted) &&
    matchExpressions.every((expression) => holds(expression, labels[expression.key]));
}

/** The same selector as one text, which is how the API server is asked. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, wanted]) => `${key}=${wanted}`);
  return [...equal, ...matchExpressions.map(expressionText)].join(",");
}

function hasFittingValues({ operator, values = [] }: { operator: string; values?: string[] | undefined }): boolean {
  return (operator === "In" || operator === "NotIn") === (values.length > 0);
}

// As in Kubernetes, an object without the label is not "in" anything, and so it is "not in".
function holds({ operator, values = [] }: Expression, found: string | undefined): boolean {
  if (operator === "Exists") return found !== undefined;
  if (operator === "DoesNotExist") return found === undefined;
  return (found !== undefined && values.includes(found)) === (operator === "In");
}

function expressionText({ key, operator, values = [] }: Expression): string {
  if (operator === "Exists") return key;
  if (operator === "DoesNotExist") return `!${key}`;
  return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
}
