/** The programs of control planes. */
import { kubeletVersions } from "../../../deploy/local/tools/machine_versions.ts";
import { type ResolveOptions, resolveTools } from "../../../deploy/local/tools/resolve_tools.ts";

const names = ["kubeadm", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "pause"] as const;

/** Absolute path by program. */
export type ControlPlanePrograms = Readonly<Record<typeof names[number], string>>;

/** Kubernetes version of control planes and workers. */
export const kubernetesVersion = kubeletVersions["kubelet-1.36"];

/** Kubernetes version of control planes before an upgrade. */
export const previousVersion = kubeletVersions["kubelet-1.35"];

/** Finds or builds all programs of control planes; throws ToolError. */
export async function controlPlanePrograms(options?: ResolveOptions): Promise<ControlPlanePrograms> {
  return await resolveTools(names, options);
}

/** Finds or builds the programs of the previous version, with the same etcd; throws ToolError. */
export async function previousPrograms(options?: ResolveOptions): Promise<ControlPlanePrograms> {
  const tools = await resolveTools([
    ...["kubeadm-1.35", "kube-apiserver-1.35", "kube-controller-manager-1.35", "kube-scheduler-1.35"] as const,
    ...["etcd", "pause"] as const,
  ], options);
  return {
    ...{ kubeadm: tools["kubeadm-1.35"], "kube-apiserver": tools["kube-apiserver-1.35"] },
    "kube-controller-manager": tools["kube-controller-manager-1.35"],
    "kube-scheduler": tools["kube-scheduler-1.35"],
    ...{ etcd: tools.etcd, pause: tools.pause },
  };
}
