/**
 * Waits until a machine of a control plane may be removed or stopped: moves the leadership of etcd away from it, and
 * stores a snapshot of etcd if the order names a place for one.
 */
import type { Cluster } from "../cluster.ts";
import type { PoolRef, Relieved, RelieveOrder } from "../../workflows/contracts/mod.ts";
import { backendOf } from "../backends/registry.ts";
import { poll } from "../kube/polling.ts";
import { attempting } from "../kube/status.ts";

/** Milliseconds between reads: etcd sends no events. */
const lookEveryMs = 5_000;

/** Ends when the machine may be removed; at `until` (epoch ms) returns the reasons why it must not be removed yet. */
export async function awaitMachineRelieved(
  kube: Cluster,
  { until, ...order }: RelieveOrder & { pool: PoolRef },
): Promise<Relieved> {
  const { relieve } = backendOf(kube, order.pool);
  if (!relieve) return { state: "Relieved", snapshot: null };
  return await poll<Relieved>({
    until: Number.MAX_SAFE_INTEGER, // `look` ends the wait at `until`: an inconclusive state is a valid result
    every: lookEveryMs,
    look: async () => {
      const answer = await attempting(`prepare the removal of machine "${order.machine}"`, () => relieve(order));
      if (answer.state === "Relieved" || Date.now() >= until) return { answer };
      return { missing: answer.doubts.join("; ") };
    },
    expired: (missing) => new Error(missing),
  });
}
