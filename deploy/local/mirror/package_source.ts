import type { DebianArchives } from "./debian_archives.ts";

/** Asks the archives behind us; what it says of a file, or why there is nothing to say, is an answer to pass on. */
export interface PackageSource {
  /** The file's answer where it is there (`ok`), else 404 or 502 with the reason. */
  ask(path: string, method?: string): Promise<Response>;
  /** The answer where an answer that came could not be read to its end. */
  broken(path: string, reason: unknown): Response;
}

const limitMs = 5 * 60_000;

/** Paths begin with the archive's name, `debian` or `debian-security`; `signal` ends all that is under way. */
export function packageSource(archives: DebianArchives, signal: AbortSignal): PackageSource {
  const client = archives.proxy === undefined ? undefined : Deno.createHttpClient({ proxy: { url: archives.proxy } });
  signal.addEventListener("abort", () => client?.close(), { once: true });
  const urlOf = (path: string): string => {
    const [, name, rest] = /^(debian|debian-security)\/(.*)$/.exec(path) ?? [];
    return `${archives[name as "debian" | "debian-security"]}/${rest}`;
  };
  const broken = (path: string, reason: unknown): Response => {
    return new Response(`Cannot fetch "${urlOf(path)}": ${reasonOf(reason)}\n`, { status: 502 });
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

/** Not found is an answer that apt expects of some files; anything else is trouble behind us. */
async function refusalOf(url: string, response: Response, broken: (reason: string) => Response): Promise<Response> {
  await response.body?.cancel();
  if (response.status === 404) return new Response(`There is nothing at "${url}"\n`, { status: 404 });
  return broken(`it answers ${response.status} ${response.statusText}`.trimEnd());
}

/** A fetch that failed says only in its cause why. */
function reasonOf(error: unknown): string {
  const told = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return told instanceof Error ? told.message : String(told);
}
