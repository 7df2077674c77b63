/**
 * Paces nodes that update themselves by the FleetLock protocol. A node that requests its lock counts as staged. Ostler
 * orders the boot by granting the lock, and the node releases the lock once it has rebooted. A granted lock is never
 * revoked, because its node may reboot at any time.
 */
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import type { BootOrdered, BootVerdict, Member, PoolRef, StageOutcome } from "../../../workflows/contracts/mod.ts";
import type { Cluster } from "../../cluster.ts";
import type { Kube } from "../../kube/client.ts";
import { isOwnHold } from "../../node/holder.ts";
import type { LockClient, LockRefusal, RebootLocks } from "../contract.ts";
import { patchLock } from "./lock.ts";
import { type PoolNode, poolNodesOf, readHeartbeat, readPoolNode, readPoolNodes } from "./pool_nodes.ts";
import { poolOf } from "./selected.ts";
import { unlockedHash } from "./wanted.ts";

/** Returns a node as the rollout planner sees it: outdated while it requests or holds a lock. */
export function lockMemberOf(pool: PoolRef, node: PoolNode): Member {
  const { name, createdAt, kubelet, isReady, lock } = node;
  const isOurs = isOwnHold(pool, node.cordonedBy);
  return {
    ...{ id: name, node: name, templateHash: lock ? "asks" : unlockedHash, image: "", kubelet, phase: "Ready" },
    ...{ since: createdAt, marked: isOurs, held: isOurs, expendable: false },
    ...(lock ? { staged: true as const } : {}),
    // A node with a granted lock may reboot at any time, so it counts as unavailable even after the workflow run that
    // granted the lock has ended.
    ...(lock?.held ? { ill: illOf(lock.failed || lock.held) } : {}),
    // A workflow run uncordons only marked nodes, so a node that failed is not marked, and stays cordoned.
    ...(lock?.failed
      ? { kept: "Failed" as const, failedAt: lock.failed, marked: false }
      : !isReady && !isOurs
      ? { kept: "Down" as const }
      : {}),
  };
}

function illOf(since: number): NonNullable<Member["ill"]> {
  return { why: "the node holds its FleetLock", since, due: since };
}

/** Returns Staged while a node requests or holds its lock, otherwise Booted. */
export function lockStage({ lock }: PoolNode): StageOutcome {
  return { outcome: lock ? "Staged" : "Booted" };
}

/**
 * Grants a requested lock, once. Also returns Ordered for a node that does not request its lock any more; the update of
 * that node ends once the node is Ready.
 */
export async function grantLock(kube: Kube, node: PoolNode): Promise<BootOrdered> {
  let granted = "";
  await patchLock(kube, node, (lock) => {
    // A node whose update failed, and is retried, still holds its lock.
    const held = lock && (lock.held ? { ...lock, failed: 0 } : { ...lock, held: Date.now(), bootId: node.bootId });
    granted = held?.bootId ?? "";
    return held;
  });
  return { outcome: "Ordered", bootId: granted };
}

/**
 * Returns Updated once a node holds no lock and is Ready; its readiness counts only if `isHeard`. Before that, returns
 * what is missing; or, once the time is over (`isOver`), NotReady for a node that rebooted or released its lock, and
 * Lost for any other. Revokes no lock.
 */
export function lockVerdict(
  { bootId, isReady, lock }: PoolNode,
  { isOver, isHeard }: { isOver: boolean; isHeard: boolean },
): { answer: BootVerdict } | { missing: string } {
  if (!lock?.held && isReady) {
    return isHeard
      ? { answer: { verdict: "Updated", evidence: "The node released its FleetLock and is Ready" } }
      : { missing: "The node released its FleetLock, but its kubelet has not reported since" };
  }
  const isBack = !lock?.held || lock.bootId !== bootId;
  const missing = !lock?.held
    ? "The node released its FleetLock, but is not Ready"
    : `The node has held its FleetLock since ${new Date(lock.held).toISOString()}, ${
      isBack ? `and rebooted (boot ID "${bootId}")` : isReady ? "and has not rebooted" : "and is down"
    }`;
  return isOver ? { answer: { verdict: isBack ? "NotReady" : "Lost", evidence: missing } } : { missing };
}

/**
 * Milliseconds after which a node whose kubelet is silent is shown as not Ready: the grace period of Kubernetes (50 s),
 * and its interval of checks.
 */
const silentMs = 60_000;

/**
 * Decides whether the kubelet of a node has reported since the node released its lock. Zincati releases the lock as
 * soon as the node has booted, when the Node still shows the readiness of the previous boot.
 */
