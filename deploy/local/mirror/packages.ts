import { type Answer, sendFile } from "./answer.ts";
import type { DebianArchives } from "./debian_archives.ts";
import { type PackageSource, packageSource } from "./package_source.ts";
import { join } from "node:path";

/** Where packages come from, and where those that never change are kept. */
interface PackageOptions {
  readonly directory: string;
  readonly archives: DebianArchives;
  /** Ends downloads that are under way. */
  readonly signal: AbortSignal;
}

const ours = /^packages\/((?:debian|debian-security)\/.+)$/;
// What lies here never changes under its name: packages, and indexes named by their SHA-256.
const isFixed = /\/(pool|by-hash)\//;
// A word that can be both part of an address and the name of a file.
const isPlain = /^(?!\.)(?!.*%2f)[A-Za-z0-9%._~+:-]+$/i;
const indexSeconds = 60;
const largestIndex = 1024 * 1024;

/** Passes Debian's packages on, below packages/, as they are, signatures and all; keeps what never changes, and small indexes for a minute. */
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
  /** Until when it may be told, in milliseconds of the clock. */
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
  // The length is that of what was sent, which need not be what was unpacked for us.
  if (!headers.has("content-encoding")) names.push("content-length");
  return new Headers(names.flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  }));
}

/** Answers for files that never change, from a directory that it fills; each is there whole or not at all. */
export function keepPackages(
  directory: string,
  source: PackageSource,
): (request: Request, path: string) => Promise<Response> {
  const fetching = new Map<string, Promise<Response | undefined>>();
  return async (request, path) => {
    const kept = join(directory, path);
    // Several machines that want the same package at once cost one download: who looks whether it is there, fetches it.
    const running = fetching.get(path) ?? ensureKept(source, path, kept).finally(() => fetching.delete(path));
    fetching.set(path, running);
    const refusal = await running;
    if (refusal !== undefined) return refusal.clone();
    return await sendFile(request, { path: kept, size: (await Deno.stat(kept)).size });
  };
}

/** Returns the answer to give where there is nothing to keep. */
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
    // Not pipeTo() with preventClose: in Deno 2.9.6 that resolves before the last bytes are written.
    await Deno.writeFile(work, response.body ?? new Uint8Array());
    await Deno.rename(work, kept);
    return undefined;
  } catch (error) {
    await Deno.remove(work).catch(() => {});
    return source.broken(path, error);
  }
}
