/** What the API server asks a webhook, and what it is answered (admission.k8s.io/v1). */
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
/** An object as the API server sends it, as far as every kind has it. */
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
    /** As it will be; null on DELETE. */
    object: KubeObject.nullish(),
    /** As it was; null on CREATE. */
    oldObject: KubeObject.nullish(),
  }).loose(),
});
export type AdmissionRequest = z.infer<typeof AdmissionReview>["request"];

/** One step of a JSON patch (RFC 6902). */
export interface PatchStep {
  op: "add";
  path: string;
  value: unknown;
}

/** What a webhook thinks of a request. */
export interface Verdict {
  /** Why not; missing when it is allowed. `code` is HTTP's. */
  denial?: { code: number; message: string };
  patch?: PatchStep[];
  warnings?: string[];
}

/** Judges requests about one kind; may reject, which denies and asks for another try. */
export type Admission = (request: AdmissionRequest, signal: AbortSignal) => Promise<Verdict>;

/** The request cannot be granted as it is; all that is wrong, in one message. */
export function denied(faults: string[], warnings: string[] = []): Verdict {
  const more = faults.length > 3 ? [`and ${faults.length - 3} more`] : [];
  return { denial: { code: 422, message: [...faults.slice(0, 3), ...more].join("; ") }, warnings };
}

/** An operation that this webhook was never meant to be asked about. */
export function unknownOperation({ operation }: AdmissionRequest): Verdict {
  return {
    denial: { code: 400, message: `Unsupported operation "${operation}": this webhook validates only changes` },
  };
}

const reasons: Record<number, string> = { 400: "BadRequest", 403: "Forbidden", 422: "Invalid", 504: "Timeout" };

/** The answer that carries a verdict. */
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
