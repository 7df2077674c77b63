/**
 * The CRDs of `update.edgeless.systems/v1alpha1` as in the Constellation node operator (7cb5b83): all cluster-scoped,
 * and lenient about unused fields.
 */
import { z } from "zod";
import { type ClusterResource, Metadata, time } from "./resources.ts";

const group = { group: "update.edgeless.systems", version: "v1alpha1" } as const;

/** Empty strings of Go objects may be missing in answers of the API server; both forms become "". */
const text = z.string().default("");
/** An unreadable deadline counts as missing, because one object must not stop the reads of all objects of its kind. */
const deadline = time.nullish().catch(undefined);
const ClusterMetadata = Metadata.omit({ namespace: true });

const Condition = z.object({
  ...{ type: z.string(), status: z.string(), reason: text, message: text },
  lastTransitionTime: z.string().optional(),
}).loose();

/** The versions that all nodes must run in the scaling groups that name this NodeVersion. */
export const NodeVersion = z.object({
  metadata: ClusterMetadata.extend({ managedFields: z.array(z.unknown()).optional() }),
  spec: z.object({
    image: text,
    imageVersion: text,
    kubernetesComponentsReference: text,
    kubernetesClusterVersion: text,
  }).loose().prefault({}),
  status: z.object({ conditions: z.array(Condition).default([]) }).loose().optional(),
});
export type NodeVersion = z.infer<typeof NodeVersion>;

/** One scaling group of a cloud; `nodeImage` is the name of its NodeVersion. */
export const ScalingGroup = z.object({
  metadata: ClusterMetadata,
  spec: z.object({
    nodeImage: text,
    groupId: text,
    autoscalerGroupName: text,
    nodeGroupName: text,
    autoscaling: z.boolean().default(false),
    min: z.number().int().default(0),
    max: z.number().int().default(0),
    role: text,
  }).loose().prefault({}),
  status: z.object({ imageReference: text, conditions: z.array(Condition).default([]) }).loose().optional(),
});
export type ScalingGroup = z.infer<typeof ScalingGroup>;

/** A machine that is joining or leaving a group. */
export const PendingNode = z.object({
  metadata: ClusterMetadata,
  spec: z.object({
    providerID: text,
    groupID: text,
    nodeName: text,
    goal: z.enum(["Join", "Leave"]).optional(),
    deadline,
  }).loose().prefault({}),
  status: z.object({
    cspState: z.enum(["Unknown", "Creating", "Ready", "Stopped", "Terminating", "Terminated", "Failed"]).optional(),
    reachedGoal: z.boolean().default(false),
  }).loose().optional(),
});
export type PendingNode = z.infer<typeof PendingNode>;

/** An admitted node with the components that it will run; created before the Node exists. */
export const JoiningNode = z.object({
  metadata: ClusterMetadata,
  spec: z.object({
    name: text,
    componentsreference: text,
    iscontrolplane: z.boolean().default(false),
    deadline,
  }).loose().prefault({}),
});
export type JoiningNode = z.infer<typeof JoiningNode>;

/** Defines whether the cluster-autoscaler runs, and its arguments. */
export const AutoscalingStrategy = z.object({
  metadata: ClusterMetadata,
  spec: z.object({
    enabled: z.boolean().default(false),
    deploymentName: text,
    deploymentNamespace: text,
    autoscalerExtraArgs: z.record(z.string(), z.string()).default({}),
  }).loose().prefault({}),
  status: z.object({
    enabled: z.boolean().optional(),
    replicas: z.number().int().optional(),
    observedGeneration: z.number().int().optional(),
    conditions: z.array(Condition).default([]),
  }).loose().optional(),
});
export type AutoscalingStrategy = z.infer<typeof AutoscalingStrategy>;

export const nodeVersions: ClusterResource<NodeVersion> = { ...group, plural: "nodeversions", schema: NodeVersion };
export const scalingGroups: ClusterResource<ScalingGroup> = { ...group, plural: "scalinggroups", schema: ScalingGroup };
export const pendingNodes: ClusterResource<PendingNode> = { ...group, plural: "pendingnodes", schema: PendingNode };
export const joiningNodes: ClusterResource<JoiningNode> = { ...group, plural: "joiningnodes", schema: JoiningNode };
export const autoscalingStrategies: ClusterResource<AutoscalingStrategy> = {
  ...{ ...group, plural: "autoscalingstrategies" },
  schema: AutoscalingStrategy,
};
