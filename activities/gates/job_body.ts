/** The Job of a gate: a CronJob's template under a name that the question alone decides. */
import { createHash } from "node:crypto";
import type { ObjectBody } from "../kube/resources.ts";
import type { Subject } from "./subject.ts";
import type { CronJob } from "./workloads.ts";

/** What the Job is about; also on its pods, where the downward API hands annotations to a container. */
export const gateKeyAnnotation = "ostler.dev/gate-key";

/** RFC 3339; on a Job whose time was given to it by us, and not by its template. */
export const gateUntilAnnotation = "ostler.dev/gate-until";

const dayInSeconds = 86_400;

/** Pool, gate and question in one text; equal for every try of the question. */
export function gateKey({ pool, gate, key }: Subject): string {
  return `${pool.namespace}/${pool.name}/${gate.name}/${key}`;
}

/** At most 63 characters, as it becomes a label of the Job's pods. */
export function jobName(subject: Subject, cronJob: string): string {
  const hash = createHash("sha256").update(gateKey(subject)).digest("hex").slice(0, 12);
  return `${cronJob.slice(0, 43).replace(/[-.]+$/, "")}-ostler-${hash}`;
}

/**
 * Nobody owns it, so that it outlives no more than its own time: it stops when nobody waits for it any more, unless the
 * template says otherwise, and is removed a day later, or later where the template says so.
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
      // One that were removed before it is looked at would be run again.
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
