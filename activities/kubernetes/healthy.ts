/** Waits until an upgraded control plane serves again. */
import type { Cluster } from "../cluster.ts";
import type { ClusterObject, Unseen } from "../../workflows/contracts/mod.ts";
import { readClusterObject } from "../kube/resources.ts";
import { nodeVersions } from "../kube/update_kinds.ts";
import { readRecord } from "../node_version/certificates.ts";
import { dueOf, recordsIn, recordsOfKubeadm, titleOf } from "../status/certificate_record.ts";
import { News, poll, sourceOf } from "../kube/polling.ts";
import { abreast, attempting, ifFound } from "../kube/status.ts";
import { factsOf } from "../node/node_facts.ts";
import { lackOf } from "../node_version/joining_control_plane.ts";
import { needControlPlane } from "./announce.ts";
import { readEtcdPart, readParts } from "./static_pods.ts";

/** Milliseconds between reads, because Ostler watches neither static pods nor etcd. */
const lookEveryMs = 5_000;

interface HealthQuestion {
  object: ClusterObject;
  node: string;
  uid: string;
  /** The version that the control plane must run; null accepts any known version. */
  version: string | null;
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
 * Waits until the control plane runs the version and is Ready, and its etcd member votes and is healthy. Returns at
 * `until` at the latest, then as not healthy. Returns `Unseen` if the API server, which may be the one being upgraded,
 * did not answer for a while.
 */
export function awaitControlPlaneHealthy(
  kube: Cluster,
  { until, ...question }: HealthQuestion,
): Promise<Health | Unseen> {
  return untilNothingLacks(kube, { until, node: question.node, well: wellOf(question) }, () => lacksOf(kube, question));
}

/**
 * Waits after a renewal of certificates until the control plane is healthy, all its static pods have restarted since
 * the renewal, and no certificate that its servers present expires soon. Returns at `until` at
 * the latest, and `Unseen` after an outage, like `awaitControlPlaneHealthy`.
 */
export function awaitCertificatesRenewed(
  kube: Cluster,
  { until, ...question }: Omit<HealthQuestion, "version" | "kubelet">,
): Promise<Health | Unseen> {
  const { object, node } = question;
  const well = `The static pods of node "${node}" use certificates that do not expire soon`;
  return untilNothingLacks(kube, { until, node, well }, async () => {
    const lacks = await lacksOf(kube, { ...question, version: null, kubelet: false });
    if (lacks.length > 0) return lacks;
    return [...await notRestarted(kube, node), ...await notRenewed(kube, object, node)];
  });
}

/** Returns a message about each static pod of the node that did not restart since the last renewal. */
async function notRestarted(kube: Cluster, node: string): Promise<string[]> {
  const etcd = await readEtcdPart(kube, node);
  // Skips etcd if it runs outside the control planes, because it has no pod on this node then.
  const parts = [...await readParts(kube, node), ...(etcd.isReady || etcd.renewed !== "" ? [etcd] : [])];
  const last = parts.map(({ renewed }) => renewed).sort().at(-1);
  return parts.filter(({ renewed }) => renewed === "" || renewed !== last)
    .map(({ title }) => `${title} did not restart with its new certificates`);
}

/**
 * Returns a message about each server whose certificate expires soon or cannot be read. Skips the servers whose
 * certificate the status of the NodeVersion records as unknown.
 */
async function notRenewed(kube: Cluster, { name }: ClusterObject, node: string): Promise<string[]> {
  const version = await ifFound(readClusterObject(kube, nodeVersions, name));
  const known = recordsOfKubeadm(recordsIn(version?.status), node).filter(({ unknown }) => unknown === undefined);
  const now = Date.now();
  const read = await abreast(known.length || 1, known, (record) => readRecord(kube, record, now));
  return read.flatMap((record) => {
    if (record.unknown !== undefined) return [`cannot read the certificate of ${titleOf(record)}: ${record.unknown}`];
    const due = dueOf([record], now);
    return due ? [`the certificate of ${titleOf(due)} still expires at ${due.expiresAt}`] : [];
  });
}

async function untilNothingLacks(
  kube: Cluster,
  { until, node, well }: { until: number; node: string; well: string },
  lacksNow: () => Promise<string[]>,
): Promise<Health | Unseen> {
  using news = new News([sourceOf(kube.nodes, ({ key }) => key === node)]);
  return await poll<Health | Unseen>({
    until: Number.MAX_SAFE_INTEGER, // a control plane that is unhealthy at `until` is a result, not an error
    news,
    ...{ every: lookEveryMs, gap: 1_000, lookBy: () => Math.min(until, Date.now() + lookEveryMs) },
    look: async () => {
      const lacks = await attempting(`check control plane "${node}"`, lacksNow);
      const isHealthy = lacks.length === 0;
      const evidence = isHealthy ? well : lacks.join("; ");
      return isHealthy || Date.now() >= until ? { answer: { isHealthy, evidence } } : { missing: evidence };
    },
    unseen: (unseenMs, seen) => seen && "isHealthy" in seen && seen.isHealthy ? seen : { unseenMs },
    expired: (missing) => new Error(missing),
  });
}

function wellOf({ node, version, kubelet }: Omit<HealthQuestion, "until">): string {
  const parts = `API server, controller manager${kubelet ? ", scheduler and kubelet" : " and scheduler"}`;
  return `${parts} of node "${node}" run "${version}"; the node is Ready, and etcd reports no problem with it`;
}

/** Returns what the control plane lacks; reads its Node first, because a deleted Node ends the wait. */
async function lacksOf(
  kube: Cluster,
  { node, uid, version, kubelet }: Omit<HealthQuestion, "until">,
): Promise<string[]> {
  const facts = factsOf(await needControlPlane(kube, { node, uid, what: `check control plane "${node}"` }));
  const lacks = (await readParts(kube, node)).flatMap((part) => {
    if (part.version === "" || part.version !== (version ?? part.version)) {
      return [`${part.title} runs ${part.version || "an unknown version"}`];
    }
    return part.isReady ? [] : [`${part.title} is not Ready`];
  });
  if (kubelet && facts.kubelet !== version) lacks.push(`the kubelet reports ${facts.kubelet || "no version"}`);
  if (!facts.ready) lacks.push(`node "${node}" is not Ready (${facts.readyReason})`);
  // Etcd is read only if nothing else is lacking, because it may be down together with other parts.
  if (lacks.length > 0) return lacks;
  const etcd = await lackOf(kube, node);
  return etcd === undefined ? [] : [etcd];
}
