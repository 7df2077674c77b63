/** Reads one repository of a registry (OCI distribution 1.1); computes the digest of all received content. */
import { createHash } from "node:crypto";
import { RegistryAway, Unfit } from "../fault.ts";
import type { Reference } from "../reference.ts";
import { isLoopback } from "../reference.ts";
import { answerTo, type Credentials, parseChallenge } from "./challenge.ts";
import { type Answer, exchange } from "./exchange.ts";

/** Maximum bytes by the specification: registries need not accept larger manifests. */
const largestManifest = 4 * 1024 * 1024;

const manifestTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** Bytes, and the digest that was computed from them. */
export interface Fetched {
  digest: string;
  bytes: Uint8Array;
}

export interface RegistryAccess {
  credentials?: Credentials | undefined;
  /**
   * Whether to use plain http even if the registry runs on another machine; a registry on this machine always uses it.
   */
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

  /**
   * Returns a manifest by tag or digest; undefined if it does not exist. Throws Unfit if it is too large, or if its
   * digest is not the requested one.
   */
  async manifest(reference: string): Promise<Fetched | undefined> {
    const found = await this.#found(`manifests/${reference}`, manifestTypes, largestManifest);
    if (found !== undefined && reference.includes(":")) ensureDigest(found, reference);
    return found;
  }

  /**
   * Returns a blob of at most `limit` bytes; undefined if it does not exist. Throws Unfit if it is larger, or if its
   * digest is not the requested one.
   */
  async blob(digest: string, limit: number): Promise<Fetched | undefined> {
    const found = await this.#found(`blobs/${digest}`, "*/*", limit);
    if (found !== undefined) ensureDigest(found, digest);
    return found;
  }

  /**
   * Returns the index of the manifests that refer to a digest, from the referrers API or, if the registry does not
   * support this API, from the tag "sha256-<hex digits>"; undefined if there is none.
   */
  async referrers(digest: string): Promise<Uint8Array | undefined> {
    const { status, body } = await this.#ask(`referrers/${digest}`, manifestTypes, largestManifest);
    if (status === 200) return body;
    // Any other status means that the registry does not support the referrers API.
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

/** Returns the digest of bytes, in the form of references. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function ensureDigest({ digest }: Fetched, wanted: string): void {
  if (digest === wanted) return;
  throw new Unfit("ManifestInvalid", `The registry sent ${digest} instead of the requested ${wanted}`);
}
