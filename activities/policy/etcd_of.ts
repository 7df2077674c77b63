/** What a policy says of etcd, as rules. */
import type { EtcdRules } from "../../workflows/contracts/mod.ts";
import type { Etcd } from "./etcd_schema.ts";

/** Of a Secret of the policy's namespace a token is taken from here. */
export const usualKey = "token";

/** Undefined where nothing is kept: so say rules of versions before there were snapshots. */
export function etcdOf({ snapshot = {} }: Etcd, namespace: string): EtcdRules | undefined {
  const { keep, folder, url, tokenSecret } = snapshot;
  if (keep === "Folder" && folder !== undefined) return { snapshot: { keep, folder } };
  if (keep !== "Url" || url === undefined) return undefined;
  if (tokenSecret === undefined) return { snapshot: { keep, url } };
  const { name, key = usualKey } = tokenSecret;
  return { snapshot: { keep, url, token: { namespace, name, key } } };
}
