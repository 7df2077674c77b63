/** Keeps the replicas and the command of a cluster-autoscaler as its AutoscalingStrategy specifies. */
import type { V1Container, V1Deployment } from "@kubernetes/client-node";
import { isDeepStrictEqual } from "node:util";
import type { AutoscalerOutcome, ClusterObject } from "../../workflows/contracts/mod.ts";
import { counted } from "../counted.ts";
import { unavailable } from "../failures.ts";
import { asJsonPatch, type Kube } from "../kube/client.ts";
import { listClusterObjects, patchClusterStatus, readClusterObject } from "../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import {
  autoscalingStrategies,
  type AutoscalingStrategy,
  type ScalingGroup,
  scalingGroups,
} from "../kube/update_kinds.ts";
import { freedOfOldHolds } from "./hold.ts";

/** The condition of a strategy: a stable reason and a message. */
type Standing = Extract<AutoscalerOutcome, { outcome: "Kept" | "Waiting" }> & { replicas?: number };

/**
 * Updates the Deployment of a cluster-autoscaler where it differs from its AutoscalingStrategy, and mirrors its state
 * in the status of the strategy; returns "Gone" if the strategy was deleted.
 */
export function ensureAutoscalerKept(
  kube: Kube,
  { object: { name } }: { object: ClusterObject },
): Promise<AutoscalerOutcome> {
  return attempting(`reconcile AutoscalingStrategy "${name}"`, async () => {
    const found = await ifFound(readClusterObject(kube, autoscalingStrategies, name));
    if (!found || found.metadata.deletionTimestamp) return { outcome: "Gone" };
    const strategy = await freedOfOldHolds(kube, found, Date.now());
    const { replicas, ...standing } = await keep(kube, strategy);
    await mirror(kube, strategy, { standing, replicas: replicas ?? 0 });
    return standing;
  });
}

async function keep(kube: Kube, strategy: AutoscalingStrategy): Promise<Standing> {
  const { deploymentName: name, deploymentNamespace: namespace } = strategy.spec;
  const where = `Deployment "${namespace}/${name}"`;
  if (name === "" || namespace === "") {
    const remedy = "set spec.deploymentName and spec.deploymentNamespace";
    return waiting("DeploymentUnnamed", `The AutoscalingStrategy does not name a Deployment; ${remedy}`);
  }
  const read = (): Promise<V1Deployment> => kube.apps.readNamespacedDeployment({ namespace, name });
  const deployment = await ifFound(read());
  if (!deployment) return waiting("DeploymentMissing", `${where} does not exist`);
  const container = autoscalerOf(deployment);
  const has = deployment.spec?.replicas ?? 1;
  if (!container) return { ...waiting("ContainerMissing", `${where} does not have a container`), replicas: has };
  const groups = await listClusterObjects(kube, scalingGroups);
  const [binary] = container.command ?? [];
  const wanted = autoscalerCommand(strategy, { groups, ...(binary === undefined ? {} : { binary }) });
  const replicas = strategy.spec.enabled ? 1 : 0;
  const { command } = wanted;
  if (isAsWanted({ deployment, container }, { replicas, command })) return keptWith(where, { replicas, wanted });
  // The message reports the replicas that the API server stored, because an admission webhook may have changed the
  // update.
  const written = await write(kube, { deployment, container }, { replicas, command });
  return keptWith(where, { replicas: written.spec?.replicas ?? 1, wanted });
}

function keptWith(where: string, { replicas, wanted }: { replicas: number; wanted: AutoscalerCommand }): Standing {
  const left = wanted.leftOut.length === 0 ? "" : `; skipped: ${wanted.leftOut.join(", ")}`;
  const says = `${where} has ${counted(replicas, "replica")}${left}`.slice(0, 1_000);
  return { outcome: "Kept", reason: wanted.leftOut.length === 0 ? "Kept" : "PartlyKept", says, replicas };
}

function waiting(reason: string, says: string): Standing {
  return { outcome: "Waiting", reason, says };
}

/** Returns the container named cluster-autoscaler, because a pod may have sidecars, or else the first container. */
function autoscalerOf({ spec }: V1Deployment): V1Container | undefined {
  const containers = spec?.template.spec?.containers ?? [];
  return containers.find(({ name }) => name === "cluster-autoscaler") ?? containers[0];
}

interface Found {
  deployment: V1Deployment;
  container: V1Container;
}

interface Wanted {
  replicas: number;
  command: string[];
}

function isAsWanted({ deployment, container }: Found, { replicas, command }: Wanted): boolean {
  const has = container.command ?? [];
  return deployment.spec?.replicas === replicas && has.length === command.length &&
    has.every((word, at) => word === command[at]);
}

