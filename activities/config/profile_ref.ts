/** Which profile a MachineDeployment asks for. */
import { z } from "zod";
import { defaultProfileName } from "../../profiles/mod.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { profileAnnotation, profileNamespaceAnnotation } from "./pool_annotations.ts";

const Provider = z.object({
  operatingSystem: z.string(),
  cloudProvider: z.string(),
  operatingSystemSpec: z.unknown().optional(),
});

/**
 * Name and namespace of the profile: the one it names, else the default, so that nothing waits for a webhook.
 * Undefined for a MachineDeployment that is none of ours.
 */
export function profileRef(
  deployment: MachineDeployment,
  defaultNamespace: string,
): { name: string; namespace: string } | undefined {
  const annotations = deployment.metadata.annotations ?? {};
  const name = annotations[profileAnnotation] || defaultOf(deployment);
  if (!name) return undefined;
  return { name, namespace: annotations[profileNamespaceAnnotation] || defaultNamespace };
}

function defaultOf({ spec }: MachineDeployment): string | undefined {
  const provider = Provider.safeParse(spec.template?.spec?.providerSpec?.value);
  return provider.success ? defaultProfileName(provider.data) : undefined;
}
