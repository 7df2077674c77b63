/** When the certificates of a NodeVersion's control planes expire, as a table. */
import {
  byUrgency,
  type CertificateComponent,
  type CertificateRecord,
  type CertificateState,
  certificateStates,
  stateOf,
} from "../../activities/status/certificate_record.ts";
import type { VersionRow } from "../rollout/node_versions.ts";
import { calledAs, styled, type Terminal } from "../terminal.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { duration } from "./durations.ts";
import { plainTable } from "./plain_table.ts";
import { printable } from "./printable.ts";

/**
 * Maximum rows: `mostCertificates` for a NodeVersion that the user named, `mostUrgent` for each NodeVersion below a
 * list of pools.
 */
export const mostCertificates = 20;
export const mostUrgent = 5;

interface Shown {
  now: number;
  /** Maximum number of rows. */
  most: number;
  /** Whether to show all certificates, also those in state Valid. */
  isWhole?: boolean;
}

/** Returns a line with the counts and a table, most urgent first; no lines without a certificate to show. */
export function certificateLines(
  terminal: Terminal,
  { name, certificates }: VersionRow,
  { now, most, isWhole = false }: Shown,
): string[] {
  const sorted = byUrgency(certificates, now).filter((each) => isWhole || stateOf(each, now) !== "Valid");
  if (sorted.length === 0) return [];
  const rows = sorted.slice(0, most).map((record) => rowOf(terminal, record, now));
  const more = sorted.length - rows.length;
  const command = isWhole ? `status nodeversion/${name} -o wide` : `status nodeversion/${name}`;
  return [
    "",
    `certificates of control planes: ${countsOf(certificates, now)}`,
    ...plainTable(rows, ["EXPIRES", "STATE", "CERTIFICATE", "OF", "AT"]).trimEnd().split("\n"),
    ...(more > 0 ? [`${counted(more, "more certificate")}: ${calledAs(terminal)} ${command}`] : []),
  ];
}

function countsOf(certificates: readonly CertificateRecord[], now: number): string {
  const counts = certificateStates.map((state) => {
    const count = certificates.filter((each) => stateOf(each, now) === state).length;
    return count > 0 ? [`${count} ${states[state].text}`] : [];
  });
  return counts.flat().join(", ");
}

const states = {
  Expired: { text: "expired", style: "red" },
  ExpiresSoon: { text: "expires soon", style: "yellow" },
  Unknown: { text: "unknown", style: "yellow" },
  Valid: { text: "valid", style: "green" },
} as const satisfies Record<CertificateState, { text: string; style: string }>;

const titles: Record<CertificateComponent, string> = {
  ...{ APIServer: "API server", Etcd: "etcd", Kubelet: "kubelet" },
  ...{ EtcdClient: "client of etcd", Authority: "authority of etcd" },
};

// The texts are made printable, because every user who can write the status can choose them.
function rowOf(terminal: Terminal, record: CertificateRecord, now: number): string[] {
  const { text, style } = states[stateOf(record, now)];
  const { component, of, at, expiresAt, unknown } = record;
  const reason = unknown === undefined ? "" : `${at === "" ? "" : ": "}${printable(unknown)}`;
  return [
    expiryOf(expiresAt, now),
    styled(terminal, style, text),
    titles[component],
    printable(of),
    `${printable(at)}${reason}`,
  ];
}

/**
 * Returns the day of the expiry in UTC, whatever the local time zone is, and its distance from `now`; "" if unknown.
 */
function expiryOf(expiresAt: string | undefined, now: number): string {
  if (expiresAt === undefined) return "";
  const time = Date.parse(expiresAt);
  const far = duration(Math.abs(time - now) / 1000);
  return `${new Date(time).toISOString().slice(0, 10)} (${time > now ? `in ${far}` : `${far} ago`})`;
}
