/** Signs images and statements with its own key, as cosign does, where cosign is not installed. */
import { Buffer } from "node:buffer";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

export class Signer {
  readonly #key: KeyObject;
  /** The public key in PEM. */
  readonly pem: string;
  /** The private key in PEM, which must not be published. */
  readonly privatePem: string;

  constructor(kind: "p256" | "rsa" | "ed25519" = "p256") {
    const { publicKey, privateKey } = kind === "p256"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : kind === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: 2_048 })
      : generateKeyPairSync("ed25519");
    this.#key = privateKey;
    this.privatePem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    this.pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  sign(bytes: Uint8Array): string {
    return sign(this.#key.asymmetricKeyType === "ed25519" ? null : "sha256", bytes, this.#key).toString("base64");
  }

  /** Returns the layer of a simple signature of a digest; with other `fields` in its payload. */
  layer(digest: string, fields: object = {}): { mediaType: string; bytes: Uint8Array; annotations: object } {
    const critical = {
      identity: { "docker-reference": "" },
      image: { "docker-manifest-digest": digest },
      type: "cosign container image signature",
      ...fields,
    };
    const bytes = Buffer.from(JSON.stringify({ critical, optional: null }));
    const annotations = { "dev.cosignproject.cosign/signature": this.sign(bytes) };
    return { mediaType: "application/vnd.dev.cosign.simplesigning.v1+json", bytes, annotations };
  }

  /** Returns the envelope of a statement about a digest. */
  envelope(digest: string, { predicateType, predicate }: { predicateType: string; predicate?: unknown }): Uint8Array {
    const subject = [{ name: "", digest: { sha256: digest.slice("sha256:".length) } }];
    const statement = { _type: "https://in-toto.io/Statement/v1", subject, predicateType, predicate };
    const payload = Buffer.from(JSON.stringify(statement));
    const payloadType = "application/vnd.in-toto+json";
    const head = Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `);
    const signatures = [{ keyid: "", sig: this.sign(Buffer.concat([head, payload])) }];
    return Buffer.from(JSON.stringify({ payloadType, payload: payload.toString("base64"), signatures }));
  }
}
