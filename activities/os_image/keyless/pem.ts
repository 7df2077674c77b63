/** Certificates in PEM. */
import { Buffer } from "node:buffer";

const blocks = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g;

/**
 * Returns the DER of each certificate, in the order of the text; undefined if there is other text, or if there are more
 * than `most` certificates.
 */
export function certificatesIn(text: string, most: number): Uint8Array[] | undefined {
  const found = [...text.matchAll(blocks)].map(([, base64 = ""]) => Buffer.from(base64, "base64"));
  const isAll = text.replaceAll(blocks, "").trim() === "";
  return isAll && found.length <= most ? found : undefined;
}
