/**
 * Whose lock is asked for: a FleetLock client names its machine by an id that only tells who knows the machine's own
 * (zincati, "FleetLock protocol"; systemd, `sd_id128_get_machine_app_specific`).
 */
import type { Cluster } from "../../cluster.ts";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import type { NodePool } from "../../kube/node_pools.ts";
import { type PoolNode, readPoolNodes } from "./pool_nodes.ts";
import { poolOf } from "./selected.ts";

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
