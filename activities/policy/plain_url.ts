/** URLs in policies. */
import { z } from "zod";

/** A URL without user, password and query, because everyone who may read a policy sees its URLs. */
export const PlainUrl = z.string().max(512).regex(
  /^https?:\/\/[^\s\/?#@]+(\/[^\s?#@]*)?$/,
  "must be an http or https URL without credentials, query or fragment",
);

/**
 * Returns whether a connection to the URL cannot be read on the way: it uses https, or does not leave the host. A host
 * name such as 127.example.com is not of this host; `URL` writes all forms of IPv4 addresses with four numbers.
 */
export function isConfidential({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
