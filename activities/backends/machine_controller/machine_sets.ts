/** The MachineSets of a MachineDeployment, one for each template that machine-controller remembers. */
import type { Kube } from "../../kube/client.ts";
import { listObjects, machineSets } from "../../kube/resources.ts";
import type { MachineDeployment, MachineSet } from "../../kube/schemas.ts";
import { revisionAnnotation, templateHashLabel } from "./annotations.ts";
import { labelSelectorOf } from "./selector.ts";

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

async function ownSets(kube: Kube, deployment: MachineDeployment): Promise<MachineSet[]> {
  const { namespace, uid } = deployment.metadata;
  const sets = await listObjects(kube, machineSets, { namespace, labelSelector: labelSelectorOf(deployment) });
  return sets.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
}
