/**
 * Reads when the certificates of control planes expire, and writes that to the status of their NodeVersion. The
 * certificate of each server is read once an hour: the status keeps the results for all workers and across restarts,
 * and the cache of the process keeps results that could not be written. A survey makes its handshakes concurrently, to
 * wait only for the slowest one.
 */
import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { readSecretTexts } from "../config/read_facts.ts";
import type { Cluster } from "../cluster.ts";
import { certificatesIn } from "../etcd/certificates.ts";
import { endpointOf, hostOfAddress } from "../etcd/endpoint.ts";
import { accessSecret } from "../etcd/etcd_on_nodes.ts";
import { unavailable } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { patchClusterStatus, readClusterObject } from "../kube/resources.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { type NodeVersion, nodeVersions } from "../kube/update_kinds.ts";
import { emitEvents } from "../status/events.ts";
import { readServed, type Served, type Server, validityOf } from "../x509/served_certificate.ts";
import {
  byUrgency,
  type CertificateComponent,
  type CertificateRecord,
  type CertificatesStanding,
  recordsIn,
  soonOf,
  standingOf,
} from "../status/certificate_record.ts";
import type { GroupNode } from "./group_nodes.ts";

/** Milliseconds between two reads of a certificate. */
export const freshMs = 3_600_000;
/** Maximum handshakes of one survey, which updates the oldest records; the next surveys update the others. */
const mostHandshakes = 75;
/** Maximum certificates in the status, which keeps the most urgent ones. */
const mostRecords = 400;
/**
 * Age of a Node (ms) from which its servers are read: a read before they run would record their certificates as unknown
 * for an hour.
 */
const settledMs = 600_000;
const longestPem = 100_000;
const mostAuthorities = 10;
const mostEndpoints = 32;

const ports = [["APIServer", 6443], ["Etcd", 2379], ["Kubelet", 10250]] as const;

/** A server whose certificate is recorded in the status. */
interface Target {
  component: CertificateComponent;
  of: string;
  at: string;
  /** Address of the server; undefined if its Node does not have one. */
  server?: Server;
}

/**
 * Reads the certificates whose records are an hour old, and those of node `again` in any case. Then writes all records
 * and the condition CertificatesValid to the status; removes both if there are no control planes. Throws Transient
 * after a conflict only if `again` is set, because otherwise the next survey writes the records.
 */
export async function showCertificates(
  kube: Cluster,
  version: NodeVersion,
  { controlPlanes, now, again }: { controlPlanes: readonly GroupNode[]; now: number; again?: string },
): Promise<void> {
  const known = recordsIn(version.status);
  const reading = { controlPlanes, known, now, again };
  const found = controlPlanes.length === 0 ? [] : await readRecords(kube, reading);
  const records = byUrgency(found, now).slice(0, mostRecords);
  const isWritten = await write(kube, version, {
    records,
    isSame: isDeepStrictEqual(known, records),
    standing: standingOf(records, now),
  });
  if (isWritten || again === undefined) return;
  throw unavailable(`Failed to write the status of NodeVersion "${version.metadata.name}": the object was modified`);
}

interface Reading {
  controlPlanes: readonly GroupNode[];
  /** The records that the status has already. */
  known: readonly CertificateRecord[];
  now: number;
  /** The node whose servers are read even if their records are less than an hour old. */
  again: string | undefined;
}

