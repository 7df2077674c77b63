/** Finds the pools whose credentials are due, by what their Rollouts say. */
import type { DuePool, Rest } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { listPage, machineDeployments, type Page, readObject, rollouts } from "../kube/resources.ts";
import type { RolloutObject } from "../kube/schemas.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { memoryOf } from "../status/recall.ts";
import { pinOf } from "../status/pin.ts";
import { inputsIn, observedOf } from "./observed.ts";
import { lineState, readProfileLine } from "./profile_line.ts";
import { profileRef } from "./profile_ref.ts";

export interface PoolReader {
  kube: Kube;
  profileNamespace: string;
}

/** Rollouts read at once, and due pools after which the rest is left to the next call. */
const pageSize = 100;
const enough = 50;

/** Reads page by page until it has found enough or seen all. */
export function listDuePools(
  reader: PoolReader,
  { after }: { after?: string },
): Promise<{ pools: DuePool[]; next?: string }> {
  return attempting("look for credentials that are due", async () => {
    const pools: DuePool[] = [];
    let next = after;
    do {
      const page = await readPage(reader.kube, next);
      const due = page.items.filter(isDue).map((rollout) => duePool(reader, rollout));
      pools.push(...(await Promise.all(due)).filter((pool) => pool !== undefined));
      next = page.next;
    } while (next !== undefined && pools.length < enough);
    return { pools, ...(next === undefined ? {} : { next }) };
  });
}

// A place in a list is forgotten after some minutes; what is left is found by the next look.
async function readPage(kube: Kube, after: string | undefined): Promise<Page<RolloutObject>> {
  try {
    return await listPage(kube, rollouts, { limit: pageSize, after });
  } catch (error) {
    if (statusOf(error) === 410) return { items: [] };
    throw error;
  }
}

function isDue({ status }: RolloutObject): boolean {
  return Date.parse(status?.credentials?.renewAt ?? "") <= Date.now();
}

/** Nothing for a MachineDeployment that is gone or is none of ours any more. */
async function duePool(
  { kube, profileNamespace }: PoolReader,
  rollout: RolloutObject,
): Promise<DuePool | undefined> {
  const { metadata: { namespace, name }, status } = rollout;
  const rest = restOf(rollout);
  // Who renews it reads more of it than is to be read here.
  if (rest) return { namespace, name, publishOnly: false, rest };
  const deployment = await ifFound(readObject(kube, machineDeployments, { namespace, name }));
  const ref = deployment && profileRef(deployment, profileNamespace);
  if (!ref || deployment.metadata.deletionTimestamp) return undefined;
  // One that went back is what it asks for; one that was cancelled is not, and stays so.
  if (status?.phase !== "Aborted" || status["left"]) return { namespace, name, publishOnly: false };
  // A change since then is a reason to roll out, and must not be swallowed.
  const observed = observedOf(deployment, lineState(await readProfileLine(kube, ref)));
  return { namespace, name, publishOnly: status.observed === observed };
}

/** Undefined for a pool that is not at rest, or that uses another profile than it names. */
function restOf(rollout: RolloutObject): Rest | undefined {
  const { observed, lastGood } = memoryOf(rollout);
  if (rollout.status?.phase !== "Converged" || pinOf(rollout) || !observed || !lastGood) return undefined;
  return inputsIn(lastGood.specHash) === "" ? undefined : { observed, specHash: lastGood.specHash };
}
