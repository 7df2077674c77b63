/** The identity in a certificate of Fulcio. */
import { Buffer } from "node:buffer";
// Must be imported before @peculiar/x509, which does not load without it.
import "../../x509/reflection.ts";
import * as x509 from "@peculiar/x509";
import { elementsIn } from "./der.ts";

export interface Identity {
  /** Issuer of the token by which the holder authenticated to Fulcio. */
  issuer: string;
  /** An email address, or a URI such as that of a workflow. */
  subject: string;
}

/**
 * The extension with the issuer as a DER string, and below it the extension of older certificates, with the bare text.
 */
const issuerExtension = "1.3.6.1.4.1.57264.1.8";
const olderIssuerExtension = "1.3.6.1.4.1.57264.1.1";

/** Returns the identity; undefined unless there is exactly one. */
export function identityIn(certificate: x509.X509Certificate): Identity | undefined {
  const subject = subjectOf(certificate);
  const issuer = issuerOf(certificate);
  return subject !== undefined && issuer !== undefined ? { issuer, subject } : undefined;
}

/**
 * Returns the only name of a certificate if that is a URL or an email address, because a name of another type could
 * have the same text; undefined otherwise.
 */
function subjectOf(certificate: x509.X509Certificate): string | undefined {
  const names = certificate.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
  const [name] = names;
  return names.length === 1 && (name?.type === "url" || name?.type === "email") ? name.value : undefined;
}

function issuerOf(certificate: x509.X509Certificate): string | undefined {
  const newer = certificate.getExtension(issuerExtension);
  if (newer) return textIn(new Uint8Array(newer.value));
  const older = certificate.getExtension(olderIssuerExtension);
  return older ? Buffer.from(older.value).toString("utf8") : undefined;
}

/** Returns the text of a single UTF8String; undefined for any other content. */
function textIn(der: Uint8Array): string | undefined {
  const [text, ...others] = elementsIn(der) ?? [];
  return text?.tag === 0x0c && others.length === 0 ? Buffer.from(text.content).toString("utf8") : undefined;
}
