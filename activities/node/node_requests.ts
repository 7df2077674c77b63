/** Requests of kubelets for the certificate with which they are a node, read as strictly as who would sign them does. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { Resource } from "../kube/resources.ts";
import { nodeNameIn } from "../x509/node_subject.ts";

/** Kubelets ask this signer for the certificate they register with. */
export const nodeSigner = "kubernetes.io/kube-apiserver-client-kubelet";

export interface NodeRequest {
  name: string;
  resourceVersion: string;
  /** The node that it is for, if it asks for no more than a kubelet does. */
  node?: string;
  /** Whom the API server took for who asks. */
  username: string;
  groups: string[];
  /** Somebody approved or refused it, or it was signed: there is nothing left to be done. */
  isDecided: boolean;
  /** That it was approved: why, and since when, in epoch ms. */
  approval?: { reason: string; at: number };
}

/** Why we approve. */
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

/** All of them; of those that are decided and not ours no more than that is kept. */
export const nodeRequests: Resource<NodeRequest> = {
  ...{ group: "certificates.k8s.io", version: "v1", plural: "certificatesigningrequests" },
  fieldSelector: `spec.signerName=${nodeSigner}`,
  schema: Request.transform(readRequest),
};

function readRequest({ metadata: { name, resourceVersion }, spec, status }: z.infer<typeof Request>): NodeRequest {
  const conditions = status?.conditions ?? [];
  const approved = conditions.find(({ type }) => type === "Approved");
  const isDecided = conditions.length > 0 || Boolean(status?.certificate);
  // Of others' no more is asked, and of heartbeats there are none.
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

/** As kube-controller-manager has it: RSA keys encipher, others do not. */
function isOfClient(usages: string[]): boolean {
  const asked = [...new Set(usages)].sort().join();
  return asked === "client auth,digital signature" || asked === "client auth,digital signature,key encipherment";
}
