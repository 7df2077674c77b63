/** Names in the cluster, for completion. */
import { setTimeout } from "node:timers/promises";
import { machineDeployments, machines } from "../../activities/kube/resources.ts";
import { listAll } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import type { Suggestion, Suggestions } from "./suggestions.ts";

/** No longer than a person waits who pressed TAB. */
const patienceMs = 2_000;

/** Pools or machines of the namespace that begin so; none where the cluster takes too long. */
export async function clusterNames(world: World, wanted: Suggestions, typed: string): Promise<Suggestion[]> {
  const { kube, namespace } = await world.cluster();
  const resource = wanted.names === "machines" ? machines : machineDeployments;
  const answered = new AbortController();
  const listed = listAll(kube, resource, { namespace: wanted.namespace ?? namespace })
    .finally(() => answered.abort());
  const late = setTimeout(patienceMs, [], { signal: answered.signal }).catch(() => []); // it was answered
  const found: unknown[] = await Promise.race([listed, late]);
  return found.map((one) => (one as { metadata?: { name?: string } }).metadata?.name ?? "")
    .filter((name) => name !== "" && name.startsWith(typed))
    .map((word) => ({ word, meaning: "" }));
}
