/** What is said to be signed, with what came along to prove it; nothing of it is to be believed as it stands. */

export interface Signed {
  /** Over which the signatures are. */
  bytes: Uint8Array;
  signatures: readonly Uint8Array[];
  /** Inside of an envelope, and the envelope as it was found; a log records either by its hash. */
  payload?: Uint8Array;
  envelope?: Uint8Array;
  /** A keyless signature has it; it may be there and not to be read. */
  certified?: Certified | "Unreadable" | undefined;
}

/** Whose certificate it is said to be, and where that was made public. */
export interface Certified {
  /** DER. */
  leaf: Uint8Array;
  /** DER of authorities, the leaf's issuer first. */
  chain: readonly Uint8Array[];
  entries: readonly LogEntry[];
}

/** An entry of a transparency log (Rekor 1). */
export interface LogEntry {
  /** Base64, as the log signed it. */
  body: string;
  /** Epoch seconds. */
  integratedTime: number;
  logIndex: number;
  /** Hexadecimal. */
  logId: string;
  /** The log's signature over all of it (signed entry timestamp). */
  promise: Uint8Array | undefined;
}
