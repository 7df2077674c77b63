/** The programs of control planes. */
import { kubeletVersions } from "../../../deploy/local/tools/machine_versions.ts";
import { type ResolveOptions, resolveTools } from "../../../deploy/local/tools/resolve_tools.ts";

const names = ["kubeadm", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "pause"] as const;

/** Absolute path by program. */
export type ControlPlanePrograms = Readonly<Record<typeof names[number], string>>;

/** Kubernetes version of control planes and workers. */
export const kubernetesVersion = kubeletVersions["kubelet-1.36"];

/** Finds or builds all programs of control planes; throws ToolError. */
export async function controlPlanePrograms(options?: ResolveOptions): Promise<ControlPlanePrograms> {
  return await resolveTools(names, options);
}
