/** The webhook's certificate with its authorities, and the step that is due. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { type KeyedCertificate, makeAuthority, makeServingCertificate } from "../../../activities/x509/self_made.ts";

const dayMs = 24 * 3_600_000;

/** Milliseconds. */
export const lifetimes = {
  authority: 365 * dayMs,
  /** Time before the end of an authority at which it gets a successor. */
  authorityRenewal: 120 * dayMs,
  serving: 90 * dayMs,
  servingRenewal: 30 * dayMs,
  /** Certificates start in the past, for API servers whose clock is behind. */
  skew: 3_600_000,
} as const;

/** The whole state; never log this. */
export interface SelfMade {
  /** PEM certificates of all trusted authorities, the newest first; only the key of the newest is kept. */
  readonly authorities: readonly string[];
  readonly authorityKey: string;
  readonly serving: KeyedCertificate;
}

/** The facts that, together with the certificates, decide which step is due; times in ms. */
export interface Circumstances {
  readonly now: number;
  /** Names and IP addresses by which API servers reach the webhooks. */
  readonly hosts: readonly string[];
  /** Time since the API server was registered to trust the newest authority. */
  readonly trustedMs: number;
  /** Time since the serving certificate was first served. */
  readonly shownMs: number;
  /** Time for a new authority or a new serving certificate to reach all webhooks and API servers. */
  readonly overlapMs: number;
}

/**
 * A step of a renewal. An authority is trusted before the first certificate that it signed is served, and stays trusted
 * until all webhooks serve a certificate of its successor, so that no request fails meanwhile.
 */
export type DueStep = "begin" | "addAuthority" | "serveAnew" | "dropAuthorities";

/** Returns the step that is due, if any; `state` is undefined if no usable state exists. */
export function dueStepOf(state: SelfMade | undefined, circumstances: Circumstances): DueStep | undefined {
  if (!state) return "begin";
  const { now, hosts, trustedMs, shownMs, overlapMs } = circumstances;
  const [newest, ...older] = state.authorities.map((pem) => new X509Certificate(pem));
  if (!newest || endOf(newest) <= now) return "begin";
  if (endOf(newest) - now < lifetimes.authorityRenewal) return "addAuthority";
  const serving = new X509Certificate(state.serving.cert);
  // A certificate that is expired or lacks a host is replaced at once, because some or all API servers already refuse
  // it.
  if (endOf(serving) <= now || !hosts.every((host) => isFor(serving, host))) return "serveAnew";
  if (!serving.verify(newest.publicKey)) return trustedMs >= overlapMs ? "serveAnew" : undefined;
  if (endOf(serving) - now < lifetimes.servingRenewal) return "serveAnew";
  return older.length > 0 && shownMs >= overlapMs ? "dropAuthorities" : undefined;
}

/** Returns the state of a self-made certificate after one step of its renewal. */
export async function stepped(
  state: SelfMade | undefined,
  step: DueStep,
  { now, hosts }: Pick<Circumstances, "now" | "hosts">,
): Promise<SelfMade> {
  if (!state || step === "begin") {
    const authority = await newAuthority(now);
    const serving = await newServing(authority, { now, hosts });
    return { authorities: [authority.cert], authorityKey: authority.key, serving };
  }
  if (step === "addAuthority") {
    const { cert, key } = await newAuthority(now);
    // An expired authority is useless.
    const valid = state.authorities.filter((pem) => endOf(new X509Certificate(pem)) > now);
    return { ...state, authorities: [cert, ...valid], authorityKey: key };
  }
  const [newest = ""] = state.authorities;
  if (step === "dropAuthorities") return { ...state, authorities: [newest] };
  return { ...state, serving: await newServing({ cert: newest, key: state.authorityKey }, { now, hosts }) };
}

/** Returns whether keys and certificates can be read and match; if not, the webhook creates new ones. */
export function isSound({ authorities, authorityKey, serving }: SelfMade): boolean {
  try {
    const [newest, ...older] = authorities.map((pem) => new X509Certificate(pem));
    const shown = new X509Certificate(serving.cert);
    return newest !== undefined && newest.checkPrivateKey(createPrivateKey(authorityKey)) &&
      shown.checkPrivateKey(createPrivateKey(serving.key)) &&
      [newest, ...older].some(({ publicKey }) => shown.verify(publicKey));
  } catch {
    return false; // not a certificate
  }
}

function newAuthority(now: number): Promise<KeyedCertificate> {
  return makeAuthority({ commonName: "ostler-webhook-authority", ...life(now, lifetimes.authority) });
}

function newServing(
  authority: KeyedCertificate,
  { now, hosts }: Pick<Circumstances, "now" | "hosts">,
): Promise<KeyedCertificate> {
  return makeServingCertificate(authority, { commonName: "ostler-webhook", hosts, ...life(now, lifetimes.serving) });
}

function life(now: number, ms: number): { from: Date; until: Date } {
  return { from: new Date(now - lifetimes.skew), until: new Date(now + ms) };
}

function isFor(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

function endOf({ validTo }: X509Certificate): number {
  return Date.parse(validTo);
}
