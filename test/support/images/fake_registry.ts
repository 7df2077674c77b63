/** A registry in memory that can be as hostile as a test needs. */
import { createHash } from "node:crypto";
import { type MadeImage, makeImage } from "./made_image.ts";

/** Returns the answer of a test to a request; undefined lets the registry answer. */
export type Intruder = (request: Request) => Response | undefined;

export class FakeRegistry implements AsyncDisposable {
  /** The manifests by tag or digest; `blobs` has the blobs by digest. */
  readonly manifests = new Map<string, Uint8Array>();
  readonly blobs = new Map<string, Uint8Array>();
  readonly requests: { url: string; headers: Headers }[] = [];
  intrude: Intruder = () => undefined;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      this.requests.push({ url: request.url, headers: new Headers(request.headers) });
      return this.intrude(request) ?? this.#answer(new URL(request.url).pathname);
    });
  }

  get host(): string {
    return `127.0.0.1:${this.#server.addr.port}`;
  }

  /** Requested paths, in order. */
  get paths(): string[] {
    return this.requests.map(({ url }) => new URL(url).pathname);
  }

  /** Stores an image. */
  put(tag: string, image: MadeImage | Parameters<typeof makeImage>[0]): MadeImage {
    const made = "blobs" in image ? image : makeImage(image);
    for (const { digest, bytes, mediaType } of made.blobs) {
      (mediaType === undefined ? this.blobs : this.manifests).set(digest, bytes);
      if (digest === made.digest) this.manifests.set(tag, bytes);
    }
    return made;
  }

  /** Stores a manifest of these blobs; returns its digest. */
  attach(reference: string, layers: { mediaType: string; bytes: Uint8Array; annotations?: object }[]): string {
    const described = layers.map(({ mediaType, bytes, annotations = {} }) => {
      const digest = digestOf(bytes);
      this.blobs.set(digest, bytes);
      return { mediaType, digest, size: bytes.length, annotations };
    });
    const config = { mediaType: "application/vnd.oci.empty.v1+json", digest: digestOf(json({})), size: 2 };
    const bytes = json({ schemaVersion: 2, config, layers: described });
    for (const name of [reference, digestOf(bytes)]) this.manifests.set(name, bytes);
    return digestOf(bytes);
  }

  #answer(path: string): Response {
    const [, kind, name = ""] = /^\/v2\/.+\/(manifests|blobs|referrers)\/([^/]+)$/.exec(path) ?? [];
    const bytes = (kind === "manifests" ? this.manifests : kind === "blobs" ? this.blobs : undefined)?.get(name);
    return bytes === undefined ? new Response(null, { status: 404 }) : new Response(new Uint8Array(bytes));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

export function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
