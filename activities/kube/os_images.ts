/**
 * The kind OSImage: an image of an operating system, and the signatures that admit it. Cluster-scoped, as nodes are.
 */
import { z } from "zod";
import { type ClusterResource, Metadata } from "./resources.ts";

const duration = /^(?=\d)(\d{1,6}d)?(\d{1,6}h)?(\d{1,6}m)?(\d{1,6}s)?$/;
const predicateType = z.string().min(1).max(300);

const Reference = z.string().max(512).regex(
  /^[A-Za-z0-9[][A-Za-z0-9.\-:\]]*\/[a-z0-9][a-z0-9._\-/]*(:[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127})?(@sha256:[0-9a-f]{64})?$/,
  "must be REGISTRY/PATH with a :TAG, an @sha256: digest, or both",
);

const Required = z.strictObject({ predicateType: predicateType.optional() });

const pem = z.array(z.string().max(8_192)).min(1).max(8);
const visible = z.string().min(1).regex(/^[!-~]+$/, "must be ASCII without spaces");

/**
 * The identities whose certificates admit an image: exact, because a pattern would admit anyone with a matching name.
 */
const Keyless = z.strictObject({
  /** Certificates of authorities in PEM, each of which is trusted directly. */
  roots: pem,
  /** Public keys of logs in PEM, which make the time of a signature trustworthy. */
  transparencyLogs: pem,
  identities: z.array(z.strictObject({ issuer: visible.max(256), subject: visible.max(512) })).min(1).max(8),
});

/**
 * The spec as users write it; strict, because an ignored unknown field could be a restriction that the user relies on.
 */
export const OSImageSpec = z.strictObject({
  reference: Reference,
  platform: z.string().max(64).regex(/^[a-z0-9]+\/[a-z0-9_]+(\/[a-z0-9]+)?$/, "must be os/arch").default(
    "linux/amd64",
  ),
  /** Public keys in PEM; a signature by any one of them, or by any identity of `keyless`, suffices. */
  keys: pem.optional(),
  keyless: Keyless.optional(),
  requireProvenance: Required.extend({ builder: z.string().min(1).max(512).optional() }).optional(),
  requireScan: Required.optional(),
  maxAge: z.string().max(30).regex(duration, "must be a duration such as 30d or 36h").optional(),
  insecure: z.boolean().default(false),
  pullSecret: z.string().max(253).regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/).optional(),
}).refine(({ insecure, pullSecret }) => !insecure || pullSecret === undefined, {
  message: "insecure and pullSecret are mutually exclusive: credentials are sent over https only",
}).refine(({ keys, keyless }) => keys !== undefined || keyless !== undefined, {
  message: "must have keys or keyless: without either, no signature is accepted",
});
export type OSImageSpec = z.infer<typeof OSImageSpec>;

const Condition = z.object({
  ...{ type: z.string(), status: z.string(), reason: z.string(), message: z.string() },
  lastTransitionTime: z.string(),
  observedGeneration: z.number().int().optional(),
});
export type ImageCondition = z.infer<typeof Condition>;

const Statement = z.object({
  ...{ predicateType: z.string(), signedBy: z.string() },
  ...{ builder: z.string().optional(), buildType: z.string().optional(), finishedOn: z.string().optional() },
}).loose();

/** A previously accepted image. */
const Former = z.object({
  ...{ digest: z.string(), signedBy: z.string(), acceptedAt: z.string() },
  indexDigest: z.string().optional(),
});
export type FormerImage = z.infer<typeof Former>;

const Status = z.object({
  observedGeneration: z.number().int().optional(),
  repository: z.string().optional(),
  digest: z.string().optional(),
  indexDigest: z.string().optional(),
  created: z.string().optional(),
  signedBy: z.string().optional(),
  signedDigest: z.string().optional(),
  provenance: Statement.optional(),
  scan: Statement.optional(),
  /** Previously accepted images, the newest first. */
  history: z.array(Former).default([]),
  conditions: z.array(Condition).default([]),
}).loose();
export type OSImageStatus = z.infer<typeof Status>;

/** The spec is parsed later, by `OSImageSpec`, so that an invalid one can be reported in the status. */
export const OSImage = z.object({
  metadata: Metadata.omit({ namespace: true }),
  spec: z.unknown(),
  status: Status.optional(),
});
export type OSImage = z.infer<typeof OSImage>;

export const osImages: ClusterResource<OSImage> = {
  group: "ostler.dev",
  version: "v1alpha1",
  plural: "osimages",
  schema: OSImage,
};

/** Returns the condition that shows whether an image may run. */
export function acceptedCondition({ status }: Pick<OSImage, "status">): ImageCondition | undefined {
  return status?.conditions.find(({ type }) => type === "Accepted");
}

/** Returns whether the current spec was verified and the image accepted. */
export function isAccepted(image: Pick<OSImage, "metadata" | "status">): boolean {
  const { status, observedGeneration } = acceptedCondition(image) ?? {};
  return status === "True" && observedGeneration === image.metadata.generation;
}
