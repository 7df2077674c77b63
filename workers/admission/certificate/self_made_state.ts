/** What the webhook shows and whom the API server is to trust for it, and what of that is due to change. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { type KeyedCertificate, makeAuthority, makeServingCertificate } from "../../../activities/x509/self_made.ts";

const dayMs = 24 * 3_600_000;

/** Milliseconds. */
export const lifetimes = {
  authority: 365 * dayMs,
  /** So long before its end an authority gets a successor. */
  authorityRenewal: 120 * dayMs,
  serving: 90 * dayMs,
  servingRenewal: 30 * dayMs,
  /** Certificates begin in the past, for API servers whose clock is behind. */
  skew: 3_600_000,
} as const;

/** All of it; never to be logged. */
export interface SelfMade {
  /** Certificates of all authorities that are trusted, PEM, the newest first: it alone has its key here. */
  readonly authorities: readonly string[];
  readonly authorityKey: string;
  readonly serving: KeyedCertificate;
}

/** What has to be known beside the certificates; times in ms. */
export interface Circumstances {
  readonly now: number;
  /** Names and IP addresses by which the API server calls. */
  readonly hosts: readonly string[];
  /** For how long the API server has been told to trust the newest authority. */
  readonly trustedMs: number;
  /** For how long the serving certificate has been the one to show. */
  readonly shownMs: number;
  /** How long either takes to reach everybody. */
  readonly overlapMs: number;
}

/**
 * The next step of a change; undefined where nothing is due. An authority is trusted before anything that it vouches for is
 * shown, and stays trusted until nobody shows anything else, so that no request fails meanwhile.
 */
export type DueStep = "begin" | "addAuthority" | "serveAnew" | "dropAuthorities";

/** What is due of a state that can be used, or of none. */
export function dueStepOf(state: SelfMade | undefined, circumstances: Circumstances): DueStep | undefined {
  if (!state) return "begin";
  const { now, hosts, trustedMs, shownMs, overlapMs } = circumstances;
  const [newest, ...older] = state.authorities.map((pem) => new X509Certificate(pem));
  if (!newest || endOf(newest) <= now) return "begin";
  if (endOf(newest) - now < lifetimes.authorityRenewal) return "addAuthority";
  const serving = new X509Certificate(state.serving.cert);
  // Nobody can trust it: there is nothing to wait for.
  if (endOf(serving) <= now || !hosts.every((host) => isFor(serving, host))) return "serveAnew";
  if (!serving.verify(newest.publicKey)) return trustedMs >= overlapMs ? "serveAnew" : undefined;
  if (endOf(serving) - now < lifetimes.servingRenewal) return "serveAnew";
  return older.length > 0 && shownMs >= overlapMs ? "dropAuthorities" : undefined;
}

/** Takes the step. */
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
    // What has ended vouches for nothing any more.
    const valid = state.authorities.filter((pem) => endOf(new X509Certificate(pem)) > now);
    return { ...state, authorities: [cert, ...valid], authorityKey: key };
  }
  const [newest = ""] = state.authorities;
  if (step === "dropAuthorities") return { ...state, authorities: [newest] };
  return { ...state, serving: await newServing({ cert: newest, key: state.authorityKey }, { now, hosts }) };
}

/** Whether keys and certificates belong together and can be read; what cannot is made anew. */
export function isSound({ authorities, authorityKey, serving }: SelfMade): boolean {
  try {
    const [newest, ...older] = authorities.map((pem) => new X509Certificate(pem));
    const shown = new X509Certificate(serving.cert);
    return newest !== undefined && newest.checkPrivateKey(createPrivateKey(authorityKey)) &&
      shown.checkPrivateKey(createPrivateKey(serving.key)) &&
      [newest, ...older].some(({ publicKey }) => shown.verify(publicKey));
  } catch {
    return false; // no certificate at all
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
