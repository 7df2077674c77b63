/** Lists of components in the format of Constellation's ConfigMaps: the programs of one version in the mirror. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { architecture } from "../../../deploy/local/mirror/release_files.ts";
import { resolveTools } from "../../../deploy/local/tools/resolve_tools.ts";
import type { ContainerHost } from "../../../deploy/local/machines/container_host.ts";
import { kubernetesVersion, previousVersion } from "./programs.ts";

const tools = {
  [previousVersion]: { kubeadm: "kubeadm-1.35", kubelet: "kubelet-1.35" },
  [kubernetesVersion]: { kubeadm: "kubeadm", kubelet: "kubelet-1.36" },
} as const;

/** Returns the list with kubeadm and the kubelet of a version, as JSON. */
export async function componentList(
  { mirror }: Pick<ContainerHost, "mirror">,
  version: keyof typeof tools = kubernetesVersion,
): Promise<string> {
  const names = tools[version];
  const paths: Record<string, string> = await resolveTools(Object.values(names));
  const list = Object.entries(names).map(async ([name, tool]) => ({
    url: new URL(`${version}/bin/linux/${architecture}/${name}`, mirror.url).href,
    hash: `sha256:${createHash("sha256").update(await readFile(paths[tool] ?? "")).digest("hex")}`,
    installPath: `/opt/bin/${name}`,
  }));
  return JSON.stringify(await Promise.all(list));
}
