/** `ostler explain NODE` for a node without a Machine: its NodePool, its OS image, and its current step. */
import { isSelected, type Note, type PoolNode, readPoolNode } from "../../activities/backends/registry.ts";
import { NodePool, nodePools } from "../../activities/kube/node_pools.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { poolOfNodePool } from "../../workflows/commands/start_options.ts";
import { ifAllowed, listAll, type NamedCluster } from "../connect/cluster.ts";
import { moment } from "../view/durations.ts";
import type { PoolRow } from "./pool_row.ts";
import { readRow } from "./pools.ts";

/** The facts about a node, in one paragraph and as data. */
interface NodeStory {
  text: string;
  pool?: PoolRow["pool"];
  node: Pick<PoolNode, "name" | "bootId" | "isReady"> & { os: Note };
}

/** Returns the facts about a node; undefined if no node has this name, or the user is not allowed to read nodes. */
export async function explainNode(cluster: NamedCluster, name: string, now: number): Promise<NodeStory | undefined> {
  const node = await ifAllowed(readPoolNode(cluster.kube, name));
  if (!node) return undefined;
  const owner = await ownerOf(cluster, node);
  const { bootId, isReady, note } = node;
  const story = { node: { name, bootId, isReady, os: note } };
  if (!owner) {
    return {
      ...story,
      text: `Node "${name}" belongs to no NodePool and no Machine, so Ostler does not manage it.`,
    };
  }
  const row = await readRow(
    cluster,
    poolOfNodePool(owner.metadata.namespace, owner.metadata.name, cluster.name || undefined),
  );
  const sentences = [
    whoseText(node, owner),
    owner.spec.image ? ranText(node) : lockText(node, now),
    failedText(note, now),
    doneText(name, row, now),
  ];
  return { ...story, pool: row.pool, text: sentences.filter((each) => each !== "").join(" ") };
}

async function ownerOf({ kube }: NamedCluster, node: PoolNode): Promise<NodePool | undefined> {
  const all = await ifAllowed(ifFound(listAll(kube, nodePools, {}))) ?? [];
  return all.flatMap((each) => NodePool.safeParse(each).data ?? []).find((each) => isSelected(each, node));
}

function whoseText({ name, isReady }: PoolNode, { metadata, spec: { image } }: NodePool): string {
  const asked = !image
    ? "no image: the nodes of the pool update themselves, and request a lock before they reboot"
    : "reference" in image
    ? `image ${image.reference}`
    : `OSImage "${image.osImage}"`;
  const state = isReady ? "" : "; the node is not Ready";
  const pool = `${metadata.namespace}/${metadata.name}`;
  return `Node "${name}" belongs to NodePool "${pool}", which asks for ${asked}${state}.`;
}

function lockText({ lock }: PoolNode, now: number): string {
  if (!lock) return "The node neither requests nor holds a lock to reboot.";
  if (!lock.held) {
    return `The node has waited for a lock to reboot since ${moment(new Date(lock.asked).toISOString(), now)}.`;
  }
  const failed = lock.failed ? ", did not release it in time, and keeps its slot until a user intervenes" : "";
  return `The node has held a lock to reboot since ${moment(new Date(lock.held).toISOString(), now)}${failed}.`;
}

function ranText({ bootId, note: { bootId: seenAt, booted, staged, by } }: PoolNode): string {
  if (seenAt === "" || seenAt !== bootId) {
    return "Ostler has not read the node's image since the last boot, and does so before the next step on the node.";
  }
  const next = staged === ""
    ? ""
    : `; for its next boot the node has ${by === "Fallback" ? "kept its previous image" : "fetched"} ${staged}`;
  return `The node runs ${booted}${next}.`;
}

function failedText({ failed }: Note, now: number): string {
  const told = failed.map(({ digest, reason, at }) =>
    `Image ${digest} failed on the node at ${moment(new Date(at).toISOString(), now)}: ${reason}`
  );
  const may = failed.some(({ isReplaceable }) => isReplaceable)
    ? " With policy ReplaceIfRefused, Ostler instead retries once in the node's wave, and then replaces the node."
    : "";
  const until = "Ostler does not retry a failed image on the node until a user runs `ostler retry`.";
  return told.length === 0 ? "" : `${told.join("; ")}. ${until}${may}`;
}

function doneText(name: string, { status }: PoolRow, now: number): string {
  const own = status?.underway.find(({ machine }) => machine === name);
  if (own) {
    const held = own.blockers.map(({ pod, why }) => `pod ${pod} (${why})`).join(", ");
    return `The node is in step ${own.step}, until ${moment(own.until, now)} at the latest${
      held ? `, blocked by ${held}` : ""
    }.`;
  }
  return status
    ? `Its pool is in phase ${status.phase} (${status.reason}): ${status.message}`
    : "No rollout of its pool has started.";
}
