/** The MachineSets of a MachineDeployment, one for each template that machine-controller remembers. */
import type { Kube } from "../../kube/client.ts";
import type { MachineDeployment, MachineSet } from "../../kube/schemas.ts";
import { revisionAnnotation, templateHashLabel } from "./annotations.ts";
import { ownSets } from "./owned.ts";

/** The set that carries the MachineDeployment's own revision: the one its template made. */
export async function currentSet(kube: Kube, deployment: MachineDeployment): Promise<MachineSet | undefined> {
  const revision = deployment.metadata.annotations?.[revisionAnnotation];
  if (!revision) return undefined;
  const sets = await ownSets(kube, deployment);
  return sets.find(({ metadata }) => metadata.annotations?.[revisionAnnotation] === revision);
}

/** The set whose template has this `machine-template-hash`. */
export async function setOfTemplate(
  kube: Kube,
  deployment: MachineDeployment,
  templateHash: string,
): Promise<MachineSet | undefined> {
  const sets = await ownSets(kube, deployment);
  return sets.find(({ metadata }) => metadata.labels?.[templateHashLabel] === templateHash);
}