async function readRecords(kube: Cluster, { controlPlanes, known, now, again }: Reading): Promise<CertificateRecord[]> {
  const stored = new Map(known.map((record) => [keyOf(record), record]));
  const isFresh = (record: CertificateRecord | undefined): record is CertificateRecord =>
    record !== undefined && Math.abs(now - Date.parse(record.readAt)) < freshMs;
  const isAgain = ({ of, server }: Target): boolean => of === again && server !== undefined;
  const { endpoints, records } = await kube.cache.read("certificates of etcd's Secret", () => readSecret(kube, now), {
    ...{ freshMs, now },
  });
  const targets = targetsOf(controlPlanes.filter(({ createdAt }) => now - createdAt >= settledMs), endpoints);
  const age = (target: Target): number =>
    isAgain(target) ? 0 : Date.parse(stored.get(keyOf(target))?.readAt ?? "") || 0;
  const due = targets.filter((target) => isAgain(target) || !isFresh(stored.get(keyOf(target))))
    .sort((a, b) => age(a) - age(b));
  const read = await Promise.all(
    due.slice(0, mostHandshakes).map((target) =>
      readTarget(kube, target, { now, freshMs: isAgain(target) ? 0 : freshMs })
    ),
  );
  const fresh = new Map(read.map((record) => [keyOf(record), record]));
  return [
    // The record of a certificate in the Secret keeps its `readAt` while its other fields are the same, so that reads
    // alone cause no writes. A worker that read the Secret earlier than another worker does not replace the later
    // record.
    ...records.map((record) => {
      const before = stored.get(keyOf(record));
      if (!isFresh(before)) return record;
      const isSame = isDeepStrictEqual({ ...before, readAt: "" }, { ...record, readAt: "" });
      return isSame || Date.parse(before.readAt) > Date.parse(record.readAt) ? before : record;
    }),
    ...targets.flatMap((target) => fresh.get(keyOf(target)) ?? stored.get(keyOf(target)) ?? []),
  ];
}

function keyOf({ component, of, at }: Pick<CertificateRecord, "component" | "of" | "at">): string {
  return JSON.stringify([component, of, at]);
}

/** Returns the servers to read; skips addresses that are not IP addresses, because a Node may report any text. */
function targetsOf(nodes: readonly GroupNode[], endpoints: readonly string[] | undefined): Target[] {
  const onNodes = nodes.flatMap(({ name, addresses }) => {
    const host = addresses.find((address) => isIP(address) !== 0 && hostOfAddress(address) !== undefined);
    return ports.filter(([component]) => component !== "Etcd" || !endpoints).map(([component, port]): Target => {
      if (host === undefined) return { component, of: name, at: "" };
      return { component, of: name, at: `${hostOfAddress(host)}:${port}`, server: { host, port } };
    });
  });
  const outside = (endpoints ?? []).map((endpoint): Target => {
    const { hostname, port } = new URL(endpoint);
    const server = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 443) };
    return { component: "Etcd", of: hostname, at: `${hostname}:${server.port}`, server };
  });
  // An administrator may list an endpoint twice.
  return [...new Map([...onNodes, ...outside].map((target) => [keyOf(target), target])).values()];
}

async function readTarget(
  kube: Cluster,
  { server, ...target }: Target,
  { now, freshMs }: { now: number; freshMs: number },
): Promise<CertificateRecord> {
  const readAt = new Date(now).toISOString();
  if (!server) return { ...target, readAt, unknown: "its Node does not have an InternalIP" };
  const seen = await kube.cache.read(
    `certificate at ${target.at}`,
    async () => ({ readAt, served: await (kube.readServed ?? readServed)(server) }),
    { freshMs, now },
  );
  return recordOf(target, seen);
}

/** Reads the certificate of the server that a record names, even if the record is less than an hour old. */
export async function readRecord(
  kube: Cluster,
  { component, of, at }: CertificateRecord,
  now: number,
): Promise<CertificateRecord> {
  const { hostname, port } = new URL(`https://${at}`);
  const server = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 443) };
  return await readTarget(kube, { component, of, at, server }, { now, freshMs: 0 });
}

function recordOf(target: Target, { readAt, served }: { readAt: string; served: Served }): CertificateRecord {
  if ("unknown" in served) return { ...target, readAt, unknown: served.unknown };
  const at = (ms: number): string => new Date(ms).toISOString();
  if (served.from > Date.parse(readAt)) {
    return { ...target, readAt, unknown: `the certificate is not valid before ${at(served.from)}` };
  }
  return { ...target, readAt, expiresAt: at(served.until), soonAt: at(soonOf(target.component, served)) };
}

// Reads the certificates in the Secret with which Ostler connects to etcd, never the key.

interface SecretRead {
  /** URLs of an etcd that does not run on control planes; undefined if the Secret does not list any. */
  endpoints: string[] | undefined;
  records: CertificateRecord[];
}

