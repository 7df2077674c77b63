/** Serves an OCI layout (github.com/opencontainers/image-spec, image-layout.md) like a read-only registry. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Answer, sendFile } from "./answer.ts";

/** Folder of the unpacked layout, and the name under which it is served. */
export interface LayoutImage {
  folder: string;
  repository: string;
  tags: readonly string[];
}

const manifestType = "application/vnd.oci.image.manifest.v1+json";
const algorithm = "sha256";

/** Serves the only manifest in the layout's index by tag and by digest, and its blobs. */
export async function serveLayout({ folder, repository, tags }: LayoutImage): Promise<Answer> {
  const { manifests: [manifest] } = JSON.parse(await readFile(join(folder, "index.json"), "utf8"));
  return async (request, path) => {
    const [, kind = "", reference = ""] = new RegExp(`^v2/${repository}/(manifests|blobs)/([^/]+)$`).exec(path) ?? [];
    if (kind === "") return undefined;
    const isTag = kind === "manifests" && tags.includes(reference);
    const digest: string = isTag ? manifest.digest : reference;
    const [, hex] = new RegExp(`^${algorithm}:([0-9a-f]{64})$`).exec(digest) ?? [];
    if (hex === undefined) return undefined;
    const file = join(folder, "blobs", algorithm, hex);
    const size = await stat(file).then((found) => found.size, () => undefined);
    if (size === undefined) return undefined;
    const type = kind === "manifests" ? { "content-type": manifestType } : {};
    return await sendFile(request, { path: file, size }, { ...type, "docker-content-digest": digest });
  };
}
