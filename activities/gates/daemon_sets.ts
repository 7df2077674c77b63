/** Gate DaemonSets: each selected DaemonSet that should run on a node has a Ready pod there. */
import type { V1Node, V1Pod, V1Taint } from "@kubernetes/client-node";
import type { Check } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { holds, selectorText } from "../kube/status.ts";
import { type Finding, some } from "./finding.ts";
import { isReady, listPods } from "./pods.ts";
import { nodesOf, type Subject } from "./subject.ts";
import { type DaemonSet, listDaemonSets, type Placement, type Term, type Toleration } from "./workloads.ts";

type DaemonSets = Extract<Check, { kind: "DaemonSets" }>;

/** A gate whose selector matches no DaemonSet is not measured, because a typing error must not open the gate. */
export async function lookAtDaemonSets(subject: Subject, check: DaemonSets): Promise<Finding> {
  const sets = await listDaemonSets(subject.kube, check);
  const where = check.namespace === null ? "" : ` in namespace "${check.namespace}"`;
  if (sets.length === 0) {
    return { state: "Unknown", message: `no DaemonSet has the labels "${check.selector}"${where}` };
  }
  const { found, absent } = await nodesOf(subject);
  const ready = await readyPlaces(subject, sets);
  const wanted = found.flatMap((node) => placesOn(node, sets));
  const lacking = wanted.filter(({ place }) => !ready.has(place));
  if (lacking.length > 0) {
    const names = some(lacking.map(({ name }) => name));
    return { state: "False", message: `${lacking.length} of ${wanted.length} daemon pods are not Ready: ${names}` };
  }
  if (absent.length > 0) return { state: "Unknown", message: `not registered: node ${some(absent.map(quoted))}` };
  return { state: "True", message: `${wanted.length} of ${wanted.length} daemon pods are Ready` };
}

function placesOn(node: V1Node, sets: readonly DaemonSet[]): { place: string; name: string }[] {
  const on = node.metadata?.name ?? "";
  return sets.filter(({ spec }) => wantsPodOn(spec.template.spec, node)).map(({ metadata }) => ({
    place: placeOf(metadata.uid, on),
    name: `DaemonSet "${metadata.namespace}/${metadata.name}" on node "${on}"`,
  }));
}

// For a machine, lists the pods of its node; for a wave, lists the pods of one DaemonSet at a time, to limit memory.
async function readyPlaces({ kube, machine, node }: Subject, sets: readonly DaemonSet[]): Promise<Set<string>> {
  const places = new Set<string>();
  const keep = (pods: readonly V1Pod[]): void => pods.filter(isReady).forEach((pod) => places.add(placeOfPod(pod)));
  if (machine !== undefined) keep(await listPods(kube, { fieldSelector: `spec.nodeName=${node ?? ""}` }));
  else for (const set of sets) keep(await podsOf(kube, set));
  return places;
}

function podsOf(kube: Kube, { metadata, spec }: DaemonSet): Promise<V1Pod[]> {
  return listPods(kube, { namespace: metadata.namespace, labelSelector: selectorText(spec.selector) });
}

function placeOfPod({ metadata, spec }: V1Pod): string {
  const owner = metadata?.ownerReferences?.find(({ kind }) => kind === "DaemonSet");
  return placeOf(owner?.uid ?? "", spec?.nodeName ?? "");
}

function placeOf(uid: string, node: string): string {
  return `${uid} ${node}`;
}

function quoted(name: string): string {
  return `"${name}"`;
}

// Whether a DaemonSet should run on a node, by the rule of its controller (Kubernetes, pkg/controller/daemon):
// nodeSelector and required node affinity match, and every taint that keeps pods off is tolerated.

/**
 * Taints that the controller tolerates for every daemon pod, because they come and go with a cordon or the node's
 * health.
 */
const alwaysTolerated = [
  ...["not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"],
].map((name) => `node.kubernetes.io/${name}`);

/**
 * Returns whether the DaemonSet should run a pod on the node. Pure; shortly after a change of the DaemonSet, its
 * controller may not have created or deleted the pod yet.
 */
export function wantsPodOn(placement: Placement, node: V1Node): boolean {
  const { nodeSelector, affinity, tolerations, hostNetwork } = placement;
  const labels = node.metadata?.labels ?? {};
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return Object.entries(nodeSelector ?? {}).every(([key, value]) => labels[key] === value) &&
    (!required || required.nodeSelectorTerms.some((term) => matches(term, node))) &&
    (node.spec?.taints ?? []).every((taint) => isTolerated(taint, { tolerations, hostNetwork }));
}

// A term without any requirement matches nothing.
function matches({ matchExpressions, matchFields }: Term, node: V1Node): boolean {
  const labels = node.metadata?.labels ?? {};
  const expressions = matchExpressions ?? [];
  const fields = matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return expressions.every((requirement) => holds(requirement, labels[requirement.key])) &&
    fields.every((requirement) => holds(requirement, node.metadata?.name));
}

function isTolerated(taint: V1Taint, { tolerations, hostNetwork }: Placement): boolean {
  if (taint.effect === "PreferNoSchedule" || alwaysTolerated.includes(taint.key)) return true;
  if (hostNetwork && taint.key === "node.kubernetes.io/network-unavailable") return true;
  return (tolerations ?? []).some((toleration) => tolerates(toleration, taint));
}

function tolerates({ key, operator, value, effect }: Toleration, taint: V1Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return Boolean(key) && (value ?? "") === (taint.value ?? "");
}
