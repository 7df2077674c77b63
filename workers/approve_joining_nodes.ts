/**
 * Approves the certificate requests of new nodes when they are created, and evaluates pending ones again. Only the
 * leading controller does this. It needs only the API server, so machines join while Temporal is unreachable.
 */
import type { Cluster } from "../activities/cluster.ts";
import type { Logger } from "@temporalio/common";
import { z } from "zod";
import { Informer } from "../activities/kube/informer.ts";
import { machineDeployments, type Resource } from "../activities/kube/resources.ts";
import { approveNode, type KnownPools, type Verdict } from "../activities/node/approve_node.ts";
import { askerOf } from "../activities/node/joining_node.ts";
import { type NodeRequest, nodeRequests, ourReason } from "../activities/node/node_requests.ts";
import { RecentApprovals } from "../activities/node/recent_approvals.ts";
import { PendingJoins } from "./pending_joins.ts";

interface ApproverDeps {
  kube: Cluster;
  /** Namespace/name of the service account that machines use instead of a bootstrap token; "" without one. */
  account: string;
  log: Pick<Logger, "info" | "warn">;
  /** Milliseconds before the first retry of a request that stays pending. */
  firstPause?: number;
}

const poolUids: Resource<string> = {
  ...machineDeployments,
  schema: z.object({ metadata: z.object({ uid: z.string() }) }).transform(({ metadata: { uid } }) => uid),
};

/** Approves requests until `signal` aborts. */
export async function approveJoiningNodes(deps: ApproverDeps, signal: AbortSignal): Promise<void> {
  const { kube, account, log, firstPause } = deps;
  const pools = new Informer(poolUids, { kube, log, signal });
  const known: KnownPools = {
    uidOf: ({ namespace, name }) => pools.get(`${namespace}/${name}`),
  };
  const approvals = new RecentApprovals();
  const judge = (request: NodeRequest): Promise<Verdict> =>
    approveNode({ kube, pools: known, account, approvals }, request);
  const pending = new PendingJoins({ judge, log, ...(firstPause === undefined ? {} : { firstPause }) });
  const warn = warnsOnce({ account, log });
  const requests = new Informer(nodeRequests, {
    ...{ kube, log, signal },
    onChange: (key) => {
      const request = requests.get(key);
      if (request?.approval) noteApproval(request, { approvals, warn });
      pending.put(key, request && isToBeJudged(request) ? request : undefined);
    },
  });
  await pools.start();
  await requests.start();
  log.info("Controller approves the certificates of joining nodes");
  await pending.run(signal);
}

/**
 * Returns whether a request is to be evaluated. Excludes requests of nodes that renew their own certificate, because
 * kube-controller-manager approves such requests.
 */
function isToBeJudged({ isDecided, username }: NodeRequest): boolean {
  return !isDecided && !username.startsWith("system:node:");
}

function noteApproval(
  request: NodeRequest,
  { approvals, warn }: { approvals: RecentApprovals; warn: (request: NodeRequest) => void },
): void {
  const { name, node, approval } = request;
  if (node !== undefined && approval?.reason === ourReason) approvals.note(node, { request: name, at: approval.at });
  warn(request);
}

const remedy = "delete the ClusterRoleBinding that grants bootstrap tokens certificatesigningrequests/nodeclient";

/**
 * Warns once if kube-controller-manager approves requests too, because it does not check the machine; approvals before
 * the start of this process do not count.
 */
function warnsOnce({ account, log }: Pick<ApproverDeps, "account" | "log">): (request: NodeRequest) => void {
  const since = Date.now();
  let isWarned = false;
  return (request) => {
    const { reason, at } = request.approval ?? { reason: "", at: 0 };
    if (isWarned || reason !== "AutoApproved" || at < since || askerOf(request, account).by === "Stranger") return;
    isWarned = true;
    const state = `kube-controller-manager approved certificate request "${request.name}" without checking the machine`;
    log.warn(`Failed to control which machines join: ${state}; ${remedy}`);
  };
}
