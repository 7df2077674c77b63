/** Reads the names of objects in the cluster, for completions in the shell. */
import { setTimeout } from "node:timers/promises";
import { osImages } from "../../activities/kube/os_images.ts";
import { machineDeployments, machines } from "../../activities/kube/resources.ts";
import { listAll } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import type { Suggestion, Suggestions } from "./suggestions.ts";

/** Milliseconds to wait for the API server, while the user waits for a completion. */
const patienceMs = 2_000;

/**
 * Returns the names that begin with `typed`: of the MachineDeployments or Machines in the namespace, or of all
 * OSImages. Returns none if the API server does not answer within two seconds.
 */
export async function clusterNames(world: World, wanted: Suggestions, typed: string): Promise<Suggestion[]> {
  const { kube, namespace } = await world.cluster();
  const place = { namespace: wanted.namespace ?? namespace };
  const list = {
    pools: () => listAll(kube, machineDeployments, place),
    machines: () => listAll(kube, machines, place),
    images: () => listAll(kube, osImages),
  }[wanted.names ?? "pools"];
  const answered = new AbortController();
  const listed = list()
    .finally(() => answered.abort());
  const late = setTimeout(patienceMs, [], { signal: answered.signal }).catch(() => []); // an answer aborts the timer
  const found: unknown[] = await Promise.race([listed, late]);
  return found.map((one) => (one as { metadata?: { name?: string } }).metadata?.name ?? "")
    .filter((name) => name !== "" && name.startsWith(typed))
    .map((word) => ({ word, meaning: "" }));
}
