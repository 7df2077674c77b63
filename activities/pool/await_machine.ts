/** Waits for one machine to leave and to be gone. */
import type { PoolRef } from "../../workflows/contracts.ts";
import { expired } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { poll } from "../kube/polling.ts";
import { machines, readObject } from "../kube/resources.ts";
import type { Machine } from "../kube/schemas.ts";
import { attempting, ifFound } from "../kube/status.ts";
import type { MachineOf } from "./holds.ts";
import { readMembers } from "./read_pool.ts";

type Wait = MachineOf & { until: number };

/**
 * Ends when machine-controller has asked for the machine's deletion, or has no more machines than `replicas` to keep:
 * then it picked another one before ours was marked. `until` in epoch ms.
 */
export function awaitVictimLeaving(kube: Kube, wait: Wait & { replicas: number }): Promise<void> {
  return poll<void>({
    until: wait.until,
    look: async () => {
      const staying = await attempting(`read the machines of "${wait.pool.name}"`, () => stayingOf(kube, wait.pool));
      const isPicked = !staying.includes(wait.machine) || staying.length <= wait.replicas;
      return isPicked ? { answer: undefined } : { missing: `machine "${wait.machine}" was not picked yet` };
    },
    expired: (missing) => expired("VictimNotChosen", `Cannot remove machine "${wait.machine}": ${missing}`),
  });
}

/** Ends when the Machine object is gone, and with it instance and node; `until` in epoch ms. */
export function awaitMachineGone(kube: Kube, wait: Wait): Promise<void> {
  return poll<void>({
    until: wait.until,
    look: async () => {
      const machine = await look(kube, wait);
      if (!machine) return { answer: undefined };
      return { missing: `finalizers remain: ${machine.metadata.finalizers?.join(", ") ?? "none"}` };
    },
    expired: (missing) => expired("MachineRemains", `Cannot see machine "${wait.machine}" gone: ${missing}`),
  });
}

// Held newcomers are paper: machine-controller counts them, but removes nobody for them.
async function stayingOf(kube: Kube, pool: PoolRef): Promise<string[]> {
  const members = await readMembers(kube, pool);
  return members.filter(({ phase }) => phase !== "Leaving" && phase !== "Held").map(({ id }) => id);
}

function look(kube: Kube, { pool, machine }: Wait): Promise<Machine | undefined> {
  return attempting(
    `read machine "${machine}"`,
    () => ifFound(readObject(kube, machines, { namespace: pool.namespace, name: machine })),
  );
}
