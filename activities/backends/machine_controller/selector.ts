/** The label selector under which a MachineDeployment's sets and machines are found. */
import { refused } from "../../failures.ts";
import type { MachineDeployment } from "../../kube/schemas.ts";

/** The MachineDeployment can be matched with its machines. */
export function hasLabels(deployment: MachineDeployment): boolean {
  return Object.keys(deployment.spec.selector?.matchLabels ?? {}).length > 0;
}

/** Refuses an empty selector: it would name every machine of the namespace. */
export function labelSelectorOf(deployment: MachineDeployment): string {
  const labels = Object.entries(deployment.spec.selector?.matchLabels ?? {});
  if (labels.length === 0) {
    const { namespace, name } = deployment.metadata;
    throw refused(
      "ObjectInvalid",
      `Cannot find the machines of "${namespace}/${name}": its selector has no matchLabels`,
    );
  }
  return labels.map(([key, value]) => `${key}=${value}`).join(",");
}
