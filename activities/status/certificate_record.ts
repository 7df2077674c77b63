/** Reads from the status of a NodeVersion when the certificates of its control planes expire; pure. */
import { z } from "zod";

/** Servers of a control plane, then the certificates in the Secret with which Ostler connects to etcd. */
export const certificateComponents = ["APIServer", "Etcd", "Kubelet", "EtcdClient", "Authority"] as const;
export type CertificateComponent = typeof certificateComponents[number];

const text = (longest: number): z.ZodType<string> => z.string().max(longest);
const time = z.iso.datetime();

const CertificateRecord = z.object({
  component: z.enum(certificateComponents),
  /**
   * The owner of the certificate: the name of a Node, `namespace/name` of the Secret, or the host of an external etcd.
   */
  of: text(253),
  /**
   * Where the owner has the certificate: address and port, or the data key of the Secret, such as `tls.crt`; "" for a
   * Node without an address.
   */
  at: text(300),
  readAt: time,
  expiresAt: time.optional(),
  /** Time from which the certificate counts as expiring soon. */
  soonAt: time.optional(),
  /** Why the expiry of the certificate is not known. */
  unknown: text(200).optional(),
});
export type CertificateRecord = z.infer<typeof CertificateRecord>;

/** Returns the records in the status of a NodeVersion; invalid ones are left out. */
export function recordsIn(status: Readonly<Record<string, unknown>> | undefined): CertificateRecord[] {
  const { data = [] } = z.array(z.unknown()).safeParse(status?.["certificates"]);
  return data.flatMap((each) => CertificateRecord.safeParse(each).data ?? []);
}

/** States of a certificate, the most urgent first. */
export const certificateStates = ["Expired", "ExpiresSoon", "Unknown", "Valid"] as const;
export type CertificateState = typeof certificateStates[number];

/**
 * Returns the state at `now` (epoch ms). A certificate that was valid when Ostler read it is reported as expired only
 * after the next read, because it may have been renewed meanwhile.
 */
export function stateOf(
  { expiresAt, soonAt, readAt }: Omit<CertificateRecord, "of" | "at">,
  now: number,
): CertificateState {
  if (expiresAt === undefined) return "Unknown";
  if (now >= Date.parse(expiresAt) && Date.parse(readAt) >= Date.parse(expiresAt)) return "Expired";
  return now >= Date.parse(soonAt ?? expiresAt) ? "ExpiresSoon" : "Valid";
}

/**
 * Returns whether kubeadm made the certificate. It makes none for an external etcd, even if the host of that etcd has
 * the name of a node.
 */
export function isOfKubeadm({ component, of, at }: CertificateRecord): boolean {
  return component === "APIServer" || (component === "Etcd" && !at.startsWith(`${of}:`));
}

/** Returns the records of the servers on a node whose certificates kubeadm made. */
export function recordsOfKubeadm(records: readonly CertificateRecord[], node: string): CertificateRecord[] {
  return records.filter((record) => record.of === node && isOfKubeadm(record));
}

/** Returns the most urgent record whose certificate has expired or expires soon; undefined if there is none. */
export function dueOf(records: readonly CertificateRecord[], now: number): CertificateRecord | undefined {
  return byUrgency(records, now).find((record) => ["Expired", "ExpiresSoon"].includes(stateOf(record, now)));
}

/** Returns the records by urgency, then by expiry. */
export function byUrgency(records: readonly CertificateRecord[], now: number): CertificateRecord[] {
  const rank = (record: CertificateRecord): number => certificateStates.indexOf(stateOf(record, now));
  const expiry = ({ expiresAt = "" }: CertificateRecord): number => Date.parse(expiresAt) || 0;
  const name = ({ of, at }: CertificateRecord): string => `${of} ${at}`;
  return [...records].sort((a, b) =>
    rank(a) - rank(b) || expiry(a) - expiry(b) || (name(a) < name(b) ? -1 : Number(name(a) > name(b)))
  );
}

const dayMs = 24 * 3_600_000;
/**
 * Maximum warning (ms) before the expiry: a third of the life of a certificate that is valid for decades would be
 * years.
 */
const longestWarningMs = 365 * dayMs;
/** Maximum warning (ms) for a certificate of kubeadm, which is valid for a year. */
const longestOfKubeadmMs = 365 * dayMs / 3;

/**
 * Returns the time (epoch ms) from which a certificate expires soon: less than a third of its life is left, at most a
 * year. A kubelet that rotates its certificate does so at 70% to 90% of its life, so for a kubelet only the last tenth
 * counts. Certificates of kubeadm have a lower maximum, because earlier versions of kubeadm copy the start of the
 * authority's life into a certificate, so that its own life seems to be years.
 */
export function soonOf(component: CertificateComponent, { from, until }: { from: number; until: number }): number {
  const life = until - from;
  const longest = component === "APIServer" || component === "Etcd" ? longestOfKubeadmMs : longestWarningMs;
  return until - Math.min(component === "Kubelet" ? life / 10 : life / 3, longest);
}

/** The condition CertificatesValid. */
export interface CertificatesStanding {
  status: "True" | "False" | "Unknown";
  reason: "CertificateExpired" | "CertificateExpiresSoon" | "CertificateUnknown" | "CertificatesValid";
  message: string;
}

/** Maximum number of certificates that a message names. */
const named = 4;

/** Returns the condition, by the most urgent state; undefined without certificates. */
export function standingOf(records: readonly CertificateRecord[], now: number): CertificatesStanding | undefined {
  const sorted = byUrgency(records, now);
  const [first] = sorted;
  if (!first) return undefined;
  const state = stateOf(first, now);
  const own = sorted.filter((record) => stateOf(record, now) === state);
  const listed = (say: (record: CertificateRecord) => string): string => {
    const more = own.length > named ? ` and ${own.length - named} more` : "";
    return `${own.slice(0, named).map(say).join("; ")}${more}`;
  };
  const until = (record: CertificateRecord): string => `${titleOf(record)} at ${record.expiresAt}`;
  const why = (record: CertificateRecord): string => `${titleOf(record)}: ${record.unknown ?? ""}`;
  const standings: Record<CertificateState, CertificatesStanding> = {
    Expired: { status: "False", reason: "CertificateExpired", message: `Certificates have expired: ${listed(until)}` },
    ExpiresSoon: {
      ...{ status: "False", reason: "CertificateExpiresSoon", message: `Certificates expire soon: ${listed(until)}` },
    },
    Unknown: {
      ...{ status: "Unknown", reason: "CertificateUnknown" },
      message: `Cannot determine when certificates expire: ${listed(why)}`,
    },
    Valid: {
      ...{ status: "True", reason: "CertificatesValid" },
      message: `Certificates are valid; the first of ${records.length} to expire: ${until(first)}`,
    },
  };
  return standings[state];
}

const titles: Record<CertificateComponent, string> = {
  ...{ APIServer: "API server of node", Etcd: "etcd of", Kubelet: "kubelet of node" },
  ...{ EtcdClient: "client certificate for etcd in Secret", Authority: "authority of etcd in Secret" },
};

/** Returns the server or the Secret of a certificate, for people. */
export function titleOf({ component, of }: CertificateRecord): string {
  return `${titles[component]} "${of}"`;
}
