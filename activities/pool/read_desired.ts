/** Reads what a MachineDeployment asks for. */
import type { Desired, DesiredState, PoolRef } from "../../workflows/contracts.ts";
import { expired } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { poll } from "../kube/polling.ts";
import { listObjects, machineDeployments, machineSets, readObject } from "../kube/resources.ts";
import type { MachineDeployment, MachineSet } from "../kube/schemas.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { revisionAnnotation, templateHashLabel } from "./annotations.ts";
import { imageOf, kubeletOf } from "./machine_template.ts";
import { changeOf, observedOf } from "./observed.ts";
import { lineState, readProfileLine } from "./profile_line.ts";
import { profileRef } from "./profile_ref.ts";
import { labelSelectorOf } from "./selector.ts";

export interface DesiredReader {
  kube: Kube;
  profileNamespace: string;
}

/** Gone, being deleted, or present with what it asks for. */
export function readDesired(reader: DesiredReader, pool: PoolRef): Promise<DesiredState> {
  return attempting(`read MachineDeployment "${pool.namespace}/${pool.name}"`, async () => {
    const deployment = await ifFound(readObject(reader.kube, machineDeployments, pool));
    if (!deployment) return { state: "Gone" };
    if (deployment.metadata.deletionTimestamp) return { state: "Deleting" };
    return { state: "Present", desired: await desiredOf(reader, deployment) };
  });
}

/** Waits until machine-controller has numbered the template; `until` in epoch ms. */
export function awaitDesiredSettled(
  reader: DesiredReader,
  { pool, until }: { pool: PoolRef; until: number },
): Promise<DesiredState> {
  return poll<DesiredState>({
    until,
    every: 250,
    look: async () => {
      const seen = await readDesired(reader, pool);
      if (seen.state !== "Present" || seen.desired.settled) return { answer: seen };
      return { missing: `machine-controller has not seen generation ${seen.desired.generation}` };
    },
    expired: (missing) =>
      expired("SettleExpired", `Cannot roll out "${pool.namespace}/${pool.name}": ${missing}; is it running?`),
  });
}

async function desiredOf(reader: DesiredReader, deployment: MachineDeployment): Promise<Desired> {
  const { metadata, spec, status } = deployment;
  const profile = profileRef(deployment, reader.profileNamespace) ?? { name: "", namespace: reader.profileNamespace };
  const [set, profileState] = await Promise.all([
    currentSet(reader.kube, deployment),
    profile.name ? readProfileLine(reader.kube, profile).then(lineState) : undefined,
  ]);
  const generation = metadata.generation ?? 0;
  const replicas = spec.replicas ?? 1;
  return {
    generation,
    observed: observedOf(deployment, profileState),
    change: changeOf(deployment, profileState),
    settled: set !== undefined && (status?.observedGeneration ?? 0) >= generation,
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    templateHash: set?.metadata.labels?.[templateHashLabel] ?? "",
    replicas,
    surge: surgeOf(deployment, replicas),
    image: imageOf(spec.template?.spec),
    kubelet: kubeletOf(spec.template?.spec),
    profile,
  };
}

// The set that carries the MachineDeployment's own revision is the one its template made.
async function currentSet(kube: Kube, deployment: MachineDeployment): Promise<MachineSet | undefined> {
  const { namespace, uid, annotations } = deployment.metadata;
  const revision = annotations?.[revisionAnnotation];
  if (!revision) return undefined;
  const sets = await listObjects(kube, machineSets, { namespace, labelSelector: labelSelectorOf(deployment) });
  return sets.find(({ metadata }) =>
    metadata.annotations?.[revisionAnnotation] === revision &&
    metadata.ownerReferences?.some((owner) => owner.uid === uid)
  );
}

/** machine-controller rounds a percentage of surge up; absent means 1 (its defaults). */
function surgeOf(deployment: MachineDeployment, replicas: number): number {
  const surge = deployment.spec.strategy?.rollingUpdate?.maxSurge ?? 1;
  if (typeof surge === "number") return surge;
  const percent = Number.parseFloat(surge);
  return surge.endsWith("%") ? Math.ceil(replicas * percent / 100) : percent;
}
