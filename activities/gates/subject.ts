/** The subject of a gate: one machine, or the updated machines of a pool after a wave. */
import type { Cluster } from "../cluster.ts";
import type { V1Node } from "@kubernetes/client-node";
import type { Gate, PoolRef } from "../../workflows/contracts/mod.ts";
import { backendOf } from "../backends/registry.ts";
import { ifFound } from "../kube/status.ts";
import type { MetricsAccess } from "./prometheus_query.ts";

export interface Subject {
  kube: Cluster;
  pool: PoolRef;
  gate: Gate;
  /** Name of the machine; absent for a gate of a wave. */
  machine?: string;
  node?: string;
  /**
   * Identifies the evaluation: equal for every retry of its activity, different for the next attempt of a machine or
   * the next wave.
   */
  key: string;
  /** Epoch ms after which no activity waits for the result. */
  until: number;
  /** Servers that gates on metrics may query; none by default. */
  metrics?: MetricsAccess | undefined;
}

/** The nodes of a subject, and the names of those that are not registered. */
interface SubjectNodes {
  found: V1Node[];
  absent: string[];
}

/** Maximum nodes that are read one by one; for more nodes, listing all nodes is cheaper. */
const readSingly = 20;

/**
 * Reads the nodes anew at every evaluation; for a wave, reads the nodes of updated machines that have joined and are
 * not being deleted.
 */
export async function nodesOf(subject: Subject): Promise<SubjectNodes> {
  const names = subject.machine === undefined ? await updatedNodes(subject) : [subject.node ?? ""];
  const nodes = names.length > readSingly ? await allNodes(subject.kube) : await readNodes(subject.kube, names);
  const byName = new Map(nodes.map((node) => [node.metadata?.name ?? "", node]));
  return {
    found: names.flatMap((name) => byName.get(name) ?? []),
    absent: names.filter((name) => !byName.has(name)),
  };
}

async function readNodes(kube: Cluster, names: readonly string[]): Promise<V1Node[]> {
  const nodes = await Promise.all(names.filter(Boolean).map((name) => ifFound(kube.core.readNode({ name }))));
  return nodes.filter((node) => node !== undefined);
}

/** Milliseconds for which the gates of all pools use the same list of all nodes. */
const listedMs = 5_000;

function allNodes(kube: Cluster): Promise<V1Node[]> {
  return kube.cache.read("nodes of gates", () => listedNodes(kube), { freshMs: listedMs });
}

async function listedNodes(kube: Cluster): Promise<V1Node[]> {
  const nodes: V1Node[] = [];
  let from: string | undefined;
  do {
    const page = await kube.core.listNode({ limit: 500, ...(from ? { _continue: from } : {}) });
    nodes.push(...page.items);
    from = page.metadata?._continue;
  } while (from);
  return nodes;
}

async function updatedNodes({ kube, pool }: Subject): Promise<string[]> {
  const { members, templateHash } = await backendOf(kube, pool).observe(pool);
  const joined = members.filter((member) => member.phase === "Ready" && member.templateHash === templateHash);
  return joined.flatMap(({ node }) => node ?? []);
}
