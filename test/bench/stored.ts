/** The size of what is kept for publications: by Temporal on disk, and by the API server as objects. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ApiRefusal } from "../../deploy/local/stack/api_connection.ts";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { Ground } from "./ground.ts";

/** Bytes of the dev server's database, including its write-ahead log; NaN for another server. */
export async function databaseBytes({ stack }: Ground): Promise<number> {
  const folder = join(stack.directory, "temporal");
  const names = await readdir(folder).catch(() => undefined);
  if (names === undefined) return NaN;
  const sizes = names.map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/**
 * Bytes of one pool's config, Rollout and secrets as JSON; without its ServiceAccount and permissions, which are small.
 */
export async function objectBytes({ api }: Ground, pool: string): Promise<number> {
  const names = namesOf({ namespace: "kube-system", name: pool });
  const secrets = [names.provisioning, names.bootstrap, names.kubeletBootstrap];
  const paths = [
    ...secrets.map((name) => `/api/v1/namespaces/${secretsNamespace}/secrets/${name}`),
    `/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs/${names.config}`,
    `/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts/${pool}`,
  ];
  const sizes = paths.map(async (path) => JSON.stringify(await api.call({ method: "GET", path }).catch(absent)).length);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Returns "" for an object that does not exist, because each publisher writes only some of these objects. */
function absent(error: unknown): string {
  if (error instanceof ApiRefusal && error.status === 404) return "";
  throw error;
}
