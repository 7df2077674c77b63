import { type ResolveOptions, resolveTools } from "./resolve_tools.ts";
import { type MachineToolName, machineToolNames } from "./tool_name.ts";

/** The absolute path of each program that a machine runs. */
export type NodePrograms = Readonly<Record<MachineToolName, string>> & {
  /** Where machines join by it. */
  readonly kubeadm?: string;
};

/** Finds or builds all of them; throws ToolError. */
export async function resolveNodePrograms(options?: ResolveOptions): Promise<NodePrograms> {
  return await resolveTools(machineToolNames, options);
}
