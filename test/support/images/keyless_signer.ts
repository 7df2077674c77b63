/** Signs with an ephemeral key, a certificate and a log entry, as cosign does, where cosign is not installed. */
import { Buffer } from "node:buffer";
import { createPublicKey } from "node:crypto";
import { type Authority, certify, type Holder, type LeafFacts, makeAuthority } from "./fulcio.ts";
import { dsseEntry, hashedRekord, inTotoEntry, inTotoEntry2, type Logged, Rekor } from "./rekor.ts";
import { Signer } from "./signer.ts";

export const workflow: Holder = {
  issuer: "https://token.actions.githubusercontent.com",
  subject: "https://github.com/acme/os/.github/workflows/build.yml@refs/heads/main",
};

export const annotation = {
  certificate: "dev.sigstore.cosign/certificate",
  chain: "dev.sigstore.cosign/chain",
  bundle: "dev.sigstore.cosign/bundle",
} as const;

/** A layer of a signature; a test may change its annotations. */
export interface KeylessLayer {
  mediaType: string;
  bytes: Uint8Array;
  annotations: Record<string, string>;
}

/** Functions that make the log's entry of a signed envelope, by type of the entry. */
const entries = { dsse: dsseEntry, intoto: inTotoEntry, intoto2: inTotoEntry2 } as const;

/** The fields in which a signature differs from a valid one. */
export interface Changes {
  holder?: Holder;
  facts?: LeafFacts;
  /** The authority that issues the certificate; `chain` is the chain that is stored with the signature. */
  authority?: Authority;
  chain?: readonly Authority[];
  /** When the log records the signature (epoch ms). */
  at?: number;
  log?: Rekor;
  entry?: keyof typeof entries;
}

export class Sigstore {
  private constructor(readonly root: Authority, readonly intermediate: Authority, readonly log: Rekor) {}

  static async open(): Promise<Sigstore> {
    const root = await makeAuthority("root", { depth: 1 });
    const intermediate = await makeAuthority("intermediate", { by: root, depth: 0, purposes: ["1.3.6.1.5.5.7.3.3"] });
    return new Sigstore(root, intermediate, new Rekor());
  }

  /** Returns the part of an OSImage's spec that trusts this certificate authority and log, for these identities. */
  trust(...identities: Holder[]): { roots: string[]; transparencyLogs: string[]; identities: Holder[] } {
    return { roots: [this.root.pem], transparencyLogs: [this.log.pem], identities };
  }

  /** Returns the layer of a simple signature of a digest. */
  async layer(digest: string, changes: Changes = {}): Promise<KeylessLayer> {
    const { signer, certificate, chain } = await this.#certified(changes);
    const layer = signer.layer(digest) as KeylessLayer;
    const signature = layer.annotations["dev.cosignproject.cosign/signature"] ?? "";
    const logged = this.#enter(hashedRekord(layer.bytes, { signature, certificate }), changes);
    return { ...layer, annotations: { ...layer.annotations, ...beside(certificate, chain, logged) } };
  }

  /** Returns the layer of a statement about a digest. */
  async statement(
    digest: string,
    said: Parameters<Signer["envelope"]>[1],
    changes: Changes = {},
  ): Promise<KeylessLayer> {
    const { signer, certificate, chain } = await this.#certified(changes);
    const bytes = signer.envelope(digest, said);
    const entry = entries[changes.entry ?? "dsse"](textOf(bytes), certificate);
    const annotations = beside(certificate, chain, this.#enter(entry, changes));
    return { mediaType: "application/vnd.dsse.envelope.v1+json", bytes, annotations };
  }

  /**
   * Returns a bundle with a signed statement about a digest: by default cosign's signature, otherwise the statement
   * `said`.
   */
  async bundle(
    digest: string,
    changes: Changes = {},
    said = { predicateType: "https://sigstore.dev/cosign/sign/v1" },
  ): Promise<Bundle> {
    const { signer, certificate, chain } = await this.#certified(changes);
    const envelope = textOf(signer.envelope(digest, said));
    const record = entries[changes.entry ?? "dsse"];
    const { promise, logID, body, integratedTime, logIndex } = this.#enter(record(envelope, certificate), changes);
    const entry = {
      ...{ logIndex: `${logIndex}`, integratedTime: `${integratedTime}`, canonicalizedBody: body },
      logId: { keyId: Buffer.from(logID, "hex").toString("base64") },
      inclusionPromise: { signedEntryTimestamp: promise },
      kindVersion: { kind: "dsse", version: "0.0.1" },
    };
    const certificates = [certificate, ...chain].map((pem) => ({ rawBytes: derOf(pem) }));
    const verificationMaterial = { x509CertificateChain: { certificates }, tlogEntries: [entry] };
    return { mediaType: bundleType, verificationMaterial, dsseEnvelope: JSON.parse(envelope) as unknown };
  }

  async #certified(
    { holder = workflow, facts = {}, authority = this.intermediate, chain = [this.intermediate, this.root] }: Changes,
  ): Promise<{ signer: Signer; certificate: string; chain: string[] }> {
    const signer = new Signer();
    const publicKey = createPublicKey(signer.pem).export({ type: "spki", format: "der" });
    const certificate = await certify(authority, { publicKey, holder }, facts);
    return { signer, certificate, chain: chain.map(({ pem }) => pem) };
  }

  #enter(entry: object, { log = this.log, at = Date.now() }: Changes): Logged {
    return log.enter(entry, at);
  }
}

export const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";

export interface Bundle {
  mediaType: string;
  verificationMaterial: {
    x509CertificateChain: { certificates: { rawBytes: string }[] };
    tlogEntries: Record<string, unknown>[];
  };
  dsseEnvelope: unknown;
}

function beside(certificate: string, chain: readonly string[], logged: Logged): Record<string, string> {
  return {
    [annotation.certificate]: certificate,
    [annotation.chain]: chain.join("\n"),
    [annotation.bundle]: bundleText(logged),
  };
}

/** Returns the bundle of a log entry, as cosign 2 writes it into an annotation. */
export function bundleText({ promise, ...Payload }: Logged): string {
  return JSON.stringify({ SignedEntryTimestamp: promise, Payload });
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Base64 of a PEM certificate's DER. */
export function derOf(pem: string): string {
  return pem.replaceAll(/-----[A-Z ]+-----|\s/g, "");
}
