/**
 * A fake of Fulcio and Rekor that answers the real cosign; every client gets a certificate for the identity in its
 * token.
 */
import { Buffer } from "node:buffer";
import { createPublicKey } from "node:crypto";
import { certify, type Holder } from "./fulcio.ts";
import type { Sigstore } from "./keyless_signer.ts";
import { dsseEntry, inTotoEntry } from "./rekor.ts";

export class SigstoreServer implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  /** Requested paths, in order. */
  readonly paths: string[] = [];

  constructor(readonly sigstore: Sigstore) {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
      const { pathname } = new URL(request.url);
      this.paths.push(pathname);
      if (request.method === "POST" && pathname === "/api/v1/signingCert") return await this.#certify(request);
      if (request.method === "POST" && pathname === "/api/v1/log/entries") return this.#enter(await request.json());
      return new Response(null, { status: 404 });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async #certify(request: Request): Promise<Response> {
    const [, claims = ""] = (request.headers.get("authorization") ?? "").split(".");
    const { iss: issuer, sub: subject } = JSON.parse(Buffer.from(claims, "base64url").toString()) as Claims;
    const { publicKey: { content } } = await request.json() as { publicKey: { content: string } };
    const publicKey = createPublicKey(Buffer.from(content, "base64")).export({ type: "spki", format: "der" });
    const { intermediate, root } = this.sigstore;
    const certificate = await certify(intermediate, { publicKey, holder: { issuer, subject } });
    return new Response([certificate, intermediate.pem, root.pem].join("\n"), { status: 201 });
  }

  #enter(proposed: unknown): Response {
    const { promise, body, ...facts } = this.sigstore.log.enter(entryOf(proposed as Proposed));
    const hash = "0".repeat(64);
    const inclusionProof = { checkpoint: "none\n", hashes: [], logIndex: 0, rootHash: hash, treeSize: 1 };
    const entry = { body, ...facts, verification: { signedEntryTimestamp: promise, inclusionProof } };
    return Response.json({ [hash]: entry }, { status: 201 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

interface Claims {
  iss: string;
  sub: string;
}

interface Proposed {
  kind: string;
  spec: {
    proposedContent?: { envelope: string; verifiers: string[] };
    content?: { envelope: string };
    publicKey?: string;
  };
}

/** Returns the log entry for a proposed entry of a client. */
function entryOf(proposed: Proposed): object {
  const { kind, spec: { proposedContent, content, publicKey } } = proposed;
  if (kind === "dsse") return dsseEntry(proposedContent?.envelope ?? "", textOf(proposedContent?.verifiers[0]));
  return kind === "intoto" ? inTotoEntry(content?.envelope ?? "", textOf(publicKey)) : proposed;
}

function textOf(base64 = ""): string {
  return Buffer.from(base64, "base64").toString();
}

/** A token with the identity of its owner; its signature is not checked. */
export function tokenOf({ issuer: iss, subject: sub }: Holder): string {
  const parts = [{ alg: "RS256" }, { iss, sub, aud: "sigstore" }].map((part) => JSON.stringify(part));
  return [...parts, "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");
}
