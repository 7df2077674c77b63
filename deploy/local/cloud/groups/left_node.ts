/** A cloud-controller-manager's part: the node of an instance that is gone, and that nobody else took away. */
import { type Connection, settled } from "../kube.ts";
import { rest } from "../patience.ts";
import type { CloudInstance } from "./group_cloud.ts";

const graceSeconds = 5;

/** Removes it after a while; that of another instance by the same name stays. */
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
