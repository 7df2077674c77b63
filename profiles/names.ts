import { createHash } from "node:crypto";

/**
 * The names of all objects published for a pool; the same names as in Operating System Manager, so that a cluster can
 * switch between both.
 */

/** The namespace of the secrets that machines boot from. */
export const secretsNamespace = "cloud-init-settings";

/** The maximum length of `NAMESPACE-NAME` as a key; for a longer one, the key is made from the name alone. */
const longestTogether = 62;
/** The maximum length of a label value, and so of a key. */
const longestLabel = 63;

export interface ArtefactNames {
  config: string;
  provisioning: string;
  bootstrap: string;
  kubeletBootstrap: string;
  /** Secret with the script that an administrator starts on a machine of provider edge. */
  edgeScript: string;
  /** ServiceAccount, Role and RoleBinding of booting machines. */
  identity: string;
  /** ConfigMap in which booting machines report their progress, one key for each machine. */
  bootReport: string;
  /** Label value of the bootstrap tokens of the pool. */
  key: string;
}

/** Returns the names of the objects of one pool. */
export function namesOf({ namespace, name }: { namespace: string; name: string }): ArtefactNames {
  const key = keyOf(namespace, name);
  return {
    config: `${name}-${namespace}-config`,
    provisioning: `${name}-${namespace}-provisioning-config`,
    bootstrap: `${name}-${namespace}-bootstrap-config`,
    kubeletBootstrap: `${key}-kubelet-bootstrap-config`,
    edgeScript: `edge-provider-script-${name}-${namespace}`,
    identity: `ostler-${name}-${namespace}`,
    bootReport: `ostler-boot-${name}-${namespace}`,
    key,
  };
}

// A name that is too long for a label value is shortened and gets a hash; Operating System Manager keeps such a name
// unchanged.
function keyOf(namespace: string, name: string): string {
  const together = `${namespace}-${name}`;
  if (together.length <= longestTogether) return together;
  if (name.length <= longestLabel) return name;
  const hash = createHash("sha256").update(together).digest("hex").slice(0, 10);
  // The name of a Secret cannot have a dot before a dash.
  return `${name.slice(0, longestLabel - hash.length - 1).replace(/[.-]+$/, "")}-${hash}`;
}
