/** Label selectors as Kubernetes writes them: whom they mean, and the text with which the API server is asked. */
import { z } from "zod";

/** One thing asked of a label; of nodes also Gt and Lt, which compare numbers. */
export const Requirement = z.object({
  key: z.string(),
  operator: z.string(),
  values: z.array(z.string()).nullish(),
});
export type Requirement = z.infer<typeof Requirement>;

/** Which objects are meant; an empty one means all. */
export const Selector = z.object({
  matchLabels: z.record(z.string(), z.string()).nullish(),
  matchExpressions: z.array(Requirement).nullish(),
});
export type Selector = z.infer<typeof Selector>;

/** How many requirements a selector makes; 0 is every object. */
export function requirementsOf({ matchLabels, matchExpressions }: Selector): number {
  return Object.keys(matchLabels ?? {}).length + (matchExpressions ?? []).length;
}

/** All requirements hold for the labels. */
export function selects({ matchLabels, matchExpressions }: Selector, labels: Record<string, string> = {}): boolean {
  return Object.entries(matchLabels ?? {}).every(([key, wanted]) => labels[key] === wanted) &&
    (matchExpressions ?? []).every((requirement) => holds(requirement, labels[requirement.key]));
}

/** One requirement holds for the value; without the label nothing is "in", and so it is "not in". An unknown operator never holds. */
export function holds({ operator, values }: Requirement, found: string | undefined): boolean {
  const wanted = values ?? [];
  if (operator === "In") return found !== undefined && wanted.includes(found);
  if (operator === "NotIn") return found === undefined || !wanted.includes(found);
  if (operator === "Exists") return found !== undefined;
  if (operator === "DoesNotExist") return found === undefined;
  if (operator === "Gt") return Number(found) > Number(wanted[0]);
  return operator === "Lt" && Number(found) < Number(wanted[0]);
}

/** The same selector as one text; what it does not know, the API server refuses. */
export function selectorText({ matchLabels, matchExpressions }: Selector): string {
  const equal = Object.entries(matchLabels ?? {}).map(([key, wanted]) => `${key}=${wanted}`);
  return [...equal, ...(matchExpressions ?? []).map(requirementText)].join(",");
}

function requirementText({ key, operator, values }: Requirement): string {
  if (operator === "Exists") return key;
  if (operator === "DoesNotExist") return `!${key}`;
  return `${key} ${operator.toLowerCase()} (${(values ?? []).join(",")})`;
}
