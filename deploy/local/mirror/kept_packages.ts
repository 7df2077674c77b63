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
    if (!await exists(kept)) {
      // Several machines that want the same package at once cost one download.
      const running = fetching.get(path) ?? keep(source, path, kept).finally(() => fetching.delete(path));
      fetching.set(path, running);
      const refusal = await running;
      if (refusal !== undefined) return refusal.clone();
    }
    return await sendFile(request, { path: kept, size: (await Deno.stat(kept)).size });
  };
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** Returns the answer to give where there is nothing to keep. */
async function keep(source: PackageSource, path: string, kept: string): Promise<Response | undefined> {
  const response = await source.ask(path);
  if (!response.ok) return response;
  await Deno.mkdir(join(kept, ".."), { recursive: true });
  const work = await Deno.makeTempFile({ dir: join(kept, ".."), prefix: ".part-" });
  try {
    using file = await Deno.open(work, { write: true });
    await response.body?.pipeTo(file.writable, { preventClose: true });
    await Deno.rename(work, kept);
    return undefined;
  } catch (error) {
    await Deno.remove(work).catch(() => {});
    return source.broken(path, error);
  }
}
