/** What MachineDeployments and their sets say by rules of their API: numbers, sizes, and which machines they select. */
import { refused } from "../failures.ts";
import { requirementsOf, selectorText } from "./label_selector.ts";
import type { MachineDeployment } from "./schemas.ts";

export const revisionAnnotation = "machinedeployment.clusters.k8s.io/revision";
export const templateHashLabel = "machine-template-hash";

/** How many machines may come beside `replicas`: a percentage is rounded up, absent means 1 (machine-controller 1.66). */
export function surgeOf(maxSurge: number | string | null | undefined, replicas: number): number {
  if (typeof maxSurge !== "string") return maxSurge ?? 1;
  const amount = Number.parseFloat(maxSurge);
  return maxSurge.endsWith("%") ? Math.ceil(replicas * amount / 100) : amount;
}

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
