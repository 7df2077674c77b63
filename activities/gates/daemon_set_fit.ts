/**
 * Whether a DaemonSet wants a pod on a node, by the rule of its controller (Kubernetes, pkg/controller/daemon):
 * nodeSelector and required node affinity match, and every taint that keeps pods off is tolerated.
 */
import type { V1Node, V1Taint } from "@kubernetes/client-node";
import { holds } from "../kube/label_selector.ts";
import type { Placement, Term, Toleration } from "./workloads.ts";

/** Taints that the controller tolerates for every daemon pod, as they come and go with the node's health. */
const alwaysTolerated = [
  ...["not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"],
].map((name) => `node.kubernetes.io/${name}`);

/** Pure; wrong only for a moment after a DaemonSet changed. */
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
