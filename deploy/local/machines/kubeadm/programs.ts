/** What control planes are made of. */
import { kubeletVersions } from "../../tools/machine_versions.ts";
import { type ResolveOptions, resolveTools } from "../../tools/resolve_tools.ts";

const names = ["kubeadm", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "pause"] as const;

/** The absolute path of each program. */
export type ControlPlanePrograms = Readonly<Record<typeof names[number], string>>;

/** Of control planes and workers alike. */
export const kubernetesVersion = kubeletVersions["kubelet-1.36"];

/** Finds or builds all of them; throws ToolError. */
export async function controlPlanePrograms(options?: ResolveOptions): Promise<ControlPlanePrograms> {
  return await resolveTools(names, options);
}
