/** What a gate is asked about: one machine, or the updated machines of a pool after a wave. */
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
  /** Without one it is a wave. */
  machine?: string;
  node?: string;
  /** The same for every try of one question, another for the next attempt or wave. */
  key: string;
  /** Epoch ms after which nobody waits for the answer. */
  until: number;
  /** What gates on metrics may ask; anything unless told. */
  metrics?: MetricsAccess | undefined;
}

/** The nodes that a gate is about, and the names of those that are not registered. */
export interface SubjectNodes {
  found: V1Node[];
  absent: string[];
}

/** Above this many nodes one listing is cheaper than reading each. */
const readSingly = 20;

/** Nodes are read afresh at every look; of a wave, those of machines that joined, are updated and stay. */
export async function nodesOf(subject: Subject): Promise<SubjectNodes> {
  const names = subject.machine === undefined ? await updatedNodes(subject) : [subject.node ?? ""];
  const nodes = names.length > readSingly ? await listedNodes(subject.kube) : await readNodes(subject.kube, names);
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
