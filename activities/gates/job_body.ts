/** The Job of a gate: a CronJob's template under a name that is derived from the evaluation alone. */
import { createHash } from "node:crypto";
import type { ObjectBody } from "../kube/resources.ts";
import type { Subject } from "./subject.ts";
import type { CronJob } from "./workloads.ts";

/** Annotation with `gateKey`; also on the Job's pods, whose containers can get it through the downward API. */
export const gateKeyAnnotation = "ostler.dev/gate-key";

/** Annotation with the time (RFC 3339) at which a Job is stopped; only if Ostler and not the template set that time. */
export const gateUntilAnnotation = "ostler.dev/gate-until";

const dayInSeconds = 86_400;

/** Returns pool, gate and evaluation in one text; equal for every attempt of the evaluation. */
export function gateKey({ pool, gate, key }: Subject): string {
  return `${pool.namespace}/${pool.name}/${gate.name}/${key}`;
}

/** Returns a name of at most 63 characters, because it becomes a label of the Job's pods. */
export function jobName(subject: Subject, cronJob: string): string {
  const hash = createHash("sha256").update(gateKey(subject)).digest("hex").slice(0, 12);
  return `${cronJob.slice(0, 43).replace(/[-.]+$/, "")}-ostler-${hash}`;
}

/**
 * Returns a Job without an owner, so that no deletion of another object ends it. Kubernetes stops it at the deadline of
 * its template, or, if the template has none, when the activity's time ends. Kubernetes deletes it a day after its end,
 * or later if the template requires that.
 */
export function jobFor(subject: Subject, { metadata, spec }: CronJob): ObjectBody {
  const { jobTemplate } = spec;
  const annotations = annotationsOf(subject);
  const { template } = jobTemplate.spec;
  const podMetadata = { ...template.metadata, annotations: { ...template.metadata?.annotations, ...annotations } };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      namespace: metadata.namespace,
      name: jobName(subject, metadata.name),
      labels: { ...jobTemplate.metadata?.labels, "app.kubernetes.io/managed-by": "ostler" },
      annotations: { ...jobTemplate.metadata?.annotations, ...annotations, ...untilOf(subject, jobTemplate.spec) },
    },
    spec: {
      activeDeadlineSeconds: Math.max(1, Math.ceil((subject.until - Date.now()) / 1000)),
      ...jobTemplate.spec,
      // Keeps the Job until its result is read, because the next evaluation would create and run a deleted Job again.
      ttlSecondsAfterFinished: Math.max(dayInSeconds, Number(jobTemplate.spec["ttlSecondsAfterFinished"] ?? 0)),
      template: { ...template, metadata: podMetadata },
    },
  };
}

function untilOf({ until }: Subject, template: Record<string, unknown>): Record<string, string> {
  return template["activeDeadlineSeconds"] ? {} : { [gateUntilAnnotation]: new Date(until).toISOString() };
}

function annotationsOf(subject: Subject): Record<string, string> {
  const { pool, gate, machine, node } = subject;
  return {
    [gateKeyAnnotation]: gateKey(subject),
    "ostler.dev/pool": `${pool.namespace}/${pool.name}`,
    "ostler.dev/gate": gate.name,
    ...(machine === undefined ? {} : { "ostler.dev/machine": machine }),
    ...(node === undefined ? {} : { "ostler.dev/node": node }),
  };
}
