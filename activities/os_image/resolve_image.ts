/** Resolves a reference at its registry: index, manifest for the platform, and creation time. */
import type { ClusterObject, ImageLook, ResolvedImage } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { orRefused, Unfit } from "./fault.ts";
import type { Reference } from "./reference.ts";
import { type ImageConfig, type Listed, type Manifest, readConfig, readManifest } from "./registry/manifest.ts";
import type { Fetched, Registry } from "./registry/registry.ts";
import { type Asked, askingRegistry, readSubject, specOf } from "./subject.ts";

const largestConfig = 4 * 1024 * 1024;

/** Resolves the reference of an OSImage; computes every digest from the received bytes. */
export async function resolveImage(kube: Kube, { object: { name } }: { object: ClusterObject }): Promise<ImageLook> {
  const subject = await readSubject(kube, name);
  if (subject === undefined) return { outcome: "Gone" };
  const { uid, generation } = subject;
  return await orRefused<ImageLook>(generation, async () => {
    const asked = specOf(subject);
    const image = await askingRegistry(kube, asked, (registry) => resolve(registry, asked));
    return { outcome: "Resolved", image: { uid, generation, repository: asked.reference.repository, ...image } };
  });
}

type Found = Omit<ResolvedImage, "uid" | "generation" | "repository">;

async function resolve(registry: Registry, { spec: { platform }, reference }: Asked): Promise<Found> {
  const top = await needed(registry, reference);
  const read = readManifest(top);
  if (read.kind === "Manifest") return await imageOf(registry, { fetched: top, manifest: read.manifest }, platform);
  const listed = forPlatform(read.manifests, platform);
  const fetched = await registry.manifest(listed.digest);
  if (fetched === undefined) {
    throw new Unfit(
      "NotFound",
      `The image index lists manifest ${listed.digest}, but the registry does not have this manifest`,
    );
  }
  const inner = readManifest(fetched);
  if (inner.kind === "Index") {
    throw new Unfit("ManifestInvalid", `${fetched.digest} is an index inside an index; expected an image manifest`);
  }
  const image = await imageOf(registry, { fetched, manifest: inner.manifest, listed }, platform);
  return { ...image, indexDigest: top.digest };
}

/** Reads the manifest by the digest of the reference, else by its tag. */
async function needed(registry: Registry, { repository, tag = "", digest }: Reference): Promise<Fetched> {
  const found = await registry.manifest(digest ?? tag);
  if (found) return found;
  throw new Unfit("NotFound", `Repository "${repository}" does not have "${digest ?? tag}"`);
}

interface Inner {
  fetched: Fetched;
  manifest: Manifest;
  /** The image's entry in the index. */
  listed?: Listed;
}

/**
 * Returns the image for a platform. If the image's config does not name a platform, the platform of its entry in the
 * index counts. Throws Unfit if the config names another platform, or if neither names one.
 */
async function imageOf(registry: Registry, { fetched, manifest, listed }: Inner, platform: string): Promise<Found> {
  const config = await configOf(registry, manifest);
  const said = platformText(config) ?? (listed && platform);
  if (said === undefined || !isPlatform(said, platform)) {
    const what = said === undefined ? "does not name its platform" : `is for ${said}`;
    throw new Unfit("PlatformMissing", `Image ${fetched.digest} ${what}; expected ${platform}`);
  }
  const { created } = config;
  const isTime = created !== undefined && !Number.isNaN(Date.parse(created));
  return { digest: fetched.digest, ...(isTime ? { created: new Date(created).toISOString() } : {}) };
}

async function configOf(registry: Registry, { config: { digest } }: Manifest): Promise<ImageConfig> {
  const config = await registry.blob(digest, largestConfig);
  if (config) return readConfig(config.bytes);
  throw new Unfit("NotFound", `The registry does not have the config ${digest} of the image`);
}

function forPlatform(manifests: readonly Listed[], platform: string): Listed {
  const found = manifests.find((each) => each.platform && isPlatform(platformText(each.platform) ?? "", platform));
  if (found) return found;
  const has = manifests.flatMap((each) => each.platform ? platformText(each.platform) ?? [] : []);
  throw new Unfit(
    "PlatformMissing",
    `Platform ${platform} is missing: the platforms in the image index are ${
      has.slice(0, 16).join(", ") || "not named"
    }`,
  );
}

function platformText(
  { os, architecture, variant }: Pick<ImageConfig, "os" | "architecture" | "variant">,
): string | undefined {
  if (!os || !architecture) return undefined;
  return [os, architecture, ...(variant ? [variant] : [])].join("/");
}

/** Returns whether an image is for a platform; the variant of the image counts only if `wanted` names a variant. */
function isPlatform(said: string, wanted: string): boolean {
  return said === wanted || said.startsWith(`${wanted}/`);
}
