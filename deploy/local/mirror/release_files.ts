import process from "node:process";
import { kubeletVersions, machineVersions } from "../tools/machine_versions.ts";
import type { NodePrograms } from "../tools/node_programs.ts";
import type { MachineToolName } from "../tools/tool_name.ts";
import type { Content } from "./stored_file.ts";

/** One file of a release, and the path of its published SHA-256; paths are relative to the mirror's address. */
export interface ReleaseFile {
  readonly path: string;
  readonly checksumPath: string;
  /** Whether the published SHA-256 is followed by the file name. */
  readonly isNamed: boolean;
  readonly content: Content;
}

/** The architecture of this host in release names; machines have the same architecture. */
export const architecture: string = process.arch === "x64" ? "amd64" : process.arch;

/** Returns all files that a node's profile downloads, under the paths of their projects. */
export function releaseFiles(programs: NodePrograms): ReleaseFile[] {
  return [
    containerd(programs),
    runc(programs),
    cniPlugins(programs),
    ...crictls(programs),
    ...kubelets(programs),
    ...kubeadm(programs),
  ];
}

function containerd(programs: NodePrograms): ReleaseFile {
  const version = machineVersions.containerd;
  const file = `containerd-static-${version.slice(1)}-linux-${architecture}.tar.gz`;
  const names = ["containerd", "containerd-shim-runc-v2", "ctr"] as const;
  const members = names.map((name) => ({ name: `bin/${name}`, path: programs[name] }));
  return archiveAt(`containerd/${version}/${file}`, ".sha256sum", members);
}

function runc(programs: NodePrograms): ReleaseFile {
  const folder = `runc/${machineVersions.runc}`;
  const content = { program: programs.runc };
  return { path: `${folder}/runc.${architecture}`, checksumPath: `${folder}/runc.sha256sum`, isNamed: true, content };
}

function cniPlugins(programs: NodePrograms): ReleaseFile {
  const version = machineVersions.cni;
  const tools = Object.keys(programs).filter((name): name is MachineToolName => name.startsWith("cni-"));
  const members = tools.map((tool) => ({ name: tool.slice("cni-".length), path: programs[tool] }));
  return archiveAt(`cni/${version}/cni-plugins-linux-${architecture}-${version}.tgz`, ".sha256", members);
}

/**
 * Returns a crictl for the minor version of each kubelet; the same built crictl serves as all of these versions,
 * because it works with all of these kubelets.
 */
function crictls({ crictl }: NodePrograms): ReleaseFile[] {
  const minors = Object.values(kubeletVersions).map((version) => version.split(".")[1]);
  return minors.map((minor) => {
    const version = `v1.${minor}.0`;
    const file = `crictl-${version}-linux-${architecture}.tar.gz`;
    return archiveAt(`crictl/${version}/${file}`, ".sha256", [{ name: "crictl", path: crictl }]);
  });
}

function kubelets(programs: NodePrograms): ReleaseFile[] {
  return (Object.keys(kubeletVersions) as (keyof typeof kubeletVersions)[]).map((tool) => {
    const path = `${kubeletVersions[tool]}/bin/linux/${architecture}/kubelet`;
    return { path, checksumPath: `${path}.sha256`, isNamed: false, content: { program: programs[tool] } };
  });
}

/** Returns a kubeadm for each minor version of control planes; leaves out a version for which no program is given. */
function kubeadm(programs: NodePrograms): ReleaseFile[] {
  const built = [
    { version: kubeletVersions["kubelet-1.36"], program: programs.kubeadm },
    { version: kubeletVersions["kubelet-1.35"], program: programs["kubeadm-1.35"] },
  ];
  return built.flatMap(({ version, program }) => {
    const path = `${version}/bin/linux/${architecture}/kubeadm`;
    return program === undefined
      ? []
      : [{ path, checksumPath: `${path}.sha256`, isNamed: false, content: { program } }];
  });
}

function archiveAt(path: string, suffix: string, members: { name: string; path: string }[]): ReleaseFile {
  return { path, checksumPath: `${path}${suffix}`, isNamed: true, content: { members, gzip: true } };
}
