/** What of machine-controller's objects a wait can wait for; no more of them is kept while they are watched. */
import { createHash } from "node:crypto";
import { machineDeployments, machines, machineSets } from "../../kube/resources.ts";
import type { Resource } from "../../kube/resources.ts";
import { selectorText } from "../../kube/label_selector.ts";
import { Machine, MachineDeployment, MachineSet } from "../../kube/schemas.ts";
import type { Metadata } from "../../kube/schemas.ts";
import { holdAnnotation, instanceFinalizer, victimAnnotation } from "./annotations.ts";
import { revisionAnnotation, templateHashLabel } from "../../kube/machine_deployment.ts";

export interface DeploymentFacts {
  generation: number;
  observed: number;
  revision: string;
  /** The labels that its machines have; "" for none. */
  selector: string;
  /** Identity of all else that waits are about. */
  state: string;
}

export interface SetFacts {
  /** The pool that it belongs to, as "namespace/name"; "" for none. */
  pool: string;
  /** UID of that pool. */
  owner: string;
  revision: string;
  templateHash: string;
  /** It has no machines and shall have none; those on their way out do not count. */
  isEmpty: boolean;
  /** It was made for no machine, and nothing else has been asked of it since. */
  isUnused: boolean;
  ready: number;
}

export interface MachineFacts {
  /** The set that it belongs to, as "namespace/name"; "" for none. */
  set: string;
  /** Identity of all that its place in the pool and on its way to join depend on. */
  state: string;
}

export const watchedDeployments: Resource<DeploymentFacts> = {
  ...machineDeployments,
  schema: MachineDeployment.transform(({ metadata, spec, status }) => ({
    ...{ generation: metadata.generation ?? 0, observed: status?.observedGeneration ?? 0 },
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    selector: selectorText(spec.selector ?? {}),
    state: digest([metadata.uid, metadata.deletionTimestamp]),
  })),
};

export const watchedSets: Resource<SetFacts> = {
  ...machineSets,
  schema: MachineSet.transform(({ metadata, spec, status }) => ({
    pool: nameOf(metadata, "MachineDeployment"),
    owner: ownerOf(metadata, "MachineDeployment")?.uid ?? "",
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    templateHash: metadata.labels?.[templateHashLabel] ?? "",
    isUnused: metadata.generation === 1 && spec?.replicas === 0 && !status?.replicas,
    isEmpty: spec?.replicas === 0 && !status?.replicas,
    ready: status?.readyReplicas ?? 0,
  })),
};

export const watchedMachines: Resource<MachineFacts> = {
  ...machines,
  schema: Machine.transform((machine) => ({
    set: nameOf(machine.metadata, "MachineSet"),
    state: stateOf(machine),
  })),
};

function stateOf({ metadata, status }: Machine): string {
  const { uid, deletionTimestamp, annotations = {}, labels = {}, finalizers = [] } = metadata;
  const { nodeRef, addresses, conditions, errorReason, errorMessage } = status ?? {};
  return digest([
    ...[uid, deletionTimestamp, labels[templateHashLabel], finalizers.includes(instanceFinalizer)],
    ...[annotations[holdAnnotation], annotations[victimAnnotation]],
    ...[nodeRef?.name, addresses?.map(({ address }) => address), errorReason, errorMessage],
    conditions?.map(({ type, status }) => [type, status]),
  ]);
}

function nameOf(metadata: Metadata, wanted: string): string {
  const owner = ownerOf(metadata, wanted);
  return owner ? `${metadata.namespace}/${owner.name}` : "";
}

function ownerOf({ ownerReferences = [] }: Metadata, wanted: string): { name: string; uid: string } | undefined {
  return ownerReferences.find(({ kind }) => kind === wanted);
}

function digest(facts: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("base64").slice(0, 16);
}
