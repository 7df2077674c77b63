/** Evaluates one gate many times: decides when it is due, when false measurements fail it, and what its verdict is. */
import { ApplicationFailure } from "@temporalio/common";
import type { Check, FailureType, GateVerdict } from "../../workflows/contracts/mod.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { lookAtDaemonSets } from "./daemon_sets.ts";
import { type Finding, some } from "./finding.ts";
import { lookAtPods } from "./pods.ts";
import { nodesOf, type Subject } from "./subject.ts";
import type { V1Node } from "@kubernetes/client-node";
import { queryPrometheus } from "./prometheus_query.ts";
import { counted } from "../counted.ts";
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { createObject, type ObjectName, readObject } from "../kube/resources.ts";
import { gateKey, gateKeyAnnotation, gateUntilAnnotation, jobFor, jobName } from "./job_body.ts";
import { cronJobs, type Job, jobs } from "./workloads.ts";

export interface AskedGate {
  subject: Subject;
  /** Epoch ms at which the timeout of this gate (`within`) ends. */
  deadline: number;
  last: Finding;
  /** The last evaluation that was not Unknown; null before the first one. */
  measured: Finding | null;
  /** Number of consecutive measurements that were false. */
  breaches: number;
  /** Time of the next evaluation (epoch ms). */
  dueAt: number;
}

/** Milliseconds between evaluations: for a machine, for a whole wave, and between measurements of a metric. */
export interface Pace {
  machine: number;
  wave: number;
  metric: number;
}

/** Consecutive false measurements after which a metric has failed, because a single measurement may be noise. */
const breachesThatFail = 3;

/** Returns a gate that has not been evaluated yet. */
export function newlyAsked(subject: Subject, deadline: number): AskedGate {
  const last: Finding = { state: "Unknown", message: "not evaluated yet" };
  return { subject, deadline, last, measured: null, breaches: 0, dueAt: 0 };
}

/** Evaluates the gate if it is due. */
export async function lookAgain(asked: AskedGate, pace: Pace): Promise<void> {
  if (Date.now() < asked.dueAt || asked.last.state === "Failed" || isFinished(asked)) return;
  const seen = await look(asked.subject);
  asked.dueAt = Date.now() + paceOf(asked.subject, pace);
  if (seen.state === "True") asked.breaches = 0;
  if (seen.state === "False") asked.breaches += 1;
  const isMetric = asked.subject.gate.check.kind === "Prometheus";
  asked.last = isMetric && seen.state === "False" && asked.breaches >= breachesThatFail
    ? { state: "Failed", message: `${seen.message}, ${asked.breaches} times in a row` }
    : seen;
  if (asked.last.state !== "Unknown") asked.measured = asked.last;
}

/**
 * Returns whether the gate has failed for good, or its timeout has ended while neither its last evaluation nor its last
 * measurement is true.
 */
export function isLost({ last, measured, deadline }: AskedGate): boolean {
  return last.state === "Failed" || (Date.now() >= deadline && last.state !== "True" && measured?.state !== "True");
}

/**
 * Returns the verdict of a gate. A gate whose last measurement was false is Inconclusive until its timeout has ended
 * (`isOver`), and Failed from then on.
 */
export function verdictOf({ subject, last, measured }: AskedGate, isOver: boolean): GateVerdict {
  const verdict = (outcome: GateVerdict["outcome"], message: string): GateVerdict => ({
    gate: subject.gate.name,
    outcome,
    message: message.slice(0, 500),
  });
  if (last.state === "True") return verdict("Passed", last.message);
  if (last.state === "Failed" || (isOver && last.state === "False")) return verdict("Failed", last.message);
  if (isOver && measured?.state === "False") {
    return verdict("Failed", `${measured.message}; since then ${last.message}`);
  }
  return verdict("Inconclusive", last.message);
}

// Returns whether the gate is a Job that is complete. Such a gate is not evaluated again: the Job may be deleted while
// other gates are still evaluated, and another evaluation would create the Job again.
function isFinished({ subject, last }: AskedGate): boolean {
  return subject.gate.check.kind === "Job" && last.state === "True";
}

function paceOf({ gate, machine }: Subject, pace: Pace): number {
  if (gate.check.kind === "Prometheus") return pace.metric;
  return machine === undefined ? pace.wave : pace.machine;
}

