import { join } from "node:path";
import { sendFile } from "./answer.ts";
import type { PackageSource } from "./package_source.ts";

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
