/** Signed content with the evidence for its signatures; not to be trusted before they are verified. */

export interface Signed {
  /** The bytes that the signatures cover. */
  bytes: Uint8Array;
  signatures: readonly Uint8Array[];
  /** The content of an envelope, and the envelope as received; a log entry has the hash of one of them. */
  payload?: Uint8Array;
  envelope?: Uint8Array;
  /** Evidence of a keyless signature; "Unreadable" if it exists but is invalid. */
  certified?: Certified | "Unreadable" | undefined;
}

/** The certificate that a signature claims, with its chain and its log entries. */
export interface Certified {
  /** The certificate in DER. */
  leaf: Uint8Array;
  /** Certificates of authorities in DER, the leaf's issuer first. */
  chain: readonly Uint8Array[];
  entries: readonly LogEntry[];
}

/** An entry of a transparency log (Rekor 1). */
export interface LogEntry {
  /** Content of the entry in base64, as the log signed it. */
  body: string;
  /** Time at which the log recorded the entry (epoch seconds). */
  integratedTime: number;
  logIndex: number;
  /** ID of the log in hexadecimal digits. */
  logId: string;
  /** The log's signature over the other fields (signed entry timestamp). */
  promise: Uint8Array | undefined;
}