// Evaluates the gate. Returns Unknown if the API server denies the evaluation. Throws every other failure: one of an
// invalid request because such a gate can never be measured, and one of an unavailable API server because the time
// without answers must not count as time of the gate.
function look(subject: Subject): Promise<Finding> {
  const attempt = `evaluate gate "${subject.gate.name}" of "${subject.pool.name}"`;
  return orUnknown("AccessDenied", attempting(attempt, () => measure(subject)));
}

async function orUnknown(type: FailureType, work: Promise<Finding>): Promise<Finding> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ApplicationFailure && error.type === type) return { state: "Unknown", message: error.message };
    throw error;
  }
}

function measure(subject: Subject): Promise<Finding> {
  const { check } = subject.gate;
  if (check.kind === "NodeCondition") return lookAtNodeCondition(subject, check);
  if (check.kind === "DaemonSets") return lookAtDaemonSets(subject, check);
  if (check.kind === "Pods") return lookAtPods(subject, check);
  if (check.kind === "Prometheus") return lookAtPrometheus(subject, check);
  return lookAtJob(subject, check);
}

// Gate NodeCondition: the condition has the wanted status on every node of the subject.

type NodeCondition = Extract<Check, { kind: "NodeCondition" }>;

/** Status "Unknown" and an absent condition count as not measured, because a network partition may cause both. */
async function lookAtNodeCondition(subject: Subject, check: NodeCondition): Promise<Finding> {
  const { found, absent } = await nodesOf(subject);
  const seen = found.map((node) => ({ name: node.metadata?.name ?? "", status: statusOn(node, check.type) }));
  const wanted = `wanted ${check.type}=${check.status}`;
  const wrong = seen.filter(({ status }) => status !== check.status && status !== "Unknown");
  const unknown = [...seen.filter(({ status }) => status === "Unknown").map(({ name }) => name), ...absent];
  if (wrong.length > 0) {
    const names = some(wrong.map(({ name }) => `"${name}"`));
    const message = `${wrong.length} of ${seen.length} nodes have ${check.type}=${wrong[0]?.status} (${names})`;
    return { state: "False", message: `${message}, ${wanted}` };
  }
  if (unknown.length > 0) {
    return { state: "Unknown", message: `${check.type} is unknown for ${some(unknown.map(quoted))}, ${wanted}` };
  }
  return { state: "True", message: `${check.type}=${check.status} on ${seen.length} of ${seen.length} nodes` };
}

function statusOn(node: V1Node, type: string): string {
  return node.status?.conditions?.find((condition) => condition.type === type)?.status ?? "Unknown";
}

function quoted(name: string): string {
  return `node "${name}"`;
}

// The gate Prometheus passes when the value of its query meets the threshold, once the query has enough samples.

type Prometheus = Extract<Check, { kind: "Prometheus" }>;

const comparisons: Record<Prometheus["operator"], (value: number, threshold: number) => boolean> = {
  "<": (value, threshold) => value < threshold,
  "<=": (value, threshold) => value <= threshold,
  ">": (value, threshold) => value > threshold,
  ">=": (value, threshold) => value >= threshold,
};

/**
 * Every series of the check's `query` must meet the threshold. The gate is not measured if a query fails, if `query`
 * returns no series or a value that is not a finite number, or if the values of all series of `samples` add up to less
 * than `minSamples`.
 */
async function lookAtPrometheus(subject: Subject, check: Prometheus): Promise<Finding> {
  const ask = (query: string): Promise<number[]> =>
    queryPrometheus(check.url, filledIn(query, subject), subject.metrics);
  try {
    const [values, samples] = await Promise.all([ask(check.query), check.samples === null ? null : ask(check.samples)]);
    return judge(check, values, samples);
  } catch (error) {
    return { state: "Unknown", message: `not measured: ${error instanceof Error ? error.message : "no response"}` };
  }
}

