/**
 * That a node which updates itself asks for a place to reboot, or holds one: noted on its Node, so that every process knows
 * it and it goes with the node. Who can write it is a node about itself, and whoever may patch nodes.
 */
import { z } from "zod";
import { asMergePatch } from "../../kube/client.ts";
import type { Kube } from "../../kube/client.ts";
import { ifFound, statusOf } from "../../kube/status.ts";

export const lockAnnotation = "ostler.dev/fleet-lock";
const longest = 1024;

const Lock = z.object({
  /** Of the client: what Zincati makes of the machine's id. */
  id: z.string().max(64),
  group: z.string().max(63),
  /** Epoch ms; `held` is 0 while it only asks, `failed` unless it did not come back in time. */
  asked: z.number().positive(),
  held: z.number().min(0).default(0),
  failed: z.number().min(0).default(0),
  /** Under which it was granted; "" before. */
  bootId: z.string().max(64).default(""),
});
export type Lock = z.infer<typeof Lock>;

/** The lock of a node; what cannot be read is none. */
export function lockOf(annotations: Record<string, string> = {}): Lock | undefined {
  const text = annotations[lockAnnotation] ?? "";
  if (text === "" || text.length > longest) return undefined;
  try {
    return Lock.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON is no lock either
  }
}

/** Kubelets and others write to Nodes all the time: what was read may be old before the lock is written. */
const triesAtMost = 8;

/** Changes a node's lock, undefined for none; nothing is written where it is so already, nor on another node of that name. */
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
