/** Finds the base images of an image and their digests, which the provenance of a release states. */
import { getContainerRuntimeClient } from "testcontainers";

export interface BaseImage {
  readonly name: string;
  /** The digest in registries; for an image that the engine built or imported, its id in the engine. */
  readonly digest: { readonly sha256: string };
}

/** The build arguments that name images. */
const named = ["BASE", "DENO", "BUILD_BASE", "BUILD_DENO"];

/** Returns the images that are named in the build arguments `args`, with the digests that the engine knows. */
export async function baseImages(args: Readonly<Record<string, string>>): Promise<BaseImage[]> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const names = new Set(named.flatMap((name) => args[name] ?? []));
  return await Promise.all([...names].map(async (name) => baseImage(name, await dockerode.getImage(name).inspect())));
}

/** Returns an image with its digest: the digest in its name, else the one in a registry, else its id in the engine. */
export function baseImage(
  name: string,
  { Id, RepoDigests }: { Id: string; RepoDigests?: readonly string[] },
): BaseImage {
  const [plain = "", pinned = RepoDigests?.[0]?.split("@")[1] ?? Id] = name.split("@");
  return { name: plain, digest: { sha256: pinned.replace(/^sha256:/, "") } };
}
