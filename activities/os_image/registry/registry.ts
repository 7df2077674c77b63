/** One repository of a registry (OCI distribution 1.1), read only; the digest of all that comes is computed here. */
import { createHash } from "node:crypto";
import { RegistryAway, Unfit } from "../fault.ts";
import type { Reference } from "../reference.ts";
import { isLoopback } from "../reference.ts";
import { answerTo, type Credentials, parseChallenge } from "./challenge.ts";
import { type Answer, exchange } from "./exchange.ts";

/** As the specification has it: no registry need keep a larger one. */
const largestManifest = 4 * 1024 * 1024;

const manifestTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** Bytes, and the digest that we computed of them. */
export interface Fetched {
  digest: string;
  bytes: Uint8Array;
}

export interface RegistryAccess {
  credentials?: Credentials | undefined;
  /** Plain http, also to another machine. */
  insecure?: boolean;
  signal?: AbortSignal | undefined;
}

export class Registry {
  readonly #root: URL;
  readonly #path: string;
  readonly #access: RegistryAccess;
  #authorization: string | undefined;

  constructor({ host, path }: Pick<Reference, "host" | "path">, access: RegistryAccess = {}) {
    const isPlain = isLoopback(host) || access.insecure === true;
    this.#root = new URL(`${isPlain ? "http" : "https"}://${host}/v2/${path}/`);
    this.#path = path;
    this.#access = access;
  }

  /** A manifest by tag or digest; undefined where there is none. Throws Unfit where it is not of that digest, or too large. */
  async manifest(reference: string): Promise<Fetched | undefined> {
    const found = await this.#found(`manifests/${reference}`, manifestTypes, largestManifest);
    if (found !== undefined && reference.includes(":")) ensureDigest(found, reference);
    return found;
  }

  /** A blob of at most so many bytes; undefined where there is none. */
  async blob(digest: string, limit: number): Promise<Fetched | undefined> {
    const found = await this.#found(`blobs/${digest}`, "*/*", limit);
    if (found !== undefined) ensureDigest(found, digest);
    return found;
  }

  /** The index of what refers to a digest: the registry's own, or by the tag that stands in for it; undefined for none. */
  async referrers(digest: string): Promise<Uint8Array | undefined> {
    const { status, body } = await this.#ask(`referrers/${digest}`, manifestTypes, largestManifest);
    if (status === 200) return body;
    // A registry that knows nothing of referrers.
    return (await this.manifest(digest.replace(":", "-")))?.bytes;
  }

  async #found(path: string, accept: string, limit: number): Promise<Fetched | undefined> {
    const { status, body } = await this.#ask(path, accept, limit);
    const { host } = this.#root;
    if (status === 404) return undefined;
    if (status !== 200) throw new RegistryAway(`"${host}" responded HTTP ${status} for "${this.#path}"`);
    if (body === undefined) throw new Unfit("ManifestInvalid", `"${host}" has more than ${limit} bytes at ${path}`);
    return { bytes: body, digest: digestOf(body) };
  }

  async #ask(path: string, accept: string, limit: number): Promise<Answer> {
    const ask = (): Promise<Answer> => {
      const headers: Record<string, string> = { accept };
      if (this.#authorization !== undefined) headers["authorization"] = this.#authorization;
      return exchange({ url: new URL(path, this.#root), headers, limit, signal: this.#access.signal });
    };
    let answer = await ask();
    const challenge = answer.status === 401 ? parseChallenge(answer.headers["www-authenticate"] ?? "") : undefined;
    if (challenge) {
      const { protocol } = this.#root;
      const { credentials, signal } = this.#access;
      this.#authorization = await answerTo(challenge, { path: this.#path, protocol, credentials, signal });
      answer = await ask();
    }
    const { status } = answer;
    const { host } = this.#root;
    if (status === 401 || status === 403) {
      throw new Unfit("RegistryDenied", `"${host}" refuses access to "${this.#path}": HTTP ${status}`);
    }
    if (status === 429 || status >= 500) throw new RegistryAway(`"${host}" responded HTTP ${status}`);
    return answer;
  }
}

/** The digest of bytes, as references write it. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function ensureDigest({ digest }: Fetched, wanted: string): void {
  if (digest === wanted) return;
  throw new Unfit("ManifestInvalid", `The registry sent ${digest} instead of the requested ${wanted}`);
}
