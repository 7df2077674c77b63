/** Requests of the API server to a webhook, and the answers (admission.k8s.io/v1). */
import { z } from "zod";

const KubeObject = z.object({
  metadata: z.object({
    name: z.string().optional(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).nullish(),
    deletionTimestamp: z.string().nullish(),
  }).loose(),
  spec: z.record(z.string(), z.unknown()).nullish(),
}).loose();
/** An object in a request, with the fields that every kind has. */
export type KubeObject = z.infer<typeof KubeObject>;

export const AdmissionReview = z.object({
  apiVersion: z.literal("admission.k8s.io/v1"),
  kind: z.literal("AdmissionReview"),
  request: z.object({
    uid: z.string(),
    operation: z.string(),
    name: z.string().optional(),
    namespace: z.string().optional(),
    userInfo: z.object({ username: z.string().default("") }).loose().default({ username: "" }),
    /** The new object; null on DELETE. */
    object: KubeObject.nullish(),
    /** The old object; null on CREATE. */
    oldObject: KubeObject.nullish(),
  }).loose(),
});
export type AdmissionRequest = z.infer<typeof AdmissionReview>["request"];

/** A step of a JSON patch (RFC 6902). */
export interface PatchStep {
  op: "add";
  path: string;
  value: unknown;
}

/** The result of a validation. */
export interface Verdict {
  /** Why the request is denied, with an HTTP status; missing if it is allowed. */
  denial?: { code: number; message: string };
  patch?: PatchStep[];
  warnings?: string[];
}

/** Validates requests about one kind. If it throws, the request is denied with a message that asks for a retry. */
export type Admission = (request: AdmissionRequest, signal: AbortSignal) => Promise<Verdict>;

/** Denies an invalid request; the message has the first three faults and the number of the others. */
export function denied(faults: string[], warnings: string[] = []): Verdict {
  const more = faults.length > 3 ? [`and ${faults.length - 3} more`] : [];
  return { denial: { code: 422, message: [...faults.slice(0, 3), ...more].join("; ") }, warnings };
}

/** Denies an operation other than CREATE, UPDATE and DELETE. */
export function unknownOperation({ operation }: AdmissionRequest): Verdict {
  return {
    denial: { code: 400, message: `Unsupported operation "${operation}"; use CREATE, UPDATE or DELETE` },
  };
}

const reasons: Record<number, string> = { 400: "BadRequest", 403: "Forbidden", 422: "Invalid", 504: "Timeout" };

/** Returns the answer to a request. */
export function reviewOf(uid: string, { denial, patch = [], warnings = [] }: Verdict): object {
  const status = denial && { ...denial, status: "Failure", reason: reasons[denial.code] ?? "InternalError" };
  const patched = { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: {
      uid,
      allowed: denial === undefined,
      ...(status ? { status } : {}),
      ...(patch.length > 0 ? patched : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
    },
  };
}
