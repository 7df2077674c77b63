/** Certificate requests of kubelets that register as a node, parsed as strictly as the signer does. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { Resource } from "../kube/resources.ts";
import { nodeNameIn } from "../x509/node_subject.ts";

/** The signer of the client certificates with which kubelets register their nodes. */
const nodeSigner = "kubernetes.io/kube-apiserver-client-kubelet";

export interface NodeRequest {
  name: string;
  resourceVersion: string;
  /**
   * Name of the requested node; missing if a kubelet would not send such a request, or if an approver other than Ostler
   * decided it.
   */
  node?: string;
  /** The requester as the API server authenticated it. */
  username: string;
  groups: string[];
  /** Whether the request was approved, denied or signed, so that nothing is left to do. */
  isDecided: boolean;
  /** The reason and time (epoch ms) of the request's approval. */
  approval?: { reason: string; at: number };
}

/** The reason of Ostler's approvals. */
export const ourReason = "MachineAwaitsNode";

const Condition = z.object({ type: z.string(), reason: z.string().default(""), lastUpdateTime: z.string().nullish() });
const Request = z.object({
  metadata: z.object({ name: z.string(), resourceVersion: z.string() }),
  spec: z.object({
    request: z.string(),
    signerName: z.literal(nodeSigner),
    usages: z.array(z.string()).nullish(),
    username: z.string().default(""),
    groups: z.array(z.string()).nullish(),
  }),
  status: z.object({ certificate: z.string().optional(), conditions: z.array(Condition).nullish() }).nullish(),
});

/** All requests for this signer; the node is not parsed for requests that an approver other than Ostler decided. */
export const nodeRequests: Resource<NodeRequest> = {
  ...{ group: "certificates.k8s.io", version: "v1", plural: "certificatesigningrequests" },
  fieldSelector: `spec.signerName=${nodeSigner}`,
  schema: Request.transform(readRequest),
};

function readRequest({ metadata: { name, resourceVersion }, spec, status }: z.infer<typeof Request>): NodeRequest {
  const conditions = status?.conditions ?? [];
  const approved = conditions.find(({ type }) => type === "Approved");
  const isDecided = conditions.length > 0 || Boolean(status?.certificate);
  // The node is parsed only where it is needed: in requests that may be approved, and in those that Ostler approved.
  const node = !isDecided || approved?.reason === ourReason ? nodeOf(spec) : undefined;
  return {
    ...{ name, resourceVersion, isDecided, username: spec.username, groups: spec.groups ?? [] },
    ...(approved ? { approval: { reason: approved.reason, at: Date.parse(approved.lastUpdateTime ?? "") || 0 } } : {}),
    ...(node === undefined ? {} : { node }),
  };
}

function nodeOf({ usages, request }: z.infer<typeof Request>["spec"]): string | undefined {
  return isOfClient(usages ?? []) ? nodeNameIn(Buffer.from(request, "base64").toString("latin1")) : undefined;
}

/** Accepts the usages that kube-controller-manager accepts: key encipherment is only for RSA keys. */
function isOfClient(usages: string[]): boolean {
  const asked = [...new Set(usages)].sort().join();
  return asked === "client auth,digital signature" || asked === "client auth,digital signature,key encipherment";
}
