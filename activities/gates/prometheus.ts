/** Gate Prometheus: the value of a query is on the right side of a threshold, once there are enough samples. */
import type { Check } from "../../workflows/contracts/mod.ts";
import type { Finding } from "./finding.ts";
import { queryPrometheus } from "./prometheus_query.ts";
import type { Subject } from "./subject.ts";

type Prometheus = Extract<Check, { kind: "Prometheus" }>;

const comparisons: Record<Prometheus["operator"], (value: number, threshold: number) => boolean> = {
  "<": (value, threshold) => value < threshold,
  "<=": (value, threshold) => value <= threshold,
  ">": (value, threshold) => value > threshold,
  ">=": (value, threshold) => value >= threshold,
};

/**
 * Every series of the answer must keep to the threshold; the samples of all series are added up.
 * No answer, no series, no number and too few samples are not measured.
 */
export async function lookAtPrometheus(subject: Subject, check: Prometheus): Promise<Finding> {
  const ask = (query: string): Promise<number[]> =>
    queryPrometheus(check.url, filledIn(query, subject), subject.metrics);
  try {
    const [values, samples] = await Promise.all([ask(check.query), check.samples === null ? null : ask(check.samples)]);
    return judge(check, values, samples);
  } catch (error) {
    return { state: "Unknown", message: `not measured: ${error instanceof Error ? error.message : "no answer"}` };
  }
}

function judge(check: Prometheus, values: readonly number[], samples: readonly number[] | null): Finding {
  const { operator, threshold, minSamples } = check;
  const wanted = `wanted ${operator} ${threshold}`;
  const count = (samples ?? []).filter(Number.isFinite).reduce((sum, sample) => sum + sample, 0);
  if (samples !== null && count < minSamples) {
    return { state: "Unknown", message: `${count} samples, at least ${minSamples} are wanted to judge by` };
  }
  if (values.length === 0) return { state: "Unknown", message: `the query gave no series, ${wanted}` };
  if (!values.every(Number.isFinite)) return { state: "Unknown", message: `the query gave no number, ${wanted}` };
  const breach = values.find((value) => !comparisons[operator](value, threshold));
  const of = `${values.length > 1 ? ` (of ${values.length} series)` : ""}${
    samples === null ? "" : `, ${count} samples`
  }`;
  if (breach !== undefined) return { state: "False", message: `measured ${breach}${of}, ${wanted}` };
  return { state: "True", message: `measured ${values[0]}${of}, ${wanted}` };
}

/** `{{node}}` and the like, so that one gate can be about the machine it is asked for; PromQL has no such braces. */
function filledIn(query: string, { pool, machine, node }: Subject): string {
  const values: Record<string, string> = { ...pool, pool: pool.name, machine: machine ?? "", node: node ?? "" };
  return query.replaceAll(/\{\{(pool|namespace|machine|node)\}\}/g, (_, name: string) => values[name] ?? "");
}