async function readSecret(kube: Kube, now: number): Promise<SecretRead> {
  const of = `${accessSecret.namespace}/${accessSecret.name}`;
  const readAt = new Date(now).toISOString();
  const unknown = (at: string, why: string): CertificateRecord => ({
    ...{ component: at === "ca.crt" ? "Authority" : "EtcdClient", of, at, readAt, unknown: why },
  });
  try {
    const secret = await readSecretTexts(kube, accessSecret);
    // Without the Secret, Ostler does not replace control planes, and conditions other than CertificatesValid report
    // that.
    if (!secret) return { endpoints: undefined, records: [] };
    const { "ca.crt": ca = "", "tls.crt": cert = "", endpoints } = secret.texts;
    const read = (component: CertificateComponent, key: string, pem: string): CertificateRecord[] => {
      const all = pem.length > longestPem ? undefined : certificatesIn(pem);
      if (!all) return [unknown(key, `its key "${key}" does not have a PEM certificate`)];
      const own: X509Certificate[] = component === "EtcdClient" ? [all[0]] : all.slice(0, mostAuthorities);
      return own.map((certificate, nth) =>
        recordOf({ component, of, at: nth === 0 ? key : `${key} #${nth + 1}` }, {
          ...{ readAt, served: validityOf(certificate) ?? { unknown: "the certificate cannot be read" } },
        })
      );
    };
    return {
      endpoints: endpoints?.split(",").flatMap((part) => endpointOf(part.trim()) ?? []).slice(0, mostEndpoints),
      records: [...read("EtcdClient", "tls.crt", cert), ...read("Authority", "ca.crt", ca)],
    };
  } catch (error) {
    if (statusOf(error) !== 403) throw error;
    return { endpoints: undefined, records: [unknown("tls.crt", "Ostler is not allowed to read the Secret")] };
  }
}

// The status: records, the condition CertificatesValid, and an Event for each new reason.

const conditionType = "CertificatesValid";

interface Shown {
  records: readonly CertificateRecord[];
  /** Whether the status already has these records. */
  isSame: boolean;
  standing: CertificatesStanding | undefined;
}

/** Writes records and condition unless the status has them already; returns false after a conflict. */
async function write(kube: Kube, version: NodeVersion, shown: Shown): Promise<boolean> {
  if (shown.isSame && isTold(version, shown.standing)) return true;
  const { name } = version.metadata;
  // `version` may be out of date: the survey of a NodeVersion writes the status before it calls `showCertificates`.
  const current = await ifFound(readClusterObject(kube, nodeVersions, name));
  if (!current) return true;
  const { metadata: { uid, resourceVersion, generation = 0 }, status } = current;
  const conditions = status?.conditions ?? [];
  const before = conditions.find(({ type }) => type === conditionType);
  const { standing } = shown;
  const since = before?.status === standing?.status ? before?.lastTransitionTime : undefined;
  const own = standing && {
    ...{ type: conditionType, ...standing, observedGeneration: generation },
    lastTransitionTime: since ?? new Date().toISOString(),
  };
  const others = conditions.filter(({ type }) => type !== conditionType);
  const wanted = {
    certificates: shown.records.length === 0 ? null : shown.records,
    conditions: [...others, ...(own ? [own] : [])],
  };
  try {
    await patchClusterStatus(kube, nodeVersions, { name, resourceVersion, status: wanted });
  } catch (error) {
    // Another controller wrote the status, or the NodeVersion was deleted: the next survey writes what is still true.
    if (![404, 409].includes(statusOf(error) ?? 0)) throw error;
    return statusOf(error) === 404;
  }
  // The first status True is expected, so it has no Event.
  const isNews = standing && standing.reason !== (before?.reason ?? "CertificatesValid");
  if (!isNews) return true;
  const object = { apiVersion: "update.edgeless.systems/v1alpha1", kind: "NodeVersion" };
  const { status: is, reason, message } = standing;
  const event = { type: is === "False" ? "Warning" as const : "Normal" as const, reason, message };
  await emitEvents(kube, { namespace: "", name, uid, object }, [event]);
  return true;
}

function isTold({ status }: NodeVersion, standing: CertificatesStanding | undefined): boolean {
  const told = status?.conditions.find(({ type }) => type === conditionType);
  return told?.status === standing?.status && told?.reason === standing?.reason && told?.message === standing?.message;
}
