import { type Answer, sendFile } from "./answer.ts";
import type { DebianArchives } from "./debian_archives.ts";
import { type PackageSource, packageSource } from "./package_source.ts";
import { join } from "node:path";

/** Archives of packages, and the folder that keeps their immutable files. */
interface PackageOptions {
  readonly directory: string;
  readonly archives: DebianArchives;
  /** Cancels downloads in progress. */
  readonly signal: AbortSignal;
}

const ours = /^packages\/((?:debian|debian-security)\/.+)$/;
// Files under these paths are immutable: packages, and indexes named by their SHA-256.
const isFixed = /\/(pool|by-hash)\//;
// A path segment that is valid in a URL and as a file name.
const isPlain = /^(?!\.)(?!.*%2f)[A-Za-z0-9%._~+:-]+$/i;
const indexSeconds = 60;
const largestIndex = 1024 * 1024;

/**
 * Serves the paths below packages/: forwards the files of the Debian archives unchanged, including signatures. Keeps
 * immutable files in `directory` permanently, and indexes of at most 1 MiB in memory for a minute.
 */
export function passPackagesOn({ directory, archives, signal }: PackageOptions): Answer {
  const source = packageSource(archives, signal);
  const sendKept = keepPackages(directory, source);
  const indexes = new Map<string, Index>();
  return async (request, whole) => {
    const [, path] = ours.exec(whole) ?? [];
    if (path === undefined || !path.split("/").every((part) => isPlain.test(part))) return undefined;
    if (isFixed.test(path)) return await sendKept(request, path);
    const index = indexes.get(path);
    if (index !== undefined && index.until > Date.now()) return answerWith(request, index);
    return await passOn(request, path, { source, indexes });
  };
}

interface Index {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Headers;
  /** Expiry time (epoch ms). */
  readonly until: number;
}

async function passOn(
  request: Request,
  path: string,
  { source, indexes }: { source: PackageSource; indexes: Map<string, Index> },
): Promise<Response> {
  const response = await source.ask(path, request.method);
  if (!response.ok) return response;
  const headers = passedHeaders(response);
  const isSmall = Number(headers.get("content-length") ?? Infinity) <= largestIndex;
  if (request.method === "HEAD" || !isSmall) return new Response(response.body, { headers });
  try {
    const bytes = new Uint8Array(await response.arrayBuffer());
    const index = { bytes, headers, until: Date.now() + indexSeconds * 1000 };
    for (const [name, { until }] of indexes) if (until <= Date.now()) indexes.delete(name);
    indexes.set(path, index);
    return answerWith(request, index);
  } catch (error) {
    return source.broken(path, error);
  }
}

function answerWith(request: Request, { bytes, headers }: Index): Response {
  return new Response(request.method === "HEAD" ? null : bytes, { headers });
}

function passedHeaders({ headers }: Response): Headers {
  const names = ["last-modified", "content-type"];
  // The content-length of an encoded response is that of the encoded body, but the forwarded body is decoded.
  if (!headers.has("content-encoding")) names.push("content-length");
  return new Headers(names.flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  }));
}

/** Serves immutable files from a directory, which it fills atomically. */
export function keepPackages(
  directory: string,
  source: PackageSource,
): (request: Request, path: string) => Promise<Response> {
  const fetching = new Map<string, Promise<Response | undefined>>();
  return async (request, path) => {
    const kept = join(directory, path);
    // Concurrent requests of several machines for the same package share one check and download.
    const running = fetching.get(path) ?? ensureKept(source, path, kept).finally(() => fetching.delete(path));
    fetching.set(path, running);
    const refusal = await running;
    if (refusal !== undefined) return refusal.clone();
    return await sendFile(request, { path: kept, size: (await Deno.stat(kept)).size });
  };
}

/**
 * Downloads a file unless it is kept; returns undefined if the file is then in place, otherwise the response to
 * forward.
 */
async function ensureKept(source: PackageSource, path: string, kept: string): Promise<Response | undefined> {
  const isThere = await Deno.stat(kept).then(() => true, () => false);
  return isThere ? undefined : await keep(source, path, kept);
}

async function keep(source: PackageSource, path: string, kept: string): Promise<Response | undefined> {
  const response = await source.ask(path);
  if (!response.ok) return response;
  await Deno.mkdir(join(kept, ".."), { recursive: true });
  const work = await Deno.makeTempFile({ dir: join(kept, ".."), prefix: ".part-" });
  try {
    // Uses writeFile, because in Deno 2.9.6 pipeTo with preventClose resolves before the last bytes are written.
    await Deno.writeFile(work, response.body ?? new Uint8Array());
    await Deno.rename(work, kept);
    return undefined;
  } catch (error) {
    await Deno.remove(work).catch(() => {});
    return source.broken(path, error);
  }
}
