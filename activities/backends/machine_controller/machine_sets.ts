/** The MachineSets of a MachineDeployment, one for each template that machine-controller remembers. */
import type { Kube } from "../../kube/client.ts";
import type { MachineDeployment, MachineSet } from "../../kube/schemas.ts";
import { revisionAnnotation, templateHashLabel } from "../../kube/machine_deployment.ts";
import { ownSets } from "./owned.ts";

/** The set that carries the MachineDeployment's own revision: the one its template made. */
export async function currentSet(kube: Kube, deployment: MachineDeployment): Promise<MachineSet | undefined> {
  if (!deployment.metadata.annotations?.[revisionAnnotation]) return undefined;
  const sets = await ownSets(kube, deployment);
  return sets.find((set) => isCurrent(set, deployment));
}

/** The set has the MachineDeployment's own revision. */
export function isCurrent(set: MachineSet, deployment: MachineDeployment): boolean {
  const revision = deployment.metadata.annotations?.[revisionAnnotation];
  return Boolean(revision) && set.metadata.annotations?.[revisionAnnotation] === revision;
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
