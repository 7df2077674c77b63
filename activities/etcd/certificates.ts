/** Validates credentials before use, because a server closes the connection without a reason if they are invalid. */
import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";

/** A CA, a client certificate and its key, in PEM. */
export interface Credentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Returns what is wrong with the credentials, as the end of "Secret …: "; undefined if they are valid. Quotes no value.
 */
export function faultInCertificates({ ca, cert, key }: Credentials, now: number): string | undefined {
  const [authorities, chain] = [certificatesIn(ca), certificatesIn(cert)];
  if (!authorities) return `its "ca.crt" does not contain a PEM certificate`;
  const [own] = chain ?? [];
  if (!own) return `its "tls.crt" does not contain a PEM certificate`;
  const privateKey = keyIn(key);
  if (!privateKey) return `its "tls.key" does not contain a PEM private key without a password`;
  if (!isOf(own, privateKey)) return `its "tls.key" does not match its "tls.crt"`;
  const valid = authorities.find((each) => timeFault(each, now) === undefined);
  if (!valid) return `its "ca.crt" ${timeFault(authorities[0], now)}`;
  const fault = timeFault(own, now);
  return fault === undefined ? undefined : `its "tls.crt" ${fault}`;
}

type Certificates = [X509Certificate, ...X509Certificate[]];

/** Returns the certificates in PEM text; undefined if there is none, or one cannot be read. */
export function certificatesIn(pem: string): Certificates | undefined {
  try {
    const [first, ...more] = (pem.match(block) ?? []).map((each) => new X509Certificate(each));
    return first ? [first, ...more] : undefined;
  } catch {
    return undefined; // not thrown: the message of the error may quote the certificate
  }
}

function keyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined; // not thrown: the message of the error may quote the key
  }
}

function isOf({ publicKey }: X509Certificate, key: KeyObject): boolean {
  const der = (each: KeyObject) => each.export({ type: "spki", format: "der" });
  return der(createPublicKey(key as never)).equals(der(publicKey));
}

function timeFault({ validFrom, validTo }: X509Certificate, now: number): string | undefined {
  const [from, to] = [new Date(validFrom), new Date(validTo)];
  if (to.getTime() <= now) return `expired at ${to.toISOString()}`;
  return from.getTime() > now ? `is not valid before ${from.toISOString()}` : undefined;
}
