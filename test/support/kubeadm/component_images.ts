/** The images of a control plane's pods, each with one program, under the names that kubeadm uses. */
import { createHash } from "node:crypto";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { LayoutImage } from "../../../deploy/local/mirror/layout_image.ts";
import { architecture } from "../../../deploy/local/mirror/release_files.ts";
import { storeFile } from "../../../deploy/local/mirror/stored_file.ts";
import { runCommand } from "../../../deploy/local/tools/run_command.ts";
import type { ControlPlanePrograms } from "./programs.ts";
import { kubernetesVersion } from "./programs.ts";

/** Prefix of the image names in the mirror. */
export const imagePrefix = "control-plane";

const components = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "pause"] as const;
const types = "application/vnd.oci.image";

/** Builds the images in a folder; reuses the layers of programs that are unchanged. */
export async function componentImages(
  folder: string,
  programs: ControlPlanePrograms,
  version: string = kubernetesVersion,
): Promise<LayoutImage[]> {
  const tags = await tagsOf(programs.kubeadm, version);
  return await Promise.all(components.map(async (name) => {
    const tag = tags.get(name);
    if (tag === undefined) throw new Error(`Failed to build image "${name}": kubeadm lists no image with this name`);
    await writeLayout(join(folder, name), { name, program: programs[name], store: join(folder, "layers") });
    return { folder: join(folder, name), repository: `${imagePrefix}/${name}`, tags: [tag] };
  }));
}

/** Reads the tags from kubeadm, which defines the versions of some images itself. */
async function tagsOf(kubeadm: string, version: string): Promise<Map<string, string>> {
  const args = ["config", "images", "list", "--kubernetes-version", version, "--image-repository", "x"];
  const { code, stdout, lines } = await runCommand({
    ...{ program: kubeadm, args, env: { PATH: process.env["PATH"] ?? "" } },
  });
  if (code !== 0) throw new Error(`Failed to list images: kubeadm ended with exit code ${code}: ${lines.at(-1) ?? ""}`);
  return new Map(
    stdout.trim().split("\n").map((line): [string, string] => {
      const [, name = "", tag = ""] = /^x\/([^:]+):(.+)$/.exec(line) ?? [];
      return [name, tag];
    }),
  );
}

/**
 * Writes an image with one layer and one program on PATH, because kubeadm's manifests name commands without a folder.
 */
async function writeLayout(
  folder: string,
  { name, program, store }: { name: string; program: string; store: string },
): Promise<void> {
  const layer = await storeFile(store, { members: [{ name: `usr/local/bin/${name}`, path: program }], gzip: false });
  const blobs = join(folder, "blobs", "sha256");
  await mkdir(blobs, { recursive: true });
  await rm(join(blobs, layer.sha256), { force: true });
  await symlink(layer.path, join(blobs, layer.sha256));
  const put = async (content: object): Promise<{ digest: string; size: number }> => {
    const text = JSON.stringify(content);
    const sha256 = createHash("sha256").update(text).digest("hex");
    await writeFile(join(blobs, sha256), text);
    return { digest: `sha256:${sha256}`, size: text.length };
  };
  const config = await put({
    ...{ architecture, os: "linux" },
    config: { Env: ["PATH=/usr/local/bin"], Entrypoint: [`/usr/local/bin/${name}`] },
    rootfs: { type: "layers", diff_ids: [`sha256:${layer.sha256}`] },
  });
  const manifest = await put({
    ...{ schemaVersion: 2, mediaType: `${types}.manifest.v1+json` },
    config: { mediaType: `${types}.config.v1+json`, ...config },
    layers: [{ mediaType: `${types}.layer.v1.tar`, digest: `sha256:${layer.sha256}`, size: layer.size }],
  });
  const index = { schemaVersion: 2, manifests: [{ mediaType: `${types}.manifest.v1+json`, ...manifest }] };
  await writeFile(join(folder, "index.json"), JSON.stringify(index));
}
