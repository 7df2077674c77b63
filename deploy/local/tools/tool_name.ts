/** The binaries that the embedded stack is made of, and those that judge what profiles and the chart render. */
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

/** The Linux programs that a machine runs: what its profile installs, and what its pods are made of. */
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

/** Temporal as people run it themselves; built only when asked for by name. */
export const temporalToolNames = ["temporal-server", "temporal-sql-tool"] as const;

/** A registry of images and what signs them, for tests; built only when asked for by name. */
export const registryToolNames = ["registry", "cosign"] as const;

/** What makes machines of control planes, beside what the stack has; built only when asked for by name. */
export const controlPlaneToolNames = ["kubeadm", "kube-scheduler"] as const;

/** The name of a program for machines. */
export type MachineToolName = typeof machineToolNames[number];

/** All that can be found or built. */
export const toolNames = [
  ...stackToolNames,
  ...machineToolNames,
  ...temporalToolNames,
  ...registryToolNames,
  ...controlPlaneToolNames,
] as const;

/** The name of one binary, as it stands in a folder. */
export type ToolName = typeof toolNames[number];

/** Returns the environment variable that provides a tool, such as `OSTLER_TOOL_KUBE_APISERVER` or `OSTLER_TOOL_KUBELET_1_36`. */
export function toolVariable(tool: ToolName): string {
  return `OSTLER_TOOL_${tool.toUpperCase().replaceAll(/[-.]/g, "_")}`;
}

/** Says whether a text names a tool. */
export function isToolName(text: string): text is ToolName {
  return (toolNames as readonly string[]).includes(text);
}

/** Says whether a tool runs on machines, which are Linux whatever system this is. */
export function isMachineTool(tool: ToolName): tool is MachineToolName {
  return (machineToolNames as readonly string[]).includes(tool);
}
