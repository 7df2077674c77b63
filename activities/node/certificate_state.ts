/** The state of the certificate with which a new kubelet registers its node: the first clue when no node registers. */
import type { V1CertificateSigningRequest } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import type { Kube } from "../kube/client.ts";
import { statusOf } from "../kube/status.ts";

/** The signer of the client certificates with which kubelets register their nodes. */
const signer = "kubernetes.io/kube-apiserver-client-kubelet";
/** Requests per page, and maximum pages: kube-controller-manager deletes requests within a day, so there are few. */
const pageSize = 500;
const pages = 4;

/**
 * Describes the newest certificate request for a node with one of these names. If no such request exists, describes up
 * to three requests for any node that were made with bootstrap tokens and are not granted. Returns undefined if
 * requests cannot be read.
 */
export async function certificateStateOf(kube: Kube, names: string[]): Promise<string | undefined> {
  const requests = await readRequests(kube);
  if (!requests) return undefined;
  const newest = requests.filter((request) => names.some((name) => isFor(request, name))).sort(byAge)[0];
  if (newest) return `certificate request "${newest.metadata?.name}" ${stateOf(newest).words}`;
  const open = requests.filter((each) => isOfToken(each) && !stateOf(each).isGranted);
  if (open.length === 0) return "no certificate was requested for this node name";
  const listed = open.sort(byAge).slice(0, 3).map((each) => `"${each.metadata?.name}" ${stateOf(each).words}`);
  return `no certificate was requested for this node name; other requests by bootstrap tokens: ${listed.join(", ")}`;
}

async function readRequests(kube: Kube): Promise<V1CertificateSigningRequest[] | undefined> {
  const requests: V1CertificateSigningRequest[] = [];
  let after: string | undefined;
  try {
    for (let page = 0; page < pages; page++) {
      const where = { fieldSelector: `spec.signerName=${signer}`, limit: pageSize };
      const next = after ? { _continue: after } : {};
      const { items, metadata } = await kube.certificates.listCertificateSigningRequest({ ...where, ...next });
      requests.push(...items);
      after = metadata?._continue;
      if (!after) break;
    }
    return requests;
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return undefined; // the state is only evidence, so its absence must not fail the caller
  }
}

// Returns whether the request is for the node of this name. Searches the DER of the request for the node's user name
// with the length byte before it, so that a name does not match a longer name with the same beginning.
function isFor({ spec }: V1CertificateSigningRequest, name: string): boolean {
  const subject = `system:node:${name}`;
  const der = derOf(spec.request);
  return subject.length < 128 && der.includes(Buffer.from([subject.length, ...Buffer.from(subject)]));
}

function derOf(request: string): Buffer {
  const pem = Buffer.from(request, "base64").toString("latin1");
  return Buffer.from(pem.replaceAll(/-----[^-]*-----/g, ""), "base64");
}

function isOfToken({ spec }: V1CertificateSigningRequest): boolean {
  return spec.username?.startsWith("system:bootstrap:") ?? false;
}

function stateOf({ status }: V1CertificateSigningRequest): { words: string; isGranted: boolean } {
  const told = status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  if (told) return { words: `was ${wordOf(told.type)} (${(told.message ?? "").slice(0, 200)})`, isGranted: false };
  if (status?.certificate) return { words: "was granted", isGranted: true };
  const isApproved = status?.conditions?.some(({ type }) => type === "Approved") ?? false;
  return { words: isApproved ? "was approved, but not signed" : "is waiting for approval", isGranted: false };
}

function wordOf(condition: string): string {
  return condition === "Denied" ? "denied" : "not signed";
}

function byAge(a: V1CertificateSigningRequest, b: V1CertificateSigningRequest): number {
  const time = ({ metadata }: V1CertificateSigningRequest): number =>
    new Date(metadata?.creationTimestamp ?? 0).getTime();
  return time(b) - time(a);
}
