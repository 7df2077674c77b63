/** Reads what a MachineDeployment asks for. */
import type { Desired, PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { readObject } from "../../kube/resources.ts";
import type { MachineDeployment } from "../../kube/schemas.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import type { ProfilePlace, Wanted } from "../contract.ts";
import { actorOf, type WrittenDeployment, writtenDeployments } from "./actor.ts";
import { revisionAnnotation, surgeOf, templateHashLabel } from "../../kube/machine_deployment.ts";
import { currentSet } from "./machine_sets.ts";
import { imageOf, kubeletOf } from "../../kube/machine_template.ts";
import { desiredInputs } from "../../config/desired_inputs.ts";
import { noteDeployment } from "../../kube/seen_deployment.ts";
import { changeOf, inputsOf, observedOf, specHashOf } from "../../config/observed.ts";
import { pinnedInputs, readPin } from "../../status/pin.ts";
import { isSurelyUnsettled, settledBy, watchedHash } from "./pool_watch.ts";
import { lineState, readProfileLine } from "../../config/profile_line.ts";
import { profileRef } from "../../config/profile_ref.ts";

interface Reader extends ProfilePlace {
  kube: Kube;
  /** When it began to read, as `performance.now()` tells. */
  since: number;
}

/** Gone, being deleted, or present with what it asks for. */
export function readWanted(
  kube: Kube,
  { namespace, name }: PoolRef,
  { profileNamespace }: ProfilePlace,
): Promise<Wanted> {
  return attempting(`read MachineDeployment "${namespace}/${name}"`, async () => {
    const since = performance.now();
    const deployment = await readNumbered(kube, { namespace, name });
    if (!deployment) return { state: "Gone" };
    if (deployment.metadata.deletionTimestamp) return { state: "Deleting" };
    noteDeployment(kube, deployment);
    const desired = await desiredOf({ kube, profileNamespace, since }, deployment);
    return { state: "Present", desired, labels: deployment.metadata.labels ?? {} };
  });
}

/** Most changes are numbered in moments; until then nothing is read that would have to be read again. */
const momentMs = 2_000;

/** The MachineDeployment, which machine-controller is given a moment to number. */
async function readNumbered(kube: Kube, pool: PoolRef): Promise<WrittenDeployment | undefined> {
  const read = (): Promise<WrittenDeployment | undefined> => ifFound(readObject(kube, writtenDeployments, pool));
  // Without streams there is nothing that could tell.
  if (!kube.watch) return await read();
  const until = Date.now() + momentMs;
  if (isSurelyUnsettled(kube, pool)) await settledBy(kube, pool, { generation: 0, until });
  const deployment = await read();
  const { generation = 0, deletionTimestamp } = deployment?.metadata ?? {};
  const isNumbered = (deployment?.status?.observedGeneration ?? 0) >= generation;
  if (!deployment || deletionTimestamp || isNumbered) return deployment;
  return await settledBy(kube, pool, { generation, until }) ? await read() : deployment;
}

async function desiredOf(reader: Reader, deployment: WrittenDeployment): Promise<Desired> {
  const { metadata, spec, status } = deployment;
  const profile = profileRef(deployment, reader.profileNamespace) ?? { name: "", namespace: reader.profileNamespace };
  const [templateHash, source] = await Promise.all([
    numberedHash(reader.kube, deployment),
    readSource(reader, deployment, profile),
  ]);
  const generation = metadata.generation ?? 0;
  const replicas = spec.replicas ?? 1;
  const settled = templateHash !== undefined && (status?.observedGeneration ?? 0) >= generation;
  return {
    ...{ generation, settled, templateHash: templateHash ?? "", replicas, profile },
    observed: observedOf(deployment, source.state),
    change: changeOf(deployment, source.pinned ?? source.state),
    specHash: specHashOf(settled && templateHash ? templateHash : spec.template, source.pinned ?? source.inputs),
    actor: actorOf(deployment),
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    surge: surgeOf(spec.strategy?.rollingUpdate?.maxSurge, replicas),
    image: imageOf(spec.template?.spec),
    kubelet: kubeletOf(spec.template?.spec),
  };
}

/** The hash of its template; undefined while machine-controller has not numbered that. */
async function numberedHash(kube: Kube, deployment: MachineDeployment): Promise<string | undefined> {
  const known = watchedHash(kube, deployment.metadata);
  if (known !== "") return known;
  const set = await currentSet(kube, deployment);
  return set && (set.metadata.labels?.[templateHashLabel] ?? "");
}

/** What configs are rendered from beside the template: as it stands, and what is used in its place while it is pinned. */
interface Source {
  state: number | string | undefined;
  inputs: string;
  pinned: string | undefined;
}

async function readSource(
  { kube, since }: Reader,
  deployment: MachineDeployment,
  profile: Desired["profile"],
): Promise<Source> {
  const [line, pin] = await Promise.all([
    profile.name ? readProfileLine(kube, profile) : [],
    readPin(kube, deployment.metadata),
  ]);
  const inputs = inputsOf(deployment, line);
  desiredInputs.give(kube, { deployment, line, since });
  return { state: lineState(line), inputs, pinned: pinnedInputs(pin, inputs) };
}
