/**
 * Approves a kubelet's certificate request if a machine of Ostler waits for its node; leaves other requests undecided.
 */
import type { Cluster } from "../cluster.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { readNewcomers } from "../backends/registry.ts";
import { asMergePatch } from "../kube/client.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { type Asker, askerOf, faultOf, type JoinFacts } from "./joining_node.ts";
import { type NodeRequest, ourReason } from "./node_requests.ts";
import type { RecentApprovals } from "./recent_approvals.ts";

/** The existing pools. */
export interface KnownPools {
  /** Returns the UID of the pool's object; undefined if it does not exist. */
  uidOf(pool: PoolRef): string | undefined;
}

interface ApproveDeps {
  kube: Cluster;
  pools: KnownPools;
  /** Service account, as namespace/name, that machines boot with instead of a token; "" for none. */
  account: string;
  approvals: Pick<RecentApprovals, "take">;
}

/**
 * Left: the request stays undecided, and `why` is the end of a sentence. Moot: another process decided the request
 * first, or it was deleted.
 */
export type Verdict = { is: "Approved" | "Moot" } | { is: "Left"; why: string };

const conflicts = [404, 409];

/**
 * Reads current data and approves the request if `faultOf` finds no fault. Safe to run twice for one request, or
 * concurrently in another process. Of two requests for one node, `approvals` lets only the first pass.
 */
export async function approveNode(deps: ApproveDeps, request: NodeRequest): Promise<Verdict> {
  if (request.isDecided) return { is: "Moot" };
  const { node } = request;
  if (node === undefined) return { is: "Left", why: "it is not a request for a kubelet client certificate" };
  const asker = askerOf(request, deps.account);
  const facts = await factsFor(deps, node, asker);
  const why = faultOf(node, asker, facts);
  if (why !== undefined) return { is: "Left", why };
  const other = deps.approvals.take(node, request.name);
  if (other !== undefined) {
    return { is: "Left", why: `request "${other}" was approved for node "${node}" within the last 5 minutes` };
  }
  return { is: await approve(deps.kube, request, messageFor(node, facts)) ? "Approved" : "Moot" };
}

async function factsFor({ kube, pools }: ApproveDeps, node: string, asker: Asker): Promise<JoinFacts> {
  if (asker.by === "Stranger") return { isNode: false, isTwice: false };
  const [found, standing] = await Promise.all([readNewcomers(kube, node), ifFound(kube.core.readNode({ name: node }))]);
  const newcomer = found.find(({ pool, poolUid }) => pool && poolUid !== undefined && pools.uidOf(pool) === poolUid);
  return { isNode: standing !== undefined, isTwice: found.length > 1, ...(newcomer ? { newcomer } : {}) };
}

function messageFor(node: string, { newcomer }: JoinFacts): string {
  const { namespace, name } = newcomer?.pool ?? { namespace: "", name: "" };
  return `Machine "${namespace}/${node}" of pool "${namespace}/${name}" is waiting for this node`;
}

// Approves the request. Returns false if the request was deleted, or if another process wrote it first; the watch then
// reports the written request anew.
async function approve(kube: Cluster, { name, resourceVersion }: NodeRequest, message: string): Promise<boolean> {
  const conditions = [{ type: "Approved", status: "True", reason: ourReason, message }];
  const body = { metadata: { resourceVersion }, status: { conditions } };
  try {
    await kube.certificates.patchCertificateSigningRequestApproval({ name, body }, asMergePatch);
    return true;
  } catch (error) {
    if (!conflicts.includes(statusOf(error) ?? 0)) throw error;
    return false;
  }
}
