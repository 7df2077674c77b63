import { join } from "node:path";
import { ApiConnection } from "./api_connection.ts";
import { writeKubeconfig } from "./kubeconfig_file.ts";
import type { Stack } from "./stack.ts";

interface ServiceAccountName {
  readonly serviceAccount: string;
  readonly namespace: string;
}

// Longer than any test, and longer than a demo that is kept running for a day.
const tokenSeconds = 48 * 3600;

/**
 * Requests a token for an existing ServiceAccount with the admin identity and writes a kubeconfig with this token as
 * the only credential; returns its path, `<directory>/kubeconfigs/<namespace>.<name>.yaml`.
 */
export async function kubeconfigFor(
  stack: Pick<Stack, "directory" | "apiServer" | "adminKubeconfig">,
  account: ServiceAccountName,
): Promise<string> {
  const { namespace, serviceAccount } = account;
  return await writeKubeconfig(join(stack.directory, "kubeconfigs", `${namespace}.${serviceAccount}.yaml`), {
    apiServer: stack.apiServer,
    userName: serviceAccount,
    credentials: { token: await mintToken(stack.adminKubeconfig, account) },
    namespace,
  });
}

async function mintToken(adminKubeconfig: string, { serviceAccount, namespace }: ServiceAccountName): Promise<string> {
  using api = await ApiConnection.open(adminKubeconfig);
  const what = `Failed to request a token for ServiceAccount "${namespace}/${serviceAccount}"`;
  const call = {
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: tokenSeconds },
    },
  } as const;
  const answer = await api.call(call).catch((error: Error) => {
    throw new Error(`${what}: ${error.message}`, { cause: error });
  });
  const { status } = answer as { status?: { token?: string } };
  if (!status?.token) throw new Error(`${what}: the response has no token`);
  return status.token;
}
