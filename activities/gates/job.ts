/** Gate Job: a Job made from a CronJob's template completes. */
import type { Check } from "../../workflows/contracts/mod.ts";
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { createObject, readObject } from "../kube/resources.ts";
import type { ObjectName } from "../kube/resources.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import type { Finding } from "./finding.ts";
import { gateKey, gateKeyAnnotation, gateUntilAnnotation, jobFor, jobName } from "./job_body.ts";
import type { Subject } from "./subject.ts";
import { cronJobs, jobs } from "./workloads.ts";
import type { Job } from "./workloads.ts";

type JobCheck = Extract<Check, { kind: "Job" }>;

/** Starts the Job at the first look and finds the same one at every other, whichever worker looks; its logs are not read. */
export async function lookAtJob(subject: Subject, check: JobCheck): Promise<Finding> {
  const name = { namespace: check.namespace, name: jobName(subject, check.cronJob) };
  const job = await ifFound(readObject(subject.kube, jobs, name));
  if (!job) return await start(subject, check);
  if (job.metadata.annotations?.[gateKeyAnnotation] !== gateKey(subject)) {
    throw refused("NameCollision", `Cannot use job "${nameOf(name)}": it is not of this gate`);
  }
  return judge(job);
}

async function start({ kube, ...subject }: Subject, check: JobCheck): Promise<Finding> {
  const cronJob = await ifFound(
    readObject(kube, cronJobs, { namespace: check.namespace, name: check.cronJob }),
  );
  if (!cronJob) return { state: "Unknown", message: `CronJob "${check.namespace}/${check.cronJob}" does not exist` };
  const body = jobFor({ kube, ...subject }, cronJob);
  await createOnce(kube, body);
  return { state: "Unknown", message: `job "${nameOf(body.metadata)}" was started, wanted Complete` };
}

// Another try of the same question may have been quicker.
async function createOnce(kube: Kube, body: ReturnType<typeof jobFor>): Promise<void> {
  try {
    await createObject(kube, jobs, body);
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
  }
}

function judge({ metadata, status }: Job): Finding {
  const job = `job "${nameOf(metadata)}"`;
  const ended = status?.conditions?.filter((condition) => condition.status === "True") ?? [];
  if (ended.some(({ type }) => type === "Complete")) return { state: "True", message: `${job} is Complete` };
  const failure = ended.find(({ type }) => type === "Failed");
  // Our patience ended, not the Job's own: who asks again later learns no more than whoever asked first.
  if (failure?.reason === "DeadlineExceeded" && metadata.annotations?.[gateUntilAnnotation]) {
    return { state: "Unknown", message: `${job} was stopped when its time was over, wanted Complete` };
  }
  if (failure) {
    const why = [failure.reason, failure.message].filter(Boolean).join(": ");
    return { state: "Failed", message: `${job} has Failed${why ? ` (${why})` : ""}, wanted Complete` };
  }
  const pods = `${status?.active ?? 0} of its pods are active, ${status?.failed ?? 0} have failed`;
  return { state: "Unknown", message: `${job} has not ended: ${pods}, wanted Complete` };
}

function nameOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}
