/** Schemas of manifests, indexes and image configs, limited to the used fields. */
import { z } from "zod";
import { Unfit } from "../fault.ts";
import type { Fetched } from "./registry.ts";

const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const text = z.string().max(4_096);

const Descriptor = z.object({
  mediaType: text.default(""),
  digest: Digest,
  artifactType: text.optional(),
  annotations: z.record(z.string(), z.string()).optional(),
}).loose();

const Listed = Descriptor.extend({
  platform: z.object({ os: text, architecture: text, variant: text.optional() }).loose().optional(),
});
export type Listed = z.infer<typeof Listed>;

const Index = z.object({ manifests: z.array(Listed).max(1_000) }).loose();
const Manifest = z.object({ config: Descriptor, layers: z.array(Descriptor).max(2_000) }).loose();
export type Manifest = z.infer<typeof Manifest>;
export type Layer = Manifest["layers"][number];

const ImageConfig = z.object({
  os: text.optional(),
  architecture: text.optional(),
  variant: text.optional(),
  created: z.string().max(64).optional(),
}).loose();
export type ImageConfig = z.infer<typeof ImageConfig>;

export type Read = { kind: "Index"; manifests: Listed[] } | { kind: "Manifest"; manifest: Manifest };

/** Parses a manifest or an index. Throws Unfit for any other content, and for content that could be either. */
export function readManifest({ bytes, digest }: Fetched): Read {
  const value = parseJson(bytes);
  const [index, manifest] = [Index.safeParse(value), Manifest.safeParse(value)];
  const isEither = has(value, "manifests") !== (has(value, "layers") || has(value, "config"));
  if (isEither && index.success) return { kind: "Index", manifests: index.data.manifests };
  if (isEither && manifest.success) return { kind: "Manifest", manifest: manifest.data };
  throw new Unfit("ManifestInvalid", `The content of ${digest} is neither an image manifest nor an index`);
}

/** Returns the manifests in an index; undefined if the index is invalid or too long. */
export function listedIn(bytes: Uint8Array): Listed[] | undefined {
  return Index.safeParse(parseJson(bytes)).data?.manifests;
}

/** Returns the config of an image; empty if the content is not one, as for an artifact that is not an image. */
export function readConfig(bytes: Uint8Array): ImageConfig {
  return ImageConfig.safeParse(parseJson(bytes)).data ?? {};
}

/** Returns the parsed JSON; undefined for any other content. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function has(value: unknown, field: string): boolean {
  return typeof value === "object" && value !== null && field in value;
}
