import type { V1Node, V1Pod, V1PodAffinityTerm, V1Taint } from "@kubernetes/client-node";

/** Number of pods by node; a node without pods has no entry. */
type PodsOn = ReadonlyMap<string, number>;

/**
 * Chooses a node for a pod: among the nodes that accept it, the one with the fewest related pods, then with the fewest
 * pods, then by name; undefined if no node accepts it. If the pod has anti-affinity, a node with a related pod does not
 * accept it.
 */
export function placePod(
  pod: V1Pod,
  nodes: readonly V1Node[],
  { podsOn, kinOn = new Map() }: { podsOn: PodsOn; kinOn?: PodsOn },
): string | undefined {
  const names = nodes.filter((node) => takes(node, pod)).map((node) => node.metadata?.name ?? "");
  const load = (name: string): number => podsOn.get(name) ?? 0;
  const kin = (name: string): number => kinOn.get(name) ?? 0;
  const free = antiAffinity(pod).length === 0 ? names : names.filter((name) => kin(name) === 0);
  return free.sort((a, b) => kin(a) - kin(b) || load(a) - load(b) || a.localeCompare(b))[0];
}

/** Returns the related pods: those that the pod's anti-affinity or topology spread constraint over nodes selects. */
export function kinOf(pod: V1Pod, pods: readonly V1Pod[]): V1Pod[] {
  const [apart] = [...antiAffinity(pod), ...(pod.spec?.topologySpreadConstraints ?? []).filter(isOverNodes)];
  const wanted = Object.entries(apart?.labelSelector?.matchLabels ?? {});
  if (wanted.length === 0) return [];
  return pods.filter(({ metadata: { namespace, labels = {}, deletionTimestamp } = {} }) =>
    namespace === pod.metadata?.namespace && deletionTimestamp === undefined &&
    wanted.every(([key, value]) => labels[key] === value)
  );
}

function antiAffinity({ spec }: V1Pod): V1PodAffinityTerm[] {
  return (spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).filter(isOverNodes);
}

function isOverNodes({ topologyKey }: { topologyKey: string }): boolean {
  return topologyKey === "kubernetes.io/hostname";
}

function takes(node: V1Node, pod: V1Pod): boolean {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && node.metadata?.deletionTimestamp === undefined &&
    blockingTaints(node).every((taint) => tolerates(pod, taint)) && isSelected(node, pod) && isPinnedHere(node, pod);
}

function blockingTaints(node: V1Node): V1Taint[] {
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
  return node.spec?.unschedulable
    ? [...taints, { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }]
    : taints;
}

function tolerates(pod: V1Pod, taint: V1Taint): boolean {
  return (pod.spec?.tolerations ?? []).some(({ key, operator, value, effect }) =>
    (!effect || effect === taint.effect) &&
    (!key || key === taint.key) &&
    (operator === "Exists" || (key !== undefined && (value ?? "") === (taint.value ?? "")))
  );
}

function isSelected(node: V1Node, pod: V1Pod): boolean {
  const labels = node.metadata?.labels ?? {};
  return Object.entries(pod.spec?.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
}

// A DaemonSet binds each pod to its node by an affinity for the name; this scheduler supports no other node affinity.
function isPinnedHere(node: V1Node, pod: V1Pod): boolean {
  const terms = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const names = terms?.flatMap(({ matchFields }) => matchFields ?? [])
    .filter(({ key, operator }) => key === "metadata.name" && operator === "In").flatMap(({ values }) => values ?? []);
  return names === undefined || names.length === 0 || names.includes(node.metadata?.name ?? "");
}
