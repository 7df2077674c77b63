/** Converts the etcd section of a policy to rules. */
import type { EtcdRules } from "../../workflows/contracts/mod.ts";
import type { Etcd } from "./etcd_schema.ts";

/** The default key of a token in a Secret of the policy's namespace. */
export const usualKey = "token";

/**
 * Returns where the policy stores snapshots of etcd; undefined if it stores none, so that the rules then equal those of
 * an earlier version of Ostler, which did not support snapshots.
 */
export function etcdOf({ snapshot = {} }: Etcd, namespace: string): EtcdRules | undefined {
  const { keep, folder, url, tokenSecret } = snapshot;
  if (keep === "Folder" && folder !== undefined) return { snapshot: { keep, folder } };
  if (keep !== "Url" || url === undefined) return undefined;
  if (tokenSecret === undefined) return { snapshot: { keep, url } };
  const { name, key = usualKey } = tokenSecret;
  return { snapshot: { keep, url, token: { namespace, name, key } } };
}
