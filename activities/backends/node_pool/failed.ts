/** Remembers on a node that an image failed there. */
import type { Cluster } from "../../cluster.ts";
import type { NodeUpdate } from "../../../workflows/contracts/mod.ts";
import { attempting } from "../../kube/status.ts";
import { patchLock } from "./lock.ts";
import { patchNote, withFailure } from "./note.ts";
import { readPoolNode } from "./pool_nodes.ts";
import { isLockTarget, partsOf } from "./target.ts";

/** `at` in epoch ms; a node that is gone needs no memory. */
export function ensureImageFailed(
  kube: Cluster,
  { machine, image, reason, at, isReplaceable }: NodeUpdate & { reason: string; at: number; isReplaceable?: true },
): Promise<void> {
  return attempting(`record the failed image on node "${machine}"`, async () => {
    const node = await readPoolNode(kube, machine);
    if (!node) return;
    if (isLockTarget(image)) return await patchLock(kube, node, (lock) => lock && { ...lock, failed: at });
    const failure = { digest: partsOf(image).digest, reason, at, ...(isReplaceable ? { isReplaceable } : {}) };
    await patchNote(kube, node, (note) => withFailure(note, failure));
  });
}
