/** `ostler explain NODE` of a node that no Machine made: whose it is, what it runs, and what is done with it. */
import type { Note } from "../../activities/backends/node_pool/note.ts";
import { type PoolNode, readPoolNode } from "../../activities/backends/node_pool/pool_nodes.ts";
import { isSelected } from "../../activities/backends/node_pool/selected.ts";
import { NodePool, nodePools } from "../../activities/kube/node_pools.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { poolOfNodePool } from "../../workflows/commands/start_options.ts";
import { ifAllowed, listAll, type NamedCluster } from "../connect/cluster.ts";
import { moment } from "../view/durations.ts";
import type { PoolRow } from "./pool_row.ts";
import { readRow } from "./pools.ts";

/** What is known of a node, in one paragraph and as data. */
export interface NodeStory {
  text: string;
  pool?: PoolRow["pool"];
  node: Pick<PoolNode, "name" | "bootId" | "isReady"> & { os: Note };
}

/** Undefined for a name that no node has. */
export async function explainNode(cluster: NamedCluster, name: string, now: number): Promise<NodeStory | undefined> {
  const node = await ifAllowed(readPoolNode(cluster.kube, name));
  if (!node) return undefined;
  const owner = await ownerOf(cluster, node);
  const { bootId, isReady, note } = node;
  const story = { node: { name, bootId, isReady, os: note } };
  if (!owner) {
    return {
      ...story,
      text: `Node "${name}" is of no NodePool and no Machine made it, so Ostler has nothing to do with it.`,
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
    ? "nothing: its nodes update themselves, and ask before they reboot"
    : "reference" in image
    ? `image ${image.reference}`
    : `OSImage "${image.osImage}"`;
  const state = isReady ? "" : ", and is not Ready";
  return `Node "${name}" is of NodePool "${metadata.namespace}/${metadata.name}", which asks for ${asked}${state}.`;
}

function lockText({ lock }: PoolNode, now: number): string {
  if (!lock) return "It asks for no lock, and holds none.";
  if (!lock.held) return `It asks for a lock to reboot since ${moment(new Date(lock.asked).toISOString(), now)}.`;
  const failed = lock.failed ? ", did not give it back in time, and keeps its place until somebody has looked" : "";
  return `It holds the lock to reboot since ${moment(new Date(lock.held).toISOString(), now)}${failed}.`;
}

function ranText({ bootId, note: { bootId: seenAt, booted, staged, by } }: PoolNode): string {
  if (seenAt === "" || seenAt !== bootId) {
    return "What it runs since its last boot is not known yet: it is asked before anything is done with it.";
  }
  const next = staged === ""
    ? ""
    : `; ${by === "Fallback" ? "it has kept" : "it has fetched"} ${staged} for its next boot`;
  return `It runs ${booted}${next}.`;
}

function failedText({ failed }: Note, now: number): string {
  const told = failed.map(({ digest, reason, at }) =>
    `${digest} failed on it ${moment(new Date(at).toISOString(), now)}: ${reason}`
  );
  const may = failed.some(({ isReplaceable }) => isReplaceable)
    ? " Where its policy says ReplaceIfRefused it is asked once more in its turn, and replaced if that is still so."
    : "";
  const until = "It is not tried there again until somebody says ostler retry.";
  return told.length === 0 ? "" : `${told.join("; ")}. ${until}${may}`;
}

function doneText(name: string, { status }: PoolRow, now: number): string {
  const own = status?.underway.find(({ machine }) => machine === name);
  if (own) {
    const held = own.blockers.map(({ pod, why }) => `pod ${pod} (${why})`).join(", ");
    return `It is at ${own.step}, until ${moment(own.until, now)} at the latest${held ? `, held up by ${held}` : ""}.`;
  }
  return status
    ? `Its pool: ${status.phase} (${status.reason}): ${status.message}`
    : "No rollout of its pool has begun.";
}
