/**
 * The steps of an update where nodes update themselves: one that asks is staged, to have it boot is to grant it the lock, and
 * it is back when it gave the lock back. A lock that was granted is never taken away: its node may reboot at any time.
 */
import type { BootOrdered, BootVerdict, Member, PoolRef, StageOutcome } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { isOwnHold } from "../../node/holder.ts";
import { patchLock } from "./lock.ts";
import { type PoolNode, readPoolNodes } from "./pool_nodes.ts";
import { unlockedHash } from "./wanted.ts";
import type { Cluster } from "../../cluster.ts";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import type { NodePool } from "../../kube/node_pools.ts";
import { poolOf } from "./selected.ts";

/** One node: it is as wanted while it does not ask. */
export function lockMemberOf(pool: PoolRef, node: PoolNode): Member {
  const { name, createdAt, kubelet, isReady, lock } = node;
  const isOurs = isOwnHold(pool, node.cordonedBy);
  return {
    ...{ id: name, node: name, templateHash: lock ? "asks" : unlockedHash, image: "", kubelet, phase: "Ready" },
    ...{ since: createdAt, marked: isOurs, held: isOurs, expendable: false },
    ...(lock ? { staged: true as const } : {}),
    // It may reboot at any time: it counts as out, also where the run that granted it was ended.
    ...(lock?.held ? { ill: illOf(lock.failed || lock.held) } : {}),
    // And nobody uncordons it.
    ...(lock?.failed
      ? { kept: "Failed" as const, failedAt: lock.failed, marked: false }
      : !isReady && !isOurs
      ? { kept: "Down" as const }
      : {}),
  };
}

function illOf(since: number): NonNullable<Member["ill"]> {
  return { why: "The node holds its FleetLock", since, due: since };
}

/** One that asks no more has nothing to wait for. */
export function lockStage({ lock }: PoolNode): StageOutcome {
  return { outcome: lock ? "Staged" : "Booted" };
}

/** Grants it what it asks for, once. One that asks no more is told as ordered: it is seen back at once. */
export async function grantLock(kube: Kube, node: PoolNode): Promise<BootOrdered> {
  let granted = "";
  await patchLock(kube, node, (lock) => {
    // One that failed, and is waited for again, holds it still.
    const held = lock && (lock.held ? { ...lock, failed: 0 } : { ...lock, held: Date.now(), bootId: node.bootId });
    granted = held?.bootId ?? "";
    return held;
  });
  return { outcome: "Ordered", bootId: granted };
}

/** Updated once it holds no lock and is Ready. A place that was granted is kept, whatever became of its node. */
export function lockVerdict(
  { bootId, isReady, lock }: PoolNode,
  isOver: boolean,
): { answer: BootVerdict } | { missing: string } {
  if (!lock?.held && isReady) {
    return { answer: { verdict: "Updated", evidence: "The node released its FleetLock and is Ready" } };
  }
  const isBack = !lock?.held || lock.bootId !== bootId;
  const missing = !lock?.held
    ? "The node released its FleetLock, but is not Ready"
    : `The node has held its FleetLock since ${new Date(lock.held).toISOString()}, ${
      isBack ? `and rebooted (boot ID "${bootId}")` : isReady ? "and has not rebooted" : "and is down"
    }`;
  return isOver ? { answer: { verdict: isBack ? "NotReady" : "Lost", evidence: missing } } : { missing };
}

// * Whose lock is asked for: a FleetLock client names its machine by an id that only tells who knows the machine's own
// (zincati, "FleetLock protocol"; systemd, `sd_id128_get_machine_app_specific`).

/** Zincati's own, by which its ids differ from those of other programs. */
const zincati = Buffer.from("de35106b6ec24688b63afddaa156679b", "hex");

/** What a client says of itself. */
export interface LockClient {
  id: string;
  group: string;
}

/** The id that a machine has for Zincati, as 32 hex digits: an HMAC of its own id, made a UUID of version 4. */
export function clientIdOf(machineId: string): string {
  const key = Buffer.from(machineId.replaceAll("-", ""), "hex");
  if (key.length !== 16) return "";
  const id = createHmac("sha256", key).update(zincati).digest().subarray(0, 16);
  id[6] = ((id[6] ?? 0) & 0x0f) | 0x40;
  id[8] = ((id[8] ?? 0) & 0x3f) | 0x80;
  return id.toString("hex");
}

/** Computed once for each node as it is known. */
const ids = new WeakMap<PoolNode, string>();

function idOf(node: PoolNode): string {
  const known = ids.get(node) ?? clientIdOf(node.machineId);
  ids.set(node, known);
  return known;
}

/** The node of a client, if it is of a pool of FleetLock and of that group; else why it is not, by a stable kind. */
export async function findClient(
  kube: Cluster,
  { id, group }: LockClient,
): Promise<{ node: PoolNode; pool: NodePool } | { kind: "unknown_client" | "wrong_group"; message: string }> {
  const wanted = id.replaceAll("-", "").toLowerCase();
  // A node that tells no id of its machine has none here either; where machines are clones of one another, each would hold the
  // lock of the others.
  const [node, ...others] = (await readPoolNodes(kube)).filter((each) => wanted !== "" && idOf(each) === wanted);
  const pool = node && await poolOf(kube, node);
  if (!node || pool?.spec.driver !== "FleetLock") {
    return {
      kind: "unknown_client",
      message: "Unknown client: no node of a NodePool with driver FleetLock has this id",
    };
  }
  if (others.length > 0) {
    const names = [node, ...others].slice(0, 5).map(({ name }) => `"${name}"`).join(", ");
    return {
      kind: "unknown_client",
      message: `Ambiguous client: several nodes have the machine-id of this id: ${names}`,
    };
  }
  const own = pool.spec.fleetLock?.group ?? "default";
  if (own !== group) {
    return { kind: "wrong_group", message: `Wrong group "${group}": the group of this client is "${own}"` };
  }
  return { node, pool };
}
