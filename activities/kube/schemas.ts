/** What Ostler reads of machine-controller's objects; lenient about everything it does not use. */
import { z } from "zod";
import { Selector } from "./label_selector.ts";

const annotations = z.record(z.string(), z.string()).optional();

const time = z.union([z.string(), z.date()]).transform((value) => new Date(value).toISOString());

const owner = z.object({ kind: z.string(), name: z.string(), uid: z.string() }).loose();

export const Metadata = z.object({
  name: z.string(),
  namespace: z.string(),
  uid: z.string(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: time,
  deletionTimestamp: time.optional(),
  annotations,
  labels: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(owner).optional(),
});
export type Metadata = z.infer<typeof Metadata>;

/** Decoded strictly only when rendering: a broken provider config must not make the object unreadable. */
const MachineSpec = z.object({
  versions: z.object({ kubelet: z.string().optional() }).loose().optional(),
  providerSpec: z.object({ value: z.unknown().optional() }).loose().optional(),
}).loose();
export type MachineSpec = z.infer<typeof MachineSpec>;

const Amount = z.union([z.number(), z.string()]);

export const MachineDeployment = z.object({
  metadata: Metadata,
  spec: z.object({
    replicas: z.number().int().optional(),
    selector: Selector.loose().optional(),
    strategy: z.object({
      rollingUpdate: z.object({ maxSurge: Amount.nullish(), maxUnavailable: Amount.nullish() }).loose().nullish(),
    }).loose().nullish(),
    template: z.object({ spec: MachineSpec.optional() }).loose().optional(),
  }).loose(),
  status: z.object({ observedGeneration: z.number().optional() }).loose().optional(),
});
export type MachineDeployment = z.infer<typeof MachineDeployment>;

export const MachineSet = z.object({
  metadata: Metadata,
  spec: z.object({ replicas: z.number().nullish(), template: z.looseObject({}).optional() }).loose().optional(),
  status: z.object({ replicas: z.number().nullish(), readyReplicas: z.number().nullish() }).loose().optional(),
});
export type MachineSet = z.infer<typeof MachineSet>;

export const Machine = z.object({
  metadata: Metadata,
  spec: MachineSpec,
  status: z.object({
    nodeRef: z.object({ name: z.string() }).loose().nullish(),
    addresses: z.array(z.object({ address: z.string() }).loose()).nullish(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() }).loose()).nullish(),
    errorReason: z.string().nullish(),
    errorMessage: z.string().nullish(),
  }).loose().optional(),
});
export type Machine = z.infer<typeof Machine>;

export const OsProfileObject = z.object({ metadata: Metadata, spec: z.unknown() });
export type OsProfileObject = z.infer<typeof OsProfileObject>;

/** Read in two steps, so that a fault in one policy is no trouble of pools that it does not select. */
export const RolloutPolicyObject = z.object({ metadata: Metadata, spec: z.unknown() });
export type RolloutPolicyObject = z.infer<typeof RolloutPolicyObject>;

export const RolloutObject = z.object({
  metadata: Metadata,
  status: z.object({
    observed: z.string().optional(),
    phase: z.string().optional(),
    conditions: z.array(
      z.object({ type: z.string(), status: z.string(), lastTransitionTime: time.optional() }).loose(),
    ).optional(),
    history: z.array(z.record(z.string(), z.unknown())).optional(),
    credentials: z.object({ renewAt: z.string().optional() }).loose().optional(),
  }).loose().optional(),
});
export type RolloutObject = z.infer<typeof RolloutObject>;
