/** Waits until an upgraded control plane serves again. */
import type { Cluster } from "../cluster.ts";
import type { ClusterObject, Unseen } from "../../workflows/contracts/mod.ts";
import { News, poll, sourceOf } from "../kube/polling.ts";
import { attempting } from "../kube/status.ts";
import { factsOf } from "../node/node_facts.ts";
import { lackOf } from "../node_version/joining_control_plane.ts";
import { needControlPlane } from "./announce.ts";
import { readParts } from "./static_pods.ts";

/** Milliseconds between reads: neither static pods nor etcd have a watch. */
const lookEveryMs = 5_000;

interface HealthQuestion {
  object: ClusterObject;
  node: string;
  uid: string;
  /** The version that it must run. */
  version: string;
  /** Whether its kubelet must run that version, too. */
  kubelet: boolean;
  /** Epoch ms. */
  until: number;
}

interface Health {
  isHealthy: boolean;
  /** The findings of the last read, as a sentence. */
  evidence: string;
}

/**
 * Ends when the control plane runs the version, is Ready, and its etcd member votes and is healthy (K27), or at `until`.
 * Returns the time without a read if the API server did not answer meanwhile, as it may be the one that is upgraded.
 */
export async function awaitControlPlaneHealthy(
  kube: Cluster,
  { until, ...question }: HealthQuestion,
): Promise<Health | Unseen> {
  using news = new News([sourceOf(kube.nodes, ({ key }) => key === question.node)]);
  return await poll<Health | Unseen>({
    until: Number.MAX_SAFE_INTEGER, // an unhealthy control plane is a valid result
    news,
    ...{ every: lookEveryMs, gap: 1_000, lookBy: () => Math.min(until, Date.now() + lookEveryMs) },
    look: async () => {
      const lacks = await attempting(`check control plane "${question.node}"`, () => lacksOf(kube, question));
      const isHealthy = lacks.length === 0;
      const evidence = isHealthy ? wellOf(question) : lacks.join("; ");
      return isHealthy || Date.now() >= until ? { answer: { isHealthy, evidence } } : { missing: evidence };
    },
    unseen: (unseenMs, seen) => seen && "isHealthy" in seen && seen.isHealthy ? seen : { unseenMs },
    expired: (missing) => new Error(missing),
  });
}

function wellOf({ node, version, kubelet }: Omit<HealthQuestion, "until">): string {
  const parts = `API server, controller manager${kubelet ? ", scheduler and kubelet" : " and scheduler"}`;
  return `${parts} of node "${node}" run "${version}", and it is Ready and healthy in etcd`;
}

/** Returns what it lacks; the Node comes first, as a deleted one ends the wait. */
async function lacksOf(
  kube: Cluster,
  { node, uid, version, kubelet }: Omit<HealthQuestion, "until">,
): Promise<string[]> {
  const facts = factsOf(await needControlPlane(kube, { node, uid, what: `check control plane "${node}"` }));
  const lacks = (await readParts(kube, node)).flatMap((part) => {
    if (part.version !== version) return [`${part.title} runs ${part.version || "an unknown version"}`];
    return part.isReady ? [] : [`${part.title} is not Ready`];
  });
  if (kubelet && facts.kubelet !== version) lacks.push(`the kubelet reports ${facts.kubelet || "no version"}`);
  if (!facts.ready) lacks.push(`node "${node}" is not Ready (${facts.readyReason})`);
  // The etcd of a control plane that is not up yet does not have to answer.
  if (lacks.length > 0) return lacks;
  const etcd = await lackOf(kube, node);
  return etcd === undefined ? [] : [etcd];
}
