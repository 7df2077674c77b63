/**
 * Records the lock that a node requests or holds as an annotation of the Node, so that all processes can read it and it
 * is deleted with the Node. A node can write its own lock, and users with permission to patch Nodes can write any lock.
 */
import { z } from "zod";
import { asMergePatch } from "../../kube/client.ts";
import type { Kube } from "../../kube/client.ts";
import { ifFound, statusOf } from "../../kube/status.ts";

export const lockAnnotation = "ostler.dev/fleet-lock";
const longest = 1024;
/** The last time (epoch ms) that JavaScript can write as a date. */
const lastTime = 8.64e15;

const Lock = z.object({
  /** The client ID, which Zincati derives from the machine ID. */
  id: z.string().max(64),
  group: z.string().max(63),
  /**
   * Times (epoch ms) of the request, of the grant (0 before the grant), and of the failure to complete the reboot in
   * time (0 without a failure).
   */
  asked: z.number().positive().max(lastTime),
  held: z.number().min(0).max(lastTime).default(0),
  failed: z.number().min(0).max(lastTime).default(0),
  /** Boot ID of the node when the lock was granted; "" until then. */
  bootId: z.string().max(64).default(""),
});
export type Lock = z.infer<typeof Lock>;

/** Returns the lock of a node; undefined if the annotation is missing or unreadable. */
export function lockOf(annotations: Record<string, string> = {}): Lock | undefined {
  const text = annotations[lockAnnotation] ?? "";
  if (text === "" || text.length > longest) return undefined;
  try {
    return Lock.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // not JSON
  }
}

/**
 * Maximum number of attempts of a patch: conflicts are frequent, because kubelets and others write to Nodes all the
 * time.
 */
const triesAtMost = 8;

/**
 * Writes the lock that `changed` returns, or removes the lock if `changed` returns undefined. Writes nothing if this
 * changes nothing, or if the node was deleted, even if a newer node has its name.
 */
export async function patchLock(
  kube: Kube,
  node: { name: string; uid: string },
  changed: (lock: Lock | undefined) => Lock | undefined,
): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      return await patchOnce(kube, node, changed);
    } catch (error) {
      if (statusOf(error) !== 409 || tries === triesAtMost) throw error;
    }
  }
}

async function patchOnce(
  kube: Kube,
  { name, uid }: { name: string; uid: string },
  changed: (lock: Lock | undefined) => Lock | undefined,
): Promise<void> {
  const node = await ifFound(kube.core.readNode({ name }));
  if (!node || node.metadata?.uid !== uid) return;
  const { annotations = {}, resourceVersion } = node.metadata;
  const lock = changed(lockOf(annotations));
  const text = lock ? JSON.stringify(lock) : null;
  if (text === (annotations[lockAnnotation] ?? null)) return;
  const metadata = { annotations: { [lockAnnotation]: text }, ...(resourceVersion ? { resourceVersion } : {}) };
  await ifFound(kube.core.patchNode({ name, body: { metadata } }, asMergePatch));
}
