/** The label selector under which a MachineDeployment's sets and machines are found. */
import { refused } from "../../failures.ts";
import { requirementsOf, selectorText } from "../../kube/label_selector.ts";
import type { MachineDeployment } from "../../kube/schemas.ts";

/** The MachineDeployment asks for a label at least; one that asks for none selects nothing (machine-controller 1.66). */
export function hasSelector({ spec }: MachineDeployment): boolean {
  return requirementsOf(spec.selector ?? {}) > 0;
}

/** Refuses an empty selector: it would name every machine of the namespace. */
export function labelSelectorOf(deployment: MachineDeployment): string {
  if (hasSelector(deployment)) return selectorText(deployment.spec.selector ?? {});
  const { namespace, name } = deployment.metadata;
  const state = "its selector has neither matchLabels nor matchExpressions";
  throw refused("ObjectInvalid", `Cannot find the machines of "${namespace}/${name}": ${state}`);
}
