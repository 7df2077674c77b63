/** Which profile a MachineDeployment asks for. */
import type { MachineDeployment } from "../kube/schemas.ts";
import { profileAnnotation, profileNamespaceAnnotation } from "./annotations.ts";

/** Name and namespace of the profile, or undefined for a MachineDeployment that is none of ours. */
export function profileRef(
  deployment: MachineDeployment,
  defaultNamespace: string,
): { name: string; namespace: string } | undefined {
  const annotations = deployment.metadata.annotations ?? {};
  const name = annotations[profileAnnotation];
  if (!name) return undefined;
  return { name, namespace: annotations[profileNamespaceAnnotation] || defaultNamespace };
}
