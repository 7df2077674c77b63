/** Waits until a machine may go, as far as etcd is concerned, and has it hand on what only it has. */
import type { Cluster } from "../cluster.ts";
import type { PoolRef, Relieved, RelieveOrder } from "../../workflows/contracts/mod.ts";
import { backendOf } from "../backends/registry.ts";
import { poll } from "../kube/polling.ts";
import { attempting } from "../kube/status.ts";

/** Milliseconds between looks: etcd tells no news. */
const lookEveryMs = 5_000;

/** Ends when it is relieved; at `until` (epoch ms) it says what is in doubt still. */
export async function awaitMachineRelieved(
  kube: Cluster,
  { until, ...order }: RelieveOrder & { pool: PoolRef },
): Promise<Relieved> {
  const { relieve } = backendOf(kube, order.pool);
  if (!relieve) return { state: "Relieved", snapshot: null };
  return await poll<Relieved>({
    until: Number.MAX_SAFE_INTEGER, // what is in doubt at the end is an answer too
    every: lookEveryMs,
    look: async () => {
      const answer = await attempting(`let machine "${order.machine}" go`, () => relieve(order));
      if (answer.state === "Relieved" || Date.now() >= until) return { answer };
      return { missing: answer.doubts.join("; ") };
    },
    expired: (missing) => new Error(missing),
  });
}
