import type { DebianArchives } from "./debian_archives.ts";

/** Requests files from the upstream archives; every result, including a failure, is a response to forward. */
export interface PackageSource {
  /** Returns the file's response if it exists (`ok`), otherwise 404, or 502 with the reason. */
  ask(path: string, method?: string): Promise<Response>;
  /** Returns the response for a download that failed before its end. */
  broken(path: string, reason: unknown): Response;
}

const limitMs = 5 * 60_000;

/**
 * Returns a source whose paths begin with the archive's name, `debian` or `debian-security`; `signal` cancels
 * downloads.
 */
export function packageSource(archives: DebianArchives, signal: AbortSignal): PackageSource {
  const client = archives.proxy === undefined ? undefined : Deno.createHttpClient({ proxy: { url: archives.proxy } });
  signal.addEventListener("abort", () => client?.close(), { once: true });
  const urlOf = (path: string): string => {
    const [, name, rest] = /^(debian|debian-security)\/(.*)$/.exec(path) ?? [];
    return `${archives[name as "debian" | "debian-security"]}/${rest}`;
  };
  const broken = (path: string, reason: unknown): Response => {
    return new Response(`Failed to fetch "${urlOf(path)}": ${reasonOf(reason)}\n`, { status: 502 });
  };
  const ask = async (path: string, method = "GET"): Promise<Response> => {
    const limits = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
    try {
      const response = await fetch(urlOf(path), { method, signal: limits, ...(client && { client }) });
      return response.ok ? response : await refusalOf(urlOf(path), response, broken.bind(undefined, path));
    } catch (error) {
      return broken(path, error);
    }
  };
  return { ask, broken };
}

/** Returns the response to forward: 404 stays 404, because apt probes for absent files; other failures become 502. */
async function refusalOf(url: string, response: Response, broken: (reason: string) => Response): Promise<Response> {
  await response.body?.cancel();
  if (response.status === 404) return new Response(`Not found: "${url}"\n`, { status: 404 });
  return broken(`the server returned ${response.status} ${response.statusText}`.trimEnd());
}

/** Returns the reason of an error; a failed fetch has its reason only in the cause. */
function reasonOf(error: unknown): string {
  const told = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return told instanceof Error ? told.message : String(told);
}
