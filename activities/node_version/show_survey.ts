/** Shows on a NodeVersion what the operator of before showed there: its nodes by class, and whether they are outdated. */
import { isDeepStrictEqual } from "node:util";
import type { Kube } from "../kube/client.ts";
import { patchClusterStatus } from "../kube/cluster_objects.ts";
import { ifFound } from "../kube/status.ts";
import { type NodeVersion, nodeVersions, type PendingNode } from "../kube/update_kinds.ts";
import type { Completion } from "./completion.ts";
import type { Classes } from "./classify.ts";

/** Nodes of a class that are named; the condition tells how many there are. */
const shown = 200;

/** Only where something of it differs; conditions of others stay. */
export async function showSurvey(
  kube: Kube,
  { metadata: { name, generation = 0, resourceVersion }, status }: NodeVersion,
  { classes, pending, completion }: { classes: Classes; pending: readonly PendingNode[]; completion: Completion },
): Promise<void> {
  const { conditions = [], ...before } = status ?? { conditions: [] };
  const others = conditions.filter(({ type }) => type !== "Outdated");
  const known = conditions.find(({ type }) => type === "Outdated");
  const since = known?.status === completion.outdated.status ? known.lastTransitionTime : undefined;
  const lastTransitionTime = since ?? new Date().toISOString();
  const outdated = { type: "Outdated", ...completion.outdated, observedGeneration: generation, lastTransitionTime };
  const wanted = {
    ...referencesOf(classes),
    pending: pending.map(({ metadata }) => metadata.name).sort().slice(0, shown).map((name) => ({
      ...kindOf("PendingNode"),
      name,
    })),
    ...{ budget: completion.budget, activeclusterversionupgrade: false, observedGeneration: generation },
    conditions: [outdated, ...others],
  };
  const has = { ...before, conditions: [known, ...others] } as Record<string, unknown>;
  const isSame = Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(has[key], value));
  if (!isSame) await ifFound(patchClusterStatus(kube, nodeVersions, { name, resourceVersion, status: wanted }));
}

function referencesOf(classes: Classes): Record<string, object[]> {
  return Object.fromEntries(
    Object.entries(classes).map(([key, nodes]) => [
      key,
      nodes.map((node) => node.name).sort().slice(0, shown).map((name) => ({ ...kindOf("Node"), name })),
    ]),
  );
}

function kindOf(kind: "Node" | "PendingNode"): { apiVersion: string; kind: string } {
  return { apiVersion: kind === "Node" ? "v1" : "update.edgeless.systems/v1alpha1", kind };
}
