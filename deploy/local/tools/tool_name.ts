/** The binaries that the embedded stack is made of, and those that judge what profiles render. */
export const toolNames = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kubectl",
  "temporal",
  "tctl",
  "machine-controller",
  "check-machine-files",
  "check-kubelet-config",
] as const;

/** The name of one binary, as it stands in a folder. */
export type ToolName = typeof toolNames[number];

/** Returns the environment variable that provides a tool, such as `OSTLER_TOOL_KUBE_APISERVER`. */
export function toolVariable(tool: ToolName): string {
  return `OSTLER_TOOL_${tool.toUpperCase().replaceAll("-", "_")}`;
}

/** Says whether a text names a tool. */
export function isToolName(text: string): text is ToolName {
  return (toolNames as readonly string[]).includes(text);
}
