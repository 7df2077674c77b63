/** Reads what a MachineDeployment asks for. */
import type { Desired, DesiredState, PoolRef } from "../../workflows/contracts/mod.ts";
import { expired } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { poll } from "../kube/polling.ts";
import { readObject } from "../kube/resources.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { rulesFor } from "../policy/rules_for.ts";
import { actorOf, type WrittenDeployment, writtenDeployments } from "../backends/machine_controller/actor.ts";
import { revisionAnnotation, templateHashLabel } from "../backends/machine_controller/annotations.ts";
import { imageOf, kubeletOf } from "../backends/machine_controller/machine_template.ts";
import { currentSet } from "../backends/machine_controller/machine_sets.ts";
import { isSurelyUnsettled, newsOfTemplate } from "./pool_watch.ts";
import { changeOf, inputsOf, observedOf, specHashOf } from "./observed.ts";
import { pinnedInputs, readPin } from "../backends/machine_controller/pin.ts";
import { lineState, readProfileLine } from "../backends/machine_controller/profile_line.ts";
import { profileRef } from "../backends/machine_controller/profile_ref.ts";

export interface DesiredReader {
  kube: Kube;
  profileNamespace: string;
}

/** Gone, being deleted, or present with what it asks for. */
export function readDesired(reader: DesiredReader, pool: PoolRef): Promise<DesiredState> {
  return attempting(`read MachineDeployment "${pool.namespace}/${pool.name}"`, async () => {
    const deployment = await ifFound(readObject(reader.kube, writtenDeployments, pool));
    if (!deployment) return { state: "Gone" };
    if (deployment.metadata.deletionTimestamp) return { state: "Deleting" };
    const [desired, rules] = await Promise.all([
      desiredOf(reader, deployment),
      rulesFor(reader.kube, deployment, Date.now()),
    ]);
    return { state: "Present", desired, rules };
  });
}

/** Waits until machine-controller has numbered the template; `until` in epoch ms. */
export async function awaitDesiredSettled(
  reader: DesiredReader,
  { pool, until }: { pool: PoolRef; until: number },
): Promise<DesiredState> {
  let missing = "";
  using news = newsOfTemplate(reader.kube, pool);
  return await poll<DesiredState>({
    ...{ until, news },
    every: 250,
    look: async () => {
      // After the first look a watch tells whether another one is worth its requests; but none is trusted for ever.
      if (missing && news.isNew && isSurelyUnsettled(reader.kube, pool)) return { missing };
      const seen = await readDesired(reader, pool);
      if (seen.state !== "Present" || seen.desired.settled) return { answer: seen };
      missing = `machine-controller has not seen generation ${seen.desired.generation}`;
      return { missing };
    },
    expired: (missing) =>
      expired("SettleExpired", `Cannot roll out "${pool.namespace}/${pool.name}": ${missing}; is it running?`),
  });
}

async function desiredOf(reader: DesiredReader, deployment: WrittenDeployment): Promise<Desired> {
  const { metadata, spec, status } = deployment;
  const profile = profileRef(deployment, reader.profileNamespace) ?? { name: "", namespace: reader.profileNamespace };
  const [set, source] = await Promise.all([
    currentSet(reader.kube, deployment),
    readSource(reader.kube, deployment, profile),
  ]);
  const generation = metadata.generation ?? 0;
  const replicas = spec.replicas ?? 1;
  const templateHash = set?.metadata.labels?.[templateHashLabel] ?? "";
  const settled = set !== undefined && (status?.observedGeneration ?? 0) >= generation;
  return {
    ...{ generation, settled, templateHash, replicas, profile },
    observed: observedOf(deployment, source.state),
    change: changeOf(deployment, source.pinned ?? source.state),
    specHash: specHashOf(settled && templateHash ? templateHash : spec.template, source.pinned ?? source.inputs),
    actor: actorOf(deployment),
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    surge: surgeOf(deployment, replicas),
    image: imageOf(spec.template?.spec),
    kubelet: kubeletOf(spec.template?.spec),
  };
}

/** What configs are rendered from beside the template: as it stands, and what is used in its place while it is pinned. */
interface Source {
  state: number | string | undefined;
  inputs: string;
  pinned: string | undefined;
}

async function readSource(kube: Kube, deployment: MachineDeployment, profile: Desired["profile"]): Promise<Source> {
  const [line, pin] = await Promise.all([
    profile.name ? readProfileLine(kube, profile) : [],
    readPin(kube, deployment.metadata),
  ]);
  const inputs = inputsOf(deployment, line);
  return { state: lineState(line), inputs, pinned: pinnedInputs(pin, inputs) };
}

/** machine-controller rounds a percentage of surge up; absent means 1 (its defaults). */
function surgeOf(deployment: MachineDeployment, replicas: number): number {
  const surge = deployment.spec.strategy?.rollingUpdate?.maxSurge ?? 1;
  if (typeof surge === "number") return surge;
  const percent = Number.parseFloat(surge);
  return surge.endsWith("%") ? Math.ceil(replicas * percent / 100) : percent;
}
