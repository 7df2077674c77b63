/** Waits for one machine to be deleted. */
import type { Cluster } from "../cluster.ts";
import type { MachineState, MemberRef } from "../backends/contract.ts";
import { backendOf } from "../backends/registry.ts";
import { expired } from "../failures.ts";
import { poll } from "../kube/polling.ts";
import { attempting } from "../kube/status.ts";

type Wait = MemberRef & { until: number };

/** Milliseconds for which a wait that begins after its deadline continues. */
const graceMs = 30_000;

/**
 * Ends when the machine, its instance and its node are deleted; `until` in epoch ms. A wait that begins after `until`
 * continues for `grace` ms, because the outage that delayed it may also have kept the controller from the deletion.
 */
export async function awaitMachineGone(kube: Cluster, wait: Wait, grace = graceMs): Promise<void> {
  const begun = Date.now();
  const until = wait.until <= begun ? begun + grace : wait.until;
  const backend = backendOf(kube, wait.pool);
  using news = backend.newsOfMachines({ pool: wait.pool, names: [wait.machine] });
  return await poll<void>({
    ...{ until, news, lookBy: () => Date.now() + (backend.lookEvery?.() ?? Infinity) },
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
