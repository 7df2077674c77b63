/** Waits for one machine to be gone. */
import { expired } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { poll } from "../kube/polling.ts";
import { machines, readObject } from "../kube/resources.ts";
import type { Machine } from "../kube/schemas.ts";
import { attempting, ifFound } from "../kube/status.ts";
import type { MachineOf } from "../backends/machine_controller/holds.ts";
import { newsOfMachines } from "./pool_watch.ts";

type Wait = MachineOf & { until: number };

/** Ends when the Machine object is gone, and with it instance and node; `until` in epoch ms. */
export async function awaitMachineGone(kube: Kube, wait: Wait): Promise<void> {
  using news = newsOfMachines(kube, { namespace: wait.pool.namespace, names: [wait.machine] });
  return await poll<void>({
    ...{ until: wait.until, news },
    look: async () => {
      const machine = await look(kube, wait);
      if (!machine) return { answer: undefined };
      return { missing: `finalizers remain: ${machine.metadata.finalizers?.join(", ") ?? "none"}` };
    },
    expired: (missing) => expired("MachineRemains", `Cannot see machine "${wait.machine}" gone: ${missing}`),
  });
}

function look(kube: Kube, { pool, machine }: Wait): Promise<Machine | undefined> {
  return attempting(
    `read machine "${machine}"`,
    () => ifFound(readObject(kube, machines, { namespace: pool.namespace, name: machine })),
  );
}
