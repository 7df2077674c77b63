/** Deletes the Nodes that remain after their instances were deleted, like a cloud-controller-manager. */
import { statusOf } from "../../../../activities/kube/status.ts";
import { type Connection, settled } from "../kube.ts";
import { rest } from "../patience.ts";
import type { CloudInstance } from "./group_cloud.ts";

const graceSeconds = 5;
/**
 * Number of checks after the deletion of an instance; several, because a kubelet can register late and a request can
 * fail.
 */
const checks = 12;

/**
 * Deletes the Node of a deleted instance, and deletes it again if the kubelet registers it again within a minute. Keeps
 * a Node of the same name that belongs to another instance.
 */
export async function removeLeftNode(
  connection: Connection,
  instance: Pick<CloudInstance, "node" | "providerId">,
  signal: AbortSignal,
): Promise<void> {
  for (let check = 1; check <= checks; check++) {
    await rest(graceSeconds, signal);
    if (signal.aborted) return;
    try {
      await removeIfLeft(connection, instance);
    } catch (error) {
      if (check === checks) throw error; // the next check retries an earlier failure
    }
  }
}

async function removeIfLeft(
  { core }: Connection,
  { node: name, providerId }: Pick<CloudInstance, "node" | "providerId">,
): Promise<void> {
  const found = await core.readNode({ name }).catch((error: unknown) => {
    if (statusOf(error) !== 404) throw error;
    return undefined;
  });
  if (found?.spec?.providerID === providerId) await settled(core.deleteNode({ name }));
}