export class LockRelease {
  #freeAt: number | undefined;
  #heartbeat: string | undefined;

  /** Returns when the readiness of the node counts in any case (epoch ms); undefined unless that is still to come. */
  lookBy(now: number): number | undefined {
    const at = (this.#freeAt ?? -Infinity) + silentMs;
    return at > now ? at : undefined;
  }

  /** Returns whether a node without a lock is Ready by now; `bootId` is that of the grant, "" without one. */
  async isHeard(kube: Kube, node: PoolNode, { bootId, now }: { bootId: string; now: number }): Promise<boolean> {
    if (node.lock?.held) {
      this.#freeAt = undefined;
      return false;
    }
    if (bootId === "" || node.bootId !== bootId) return true;
    // The lock may also be released without a reboot, after which the boot ID stays the same.
    const { isReady, heartbeat } = await readHeartbeat(kube, node.name);
    if (this.#freeAt === undefined) this.#heartbeat = heartbeat;
    this.#freeAt ??= now;
    const isSilent = heartbeat !== undefined && heartbeat === this.#heartbeat && now - this.#freeAt < silentMs;
    return isReady && !isSilent;
  }
}

// Clients of the protocol. A client names its node by an ID that is derived from the machine ID (zincati, "FleetLock
// protocol"; systemd, `sd_id128_get_machine_app_specific`).

/** Zincati's application ID, which makes its IDs differ from those of other programs. */
const zincati = Buffer.from("de35106b6ec24688b63afddaa156679b", "hex");

/**
 * Returns the client ID that Zincati derives from a machine ID: an HMAC in the form of a UUID of version 4, as 32 hex
 * digits; "" for an invalid machine ID.
 */
export function clientIdOf(machineId: string): string {
  const key = Buffer.from(machineId.replaceAll("-", ""), "hex");
  if (key.length !== 16) return "";
  const id = createHmac("sha256", key).update(zincati).digest().subarray(0, 16);
  id[6] = ((id[6] ?? 0) & 0x0f) | 0x40;
  id[8] = ((id[8] ?? 0) & 0x3f) | 0x80;
  return id.toString("hex");
}

/** The client ID of each `PoolNode`, so that it is not computed for every request. */
const ids = new WeakMap<PoolNode, string>();

function idOf(node: PoolNode): string {
  const known = ids.get(node) ?? clientIdOf(node.machineId);
  ids.set(node, known);
  return known;
}

/**
 * Serves the locks of all nodes from the annotations of the Nodes, so that every worker process of Ostler can answer
 * every node.
 */
export function rebootLocks(kube: Cluster): RebootLocks {
  return {
    request: async ({ id, group }) => {
      const found = await findClient(kube, { id, group });
      if ("kind" in found) return found;
      const asked = { id, group, asked: Date.now(), held: 0, failed: 0, bootId: "" };
      await patchLock(kube, found.node, (lock) => lock ?? asked);
      return { node: found.node.name };
    },
    release: async (client) => {
      const found = await findClient(kube, client);
      if ("kind" in found) return found;
      await patchLock(kube, found.node, () => undefined);
      return { node: found.node.name };
    },
    stateOf: async (name) => {
      const lock = (await readWaiting(kube, name))?.lock;
      if (!lock) return "Missing";
      return lock.held > 0 ? "Granted" : "Requested";
    },
  };
}

/**
 * Returns a node from the watch while its request waits, because thousands of nodes may wait for a long time; otherwise
 * reads the node.
 */
async function readWaiting(kube: Cluster, name: string): Promise<PoolNode | undefined> {
  const watch = poolNodesOf(kube);
  watch.ask();
  const known = watch.isFresh ? watch.get(name) : undefined;
  return known?.lock?.held === 0 ? known : await readPoolNode(kube, name);
}

/**
 * Returns the node of a client if a NodePool with driver FleetLock and the client's group selects it; otherwise the
 * reason why the client gets no lock.
 */
async function findClient(
  kube: Cluster,
  { id, group }: LockClient,
): Promise<{ node: PoolNode } | LockRefusal> {
  const wanted = id.replaceAll("-", "").toLowerCase();
  // Nodes without a machine ID have no client ID; cloned machines share one, and each would hold the locks of the
  // others.
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
      message: `Ambiguous client: nodes ${names} have the same machine ID; give each its own /etc/machine-id`,
    };
  }
  const own = pool.spec.fleetLock?.group ?? "default";
  if (own !== group) {
    return { kind: "wrong_group", message: `Wrong group "${group}": the group of this client is "${own}"` };
  }
  return { node };
}
