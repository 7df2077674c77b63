/** The images that an image is built from, as they are stated with a release. */
import { getContainerRuntimeClient } from "testcontainers";

export interface BaseImage {
  readonly name: string;
  /** In registries, or in the engine for an image that was built or imported there. */
  readonly digest: { readonly sha256: string };
}

/** The build arguments that name images. */
const named = ["BASE", "DENO", "BUILD_BASE", "BUILD_DENO"];

/** Returns the images among the arguments of a build, with the digests of the engine. */
export async function baseImages(args: Readonly<Record<string, string>>): Promise<BaseImage[]> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const names = new Set(named.flatMap((name) => args[name] ?? []));
  return await Promise.all([...names].map(async (name) => baseImage(name, await dockerode.getImage(name).inspect())));
}

/** Returns an image with its digest: that of its name, or of its registry, or else of its config. */
export function baseImage(
  name: string,
  { Id, RepoDigests }: { Id: string; RepoDigests?: readonly string[] },
): BaseImage {
  const [plain = "", pinned = RepoDigests?.[0]?.split("@")[1] ?? Id] = name.split("@");
  return { name: plain, digest: { sha256: pinned.replace(/^sha256:/, "") } };
}
