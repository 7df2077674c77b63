/** Waits for one machine to be deleted. */
import type { Cluster } from "../cluster.ts";
import type { MachineState, MemberRef } from "../backends/contract.ts";
import { backendOf } from "../backends/registry.ts";
import { expired } from "../failures.ts";
import { poll } from "../kube/polling.ts";
import { attempting } from "../kube/status.ts";

type Wait = MemberRef & { until: number };

/** Ends when the machine, its instance and its node are deleted; `until` in epoch ms. */
export async function awaitMachineGone(kube: Cluster, wait: Wait): Promise<void> {
  const backend = backendOf(kube, wait.pool);
  using news = backend.newsOfMachines({ pool: wait.pool, names: [wait.machine] });
  return await poll<void>({
    ...{ until: wait.until, news, lookBy: () => Date.now() + (backend.lookEvery?.() ?? Infinity) },
    look: async () => {
      const machine = await look(kube, wait);
      if (!machine) return { answer: undefined };
      const { delayed, finalizers } = machine;
      if (delayed) return { missing: delayed.says, until: delayed.until };
      const rest = finalizers.length > 0 ? `finalizers remain: ${finalizers.join(", ")}` : "the machine still exists";
      return { missing: `${rest}; ${backend.clues}` };
    },
    expired: (missing) =>
      expired("MachineRemains", `Timed out waiting for machine "${wait.machine}" to be deleted: ${missing}`),
  });
}

function look(kube: Cluster, { pool, machine }: Wait): Promise<MachineState | undefined> {
  const { seeOff, state } = backendOf(kube, pool);
  return attempting(`delete machine "${machine}"`, () => (seeOff ?? state)({ pool, machine }));
}