function judge(check: Prometheus, values: readonly number[], samples: readonly number[] | null): Finding {
  const { operator, threshold, minSamples } = check;
  const wanted = `wanted ${operator} ${threshold}`;
  const count = (samples ?? []).filter(Number.isFinite).reduce((sum, sample) => sum + sample, 0);
  if (samples !== null && count < minSamples) {
    return { state: "Unknown", message: `${counted(count, "sample")}, but at least ${minSamples} are required` };
  }
  if (values.length === 0) return { state: "Unknown", message: `the query returned no series, ${wanted}` };
  if (!values.every(Number.isFinite)) {
    return { state: "Unknown", message: `the query returned a value that is not a number, ${wanted}` };
  }
  const breach = values.find((value) => !comparisons[operator](value, threshold));
  const of = `${values.length > 1 ? ` (of ${values.length} series)` : ""}${
    samples === null ? "" : `, ${counted(count, "sample")}`
  }`;
  if (breach !== undefined) return { state: "False", message: `measured ${breach}${of}, ${wanted}` };
  return { state: "True", message: `measured ${values[0]}${of}, ${wanted}` };
}

/**
 * Replaces the variables `{{pool}}`, `{{namespace}}`, `{{machine}}` and `{{node}}`; PromQL does not use double braces.
 */
function filledIn(query: string, { pool, machine, node }: Subject): string {
  const values: Record<string, string> = { ...pool, pool: pool.name, machine: machine ?? "", node: node ?? "" };
  return query.replaceAll(/\{\{(pool|namespace|machine|node)\}\}/g, (_, name: string) => values[name] ?? "");
}

// Gate Job: a Job made from a CronJob's template completes.

type JobCheck = Extract<Check, { kind: "Job" }>;

/**
 * Starts the Job at the first evaluation; later evaluations, on any worker, read the status of the same Job, but never
 * its logs.
 */
async function lookAtJob(subject: Subject, check: JobCheck): Promise<Finding> {
  const name = { namespace: check.namespace, name: jobName(subject, check.cronJob) };
  const job = await ifFound(readObject(subject.kube, jobs, name));
  if (!job) return await start(subject, check);
  if (job.metadata.annotations?.[gateKeyAnnotation] !== gateKey(subject)) {
    throw refused("NameCollision", `Failed to use Job "${nameOf(name)}": the Job was not created for this gate`);
  }
  return judgeJob(job);
}

async function start({ kube, ...subject }: Subject, check: JobCheck): Promise<Finding> {
  const cronJob = await ifFound(
    readObject(kube, cronJobs, { namespace: check.namespace, name: check.cronJob }),
  );
  if (!cronJob) return { state: "Unknown", message: `CronJob "${check.namespace}/${check.cronJob}" does not exist` };
  const body = jobFor({ kube, ...subject }, cronJob);
  const job = `Job "${nameOf(body.metadata)}"`;
  const creation = attempting(`create ${job}`, async (): Promise<Finding> => {
    await createOnce(kube, body);
    return { state: "Unknown", message: `${job} was started, wanted Complete` };
  });
  // The API server has just answered reads, so a failure may be that of an admission webhook, and may last.
  return await orUnknown("ApiUnavailable", creation);
}

// Creates a Job. Ignores a 409, because another attempt of the same evaluation may have created the Job first.
async function createOnce(kube: Kube, body: ReturnType<typeof jobFor>): Promise<void> {
  try {
    await createObject(kube, jobs, body);
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
  }
}

function judgeJob({ metadata, status }: Job): Finding {
  const job = `Job "${nameOf(metadata)}"`;
  const ended = status?.conditions?.filter((condition) => condition.status === "True") ?? [];
  if (ended.some(({ type }) => type === "Complete")) return { state: "True", message: `${job} is Complete` };
  const failure = ended.find(({ type }) => type === "Failed");
  // A Job that was stopped by Ostler's deadline, and not by a deadline of its template, has no result.
  if (failure?.reason === "DeadlineExceeded" && metadata.annotations?.[gateUntilAnnotation]) {
    return { state: "Unknown", message: `${job} exceeded its deadline and was stopped, wanted Complete` };
  }
  if (failure) {
    const why = [failure.reason, failure.message].filter(Boolean).join(": ");
    return { state: "Failed", message: `${job} failed${why ? ` (${why})` : ""}, wanted Complete` };
  }
  const pods = `${counted(status?.active ?? 0, "pod")} active, ${status?.failed ?? 0} failed`;
  return { state: "Unknown", message: `${job} has not finished: ${pods}, wanted Complete` };
}

function nameOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}