// A JSON patch keeps fields that the client does not know; replacing the list of containers would lose them. The patch
// sets the resource version that was read, so that the API server refuses it after a concurrent change.
async function write(
  kube: Kube,
  { deployment, container }: Found,
  { replicas, command }: Wanted,
): Promise<V1Deployment> {
  const { name = "", namespace = "", resourceVersion } = deployment.metadata ?? {};
  const at = deployment.spec?.template.spec?.containers.indexOf(container);
  const body = [
    { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
    { op: "add", path: "/spec/replicas", value: replicas },
    { op: "add", path: `/spec/template/spec/containers/${at}/command`, value: command },
  ];
  try {
    return await kube.apps.patchNamespacedDeployment({ namespace, name, body }, asJsonPatch);
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(`Failed to update Deployment "${namespace}/${name}": conflict, the object was modified`);
  }
}

/**
 * Writes the status only if it differs, so an idle strategy causes no writes; an unchanged condition keeps its
 * transition time.
 */
async function mirror(
  kube: Kube,
  { metadata: { name, generation = 0 }, status }: AutoscalingStrategy,
  { standing: { outcome, reason, says: message }, replicas }: { standing: Standing; replicas: number },
): Promise<void> {
  const state = outcome === "Kept" ? "True" : "False";
  const before = status?.conditions.find(({ type }) => type === "Ready");
  const lastTransitionTime = before?.status === state ? before.lastTransitionTime : new Date().toISOString();
  const ready = { type: "Ready", status: state, reason, message, observedGeneration: generation, lastTransitionTime };
  const wanted = { enabled: replicas > 0, replicas, observedGeneration: generation, conditions: [ready] };
  const { enabled, replicas: had, observedGeneration } = status ?? {};
  const isSame = isDeepStrictEqual({ enabled, replicas: had, observedGeneration, conditions: [before] }, wanted);
  if (!isSame) await ifFound(patchClusterStatus(kube, autoscalingStrategies, { name, status: wanted }));
}

// The command line of a cluster-autoscaler, from its strategy and the groups that it may scale.

/** The binary of the autoscaler's own images, for a Deployment without a command. */
const defaultBinary = "./cluster-autoscaler";
/** Valid names of flags: a leading dash, or a character such as "=", would make a different flag. */
const flag = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;
/** Control characters, which could split an argument and are unreadable in a list of processes. */
// deno-lint-ignore no-control-regex
const unusual = /[\u0000-\u001f\u007f]/;

interface AutoscalerCommand {
  command: string[];
  /** Skipped arguments and groups, each with its reason. */
  leftOut: string[];
}

/**
 * Returns the binary, then the sorted arguments: those of the strategy, and `--nodes=min:max:name` for each group of
 * workers with autoscaling. Arguments and groups that no autoscaler accepts are skipped and reported.
 */
export function autoscalerCommand(
  { spec: { autoscalerExtraArgs } }: Pick<AutoscalingStrategy, "spec">,
  { groups, binary = defaultBinary }: { groups: readonly Pick<ScalingGroup, "metadata" | "spec">[]; binary?: string },
): AutoscalerCommand {
  const leftOut: string[] = [];
  const args = Object.entries(autoscalerExtraArgs).flatMap(([name, value]) => {
    if (flag.test(name) && !unusual.test(value)) return [`--${name}=${value}`];
    leftOut.push(`argument ${JSON.stringify(name)}: its name or value is invalid in a flag`);
    return [];
  });
  const scaled = groups.filter(({ spec }) => spec.autoscaling && !isControlPlane(spec.role));
  const nodes = scaled.flatMap(({ metadata: { name }, spec }) => {
    const fault = faultOf(spec);
    if (fault === "") return [`--nodes=${spec.min}:${spec.max}:${spec.autoscalerGroupName}`];
    leftOut.push(`group "${name}": ${fault}`);
    return [];
  });
  return { command: [binary, ...[...new Set([...args, ...nodes])].sort()], leftOut };
}

/** Ignores upper and lower case, as the Constellation node operator does. */
function isControlPlane(role: string): boolean {
  return ["controlplane", "control-plane"].includes(role.toLowerCase());
}

function faultOf({ min, max, autoscalerGroupName }: ScalingGroup["spec"]): string {
  if (autoscalerGroupName === "") return "its autoscalerGroupName is empty";
  if (unusual.test(autoscalerGroupName)) return "its autoscalerGroupName contains control characters";
  return min < 0 || min > max ? `its size range ${min} to ${max} is invalid` : "";
}
