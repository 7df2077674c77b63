/** The command line of a cluster-autoscaler, from its strategy and the groups that it may scale. */
import type { AutoscalingStrategy, ScalingGroup } from "../kube/update_kinds.ts";

/** Where a Deployment says nothing: what the autoscaler's own images start. */
const usualBinary = "./cluster-autoscaler";
/** Names of flags; what begins with a dash, or has a sign in it, would be another flag. */
const flag = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;
/** Nothing that a flag's value could break out of one argument with, or that no one could read in a process list. */
// deno-lint-ignore no-control-regex
const unusual = /[\u0000-\u001f\u007f]/;

export interface AutoscalerCommand {
  command: string[];
  /** What was left out, in words. */
  leftOut: string[];
}

/**
 * The binary, then the arguments in their order: those of the strategy, and `--nodes=min:max:name` for each group that is
 * to be scaled and is no control plane. What no autoscaler could use is left out, and told.
 */
export function autoscalerCommand(
  { spec: { autoscalerExtraArgs } }: Pick<AutoscalingStrategy, "spec">,
  { groups, binary = usualBinary }: { groups: readonly Pick<ScalingGroup, "metadata" | "spec">[]; binary?: string },
): AutoscalerCommand {
  const leftOut: string[] = [];
  const args = Object.entries(autoscalerExtraArgs).flatMap(([name, value]) => {
    if (flag.test(name) && !unusual.test(value)) return [`--${name}=${value}`];
    leftOut.push(`argument ${JSON.stringify(name)}: not the name and value of a flag`);
    return [];
  });
  const scaled = groups.filter(({ spec }) => spec.autoscaling && !isControlPlane(spec.role));
  const nodes = scaled.flatMap(({ metadata: { name }, spec }) => {
    const fault = faultOf(spec);
    if (fault === "") return [`--nodes=${spec.min}:${spec.max}:${spec.autoscalerGroupName}`];
    leftOut.push(`group "${name}": ${fault}`);
    return [];
  });
  return { command: [binary, ...[...new Set([...args, ...nodes])].sort()], leftOut };
}

/** As the operator parses roles, in any case. */
export function isControlPlane(role: string): boolean {
  return ["controlplane", "control-plane"].includes(role.toLowerCase());
}

function faultOf({ min, max, autoscalerGroupName }: ScalingGroup["spec"]): string {
  if (autoscalerGroupName === "") return "it has no autoscalerGroupName";
  if (unusual.test(autoscalerGroupName)) return "its autoscalerGroupName has control characters";
  return min < 0 || min > max ? `it may have ${min} to ${max} nodes` : "";
}
