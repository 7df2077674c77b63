/** Deletes a machine, so that its controller creates another. */
import type { Cluster } from "../cluster.ts";
import type { MemberRef } from "../backends/contract.ts";
import { ordersOf } from "../backends/registry.ts";
import { moot } from "../failures.ts";
import { attempting } from "../kube/status.ts";
import { nodeFacts } from "../node/node_facts.ts";

/**
 * The machine to delete: without `drain` its pods are not evicted first; with `ifNotReady` a machine whose node is
 * Ready again is not deleted.
 */
type Deletion = MemberRef & { node?: string; drain?: boolean; ifNotReady?: boolean };

/**
 * Deletes a machine. With `ifNotReady`, throws Moot (GenerationStale) if its node is Ready again: an outage may delay
 * the order of a repair for minutes after the machine was read.
 */
export async function deleteMachine(kube: Cluster, { ifNotReady = false, ...order }: Deletion): Promise<void> {
  const { machine, node } = order;
  const facts = ifNotReady && node ? await attempting(`read node "${node}"`, () => nodeFacts(kube, node)) : undefined;
  if (facts?.ready) {
    throw moot("GenerationStale", `Failed to replace machine "${machine}": its node "${node}" is Ready again`);
  }
  await ordersOf(kube, order).replace(order);
}
