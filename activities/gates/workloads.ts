/**
 * The built-in kinds that gates read and create, limited to the fields they use; all other fields are passed on unread.
 */
import { z } from "zod";
import { inWords } from "../../profiles/fault_words.ts";
import type { Kube } from "../kube/client.ts";
import { refused } from "../failures.ts";
import { Requirement, Selector } from "../kube/status.ts";
import type { Resource } from "../kube/resources.ts";

const labels = z.record(z.string(), z.string()).nullish();
const Metadata = z.object({ name: z.string(), namespace: z.string(), uid: z.string(), annotations: labels }).loose();

const Term = z.object({
  matchExpressions: z.array(Requirement).nullish(),
  matchFields: z.array(Requirement).nullish(),
});
export type Term = z.infer<typeof Term>;

const Toleration = z.object({
  key: z.string().nullish(),
  operator: z.string().nullish(),
  value: z.string().nullish(),
  effect: z.string().nullish(),
});
export type Toleration = z.infer<typeof Toleration>;

const NodeAffinity = z.object({
  requiredDuringSchedulingIgnoredDuringExecution: z.object({ nodeSelectorTerms: z.array(Term) }).nullish(),
});

export const Placement = z.object({
  nodeSelector: labels,
  hostNetwork: z.boolean().nullish(),
  affinity: z.object({ nodeAffinity: NodeAffinity.nullish() }).nullish(),
  tolerations: z.array(Toleration).nullish(),
});
/** The placement rules of a pod template. */
export type Placement = z.infer<typeof Placement>;

export const DaemonSet = z.object({
  metadata: Metadata,
  spec: z.object({
    selector: Selector,
    template: z.object({ spec: Placement }),
  }),
});
export type DaemonSet = z.infer<typeof DaemonSet>;

export const CronJob = z.object({
  metadata: Metadata,
  spec: z.object({
    jobTemplate: z.object({
      metadata: z.object({ labels, annotations: labels }).nullish(),
      spec: z.object({ template: z.object({ metadata: z.object({ annotations: labels }).loose().nullish() }).loose() })
        .loose(),
    }),
  }),
});
export type CronJob = z.infer<typeof CronJob>;

export const Job = z.object({
  metadata: Metadata,
  status: z.object({
    active: z.number().nullish(),
    failed: z.number().nullish(),
    conditions: z.array(
      z.object({ type: z.string(), status: z.string(), reason: z.string().nullish(), message: z.string().nullish() }),
    ).nullish(),
  }).nullish(),
});
export type Job = z.infer<typeof Job>;

export const cronJobs: Resource<CronJob> = { group: "batch", version: "v1", plural: "cronjobs", schema: CronJob };
export const jobs: Resource<Job> = { group: "batch", version: "v1", plural: "jobs", schema: Job };

/** Returns the DaemonSets that a selector matches in one namespace, or in all if `namespace` is null. */
export async function listDaemonSets(
  kube: Kube,
  { namespace, selector }: { namespace: string | null; selector: string },
): Promise<DaemonSet[]> {
  const kind = { group: "apps", version: "v1", plural: "daemonsets", labelSelector: selector };
  const answer: unknown = namespace === null
    ? await kube.custom.listClusterCustomObject(kind)
    : await kube.custom.listNamespacedCustomObject({ ...kind, namespace });
  const read = z.object({ items: z.array(DaemonSet) }).safeParse(answer, { error: inWords });
  if (read.success) return read.data.items;
  throw refused(
    "ObjectInvalid",
    `Failed to read the DaemonSets with labels "${selector}": ${read.error.issues[0]?.message}`,
  );
}
