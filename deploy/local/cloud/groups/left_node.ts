/** Deletes Nodes of deleted instances that no other controller deleted, like a cloud-controller-manager. */
import { type Connection, settled } from "../kube.ts";
import { rest } from "../patience.ts";
import type { CloudInstance } from "./group_cloud.ts";

const graceSeconds = 5;

/** Deletes the Node after a delay; a Node of another instance with the same name is kept. */
export async function removeLeftNode(
  connection: Connection,
  { node, providerId }: Pick<CloudInstance, "node" | "providerId">,
  signal: AbortSignal,
): Promise<void> {
  await rest(graceSeconds, signal);
  if (signal.aborted) return;
  const found = await connection.core.readNode({ name: node }).catch(() => undefined);
  if (found?.spec?.providerID === providerId) await settled(connection.core.deleteNode({ name: node }));
}
