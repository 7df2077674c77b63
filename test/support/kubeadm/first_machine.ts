/**
 * Waits for the machine that creates the cluster; until its node is Ready, only the machine itself can report its
 * state.
 */
import { waitUntil } from "../../../deploy/local/process/wait_until.ts";
import { ApiConnection } from "../../../deploy/local/stack/api_connection.ts";
import type { ContainerHost } from "../../../deploy/local/machines/container_host.ts";

const timeoutMs = 240_000;

/** Resolves when the node is Ready; rejects with kubeadm's output. */
export async function untilFirstReady(host: ContainerHost, node: string, adminKubeconfig: string): Promise<void> {
  using api = await ApiConnection.open(adminKubeconfig);
  const look = async (signal: AbortSignal): Promise<void> => {
    const { status } = await api.call({ method: "GET", path: `/api/v1/nodes/${node}`, signal }) as {
      status: { conditions?: { type: string; status: string }[] };
    };
    const isReady = status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    if (!isReady) throw new Error("the node is not Ready");
  };
  await waitUntil(look, { what: `control plane "${node}" to become Ready`, timeoutMs }).catch(
    async (cause: unknown) => {
      throw new Error(`Failed to create a cluster: ${await saidOn(host, node)}`, { cause });
    },
  );
}

async function saidOn(host: ContainerHost, node: string): Promise<string> {
  const command = ["journalctl", "--no-pager", "--lines=30", "--unit=join.service"];
  return await host.machine(node).then(
    async (machine) => (await machine.run(command)).stdout,
    (error: Error) => error.message,
  );
}
