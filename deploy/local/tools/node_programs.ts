import { type ResolveOptions, resolveTools } from "./resolve_tools.ts";
import { type MachineToolName, machineToolNames } from "./tool_name.ts";

/** The absolute paths of the programs that a machine runs. */
export type NodePrograms = Readonly<Record<MachineToolName, string>> & {
  /** Set if machines join by kubeadm. */
  readonly kubeadm?: string;
  /** Set if machines join by kubeadm of the previous minor version, from which they are upgraded. */
  readonly "kubeadm-1.35"?: string;
};

/** Finds or builds all programs of machines; throws ToolError. */
export async function resolveNodePrograms(options?: ResolveOptions): Promise<NodePrograms> {
  return await resolveTools(machineToolNames, options);
}
