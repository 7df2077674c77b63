/** The programs of the embedded stack, and those that validate the output of profiles and the chart. */
export const stackToolNames = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kubectl",
  "temporal",
  "tctl",
  "helm",
  "machine-controller",
  "check-machine-files",
  "check-kubelet-config",
] as const;

/** The Linux programs that a machine runs: those that its profile installs, and those in its pods. */
export const machineToolNames = [
  "kubelet-1.35",
  "kubelet-1.36",
  "containerd",
  "containerd-shim-runc-v2",
  "ctr",
  "runc",
  "cni-bridge",
  "cni-host-local",
  "cni-loopback",
  "cni-portmap",
  "cni-ptp",
  "crictl",
  "pause",
  "pod-server",
] as const;

/** The separate Temporal server for production use; built only if a caller names it. */
export const temporalToolNames = ["temporal-server", "temporal-sql-tool"] as const;

/** A registry of images and the program that signs images, for tests; built only if a caller names them. */
export const registryToolNames = ["registry", "cosign"] as const;

/** Programs for control plane machines, in addition to those of the stack; built only if a caller names them. */
const controlPlaneToolNames = [
  ...["kubeadm", "kube-scheduler"] as const,
  // Programs of the Kubernetes version from which control planes are upgraded.
  ...["kubeadm-1.35", "kube-apiserver-1.35", "kube-controller-manager-1.35", "kube-scheduler-1.35"] as const,
] as const;

/** The name of a program that runs on machines. */
export type MachineToolName = typeof machineToolNames[number];

/** All tools that can be found or built. */
export const toolNames = [
  ...stackToolNames,
  ...machineToolNames,
  ...temporalToolNames,
  ...registryToolNames,
  ...controlPlaneToolNames,
] as const;

/** The name of a tool, which is its file name. */
export type ToolName = typeof toolNames[number];

/**
 * Returns the environment variable that provides a tool, such as `OSTLER_TOOL_KUBE_APISERVER` or
 * `OSTLER_TOOL_KUBELET_1_36`.
 */
export function toolVariable(tool: ToolName): string {
  return `OSTLER_TOOL_${tool.toUpperCase().replaceAll(/[-.]/g, "_")}`;
}

/** Returns whether a text is the name of a tool. */
export function isToolName(text: string): text is ToolName {
  return (toolNames as readonly string[]).includes(text);
}

/** Returns whether a tool runs on machines; it is then always built for Linux. */
export function isMachineTool(tool: ToolName): tool is MachineToolName {
  return (machineToolNames as readonly string[]).includes(tool);
}
