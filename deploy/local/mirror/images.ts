import { createHash } from "node:crypto";
import type { NodePrograms } from "../tools/node_programs.ts";
import { type Answer, sendFile } from "./answer.ts";
import { architecture } from "./release_files.ts";
import { type StoredFile, storeFile } from "./stored_file.ts";

/** Repository and tag of the images of the project's own programs, by purpose. */
export const imageNames = { pause: "ostler/pause:1", podServer: "ostler/pod-server:1" } as const;

const manifestType = "application/vnd.oci.image.manifest.v1+json";
const configType = "application/vnd.oci.image.config.v1+json";
const layerType = "application/vnd.oci.image.layer.v1.tar";
// An unprivileged user, which needs no entry in /etc/passwd.
const user = "65535:65535";

interface Image {
  readonly repository: string;
  readonly tag: string;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layer: StoredFile;
}

interface Blob {
  readonly text: string;
  readonly sha256: string;
}

/** Returns a read-only public registry of the images in `imageNames`, at /v2/. */
export async function prepareImages(directory: string, programs: NodePrograms): Promise<Answer> {
  const images = [
    await imageOf(directory, imageNames.pause, programs.pause),
    await imageOf(directory, imageNames.podServer, programs["pod-server"]),
  ];
  return async (request, path) => {
    if (path === "v2/") return Response.json({}, { headers: { "docker-distribution-api-version": "registry/2.0" } });
    const [, repository, kind, reference] = /^v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
    const ofRepository = images.filter((image) => image.repository === repository);
    for (const image of ofRepository) {
      const answer = await (kind === "blobs" ? sendBlob : sendManifest)(request, image, reference);
      if (answer !== undefined) return answer;
    }
    return path.startsWith("v2/") ? unknown(path) : undefined;
  };
}

async function imageOf(directory: string, name: string, program: string): Promise<Image> {
  const [repository = "", tag = ""] = name.split(":");
  const command = repository.slice(repository.lastIndexOf("/") + 1);
  const members = [{ name: command, path: program }];
  const layer = await storeFile(directory, { members, gzip: false });
  const config = blobOf({
    ...{ architecture, os: "linux" },
    config: { Entrypoint: [`/${command}`], User: user },
    rootfs: { type: "layers", diff_ids: [`sha256:${layer.sha256}`] },
  });
  const manifest = blobOf({
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: configType, digest: `sha256:${config.sha256}`, size: config.text.length },
    layers: [{ mediaType: layerType, digest: `sha256:${layer.sha256}`, size: layer.size }],
  });
  return { repository, tag, manifest, config, layer };
}

function blobOf(content: object): Blob {
  const text = JSON.stringify(content);
  return { text, sha256: createHash("sha256").update(text).digest("hex") };
}

function sendManifest(_request: Request, { tag, manifest }: Image, reference = ""): Response | undefined {
  const digest = `sha256:${manifest.sha256}`;
  return [tag, digest].includes(reference) ? sendText(manifest, manifestType) : undefined;
}

async function sendBlob(request: Request, { config, layer }: Image, reference = ""): Promise<Response | undefined> {
  if (reference === `sha256:${config.sha256}`) return sendText(config, "application/octet-stream");
  if (reference !== `sha256:${layer.sha256}`) return undefined;
  return await sendFile(request, layer, { "docker-content-digest": reference });
}

function sendText({ text, sha256 }: Blob, type: string): Response {
  const headers = { "content-type": type, "content-length": `${text.length}` };
  return new Response(text, { headers: { ...headers, "docker-content-digest": `sha256:${sha256}` } });
}

function unknown(path: string): Response {
  const errors = [{ code: "NAME_UNKNOWN", message: `there is nothing at "/${path}"` }];
  return Response.json({ errors }, { status: 404 });
}
