import { createHash } from "node:crypto";

/** Names of everything published for a pool: those of Operating System Manager, so that a cluster can switch. */

/** Where the secrets that machines boot from live. */
export const secretsNamespace = "cloud-init-settings";

/** Most characters that namespace and name together may have in a key; longer ones leave the namespace out. */
const longestTogether = 62;
/** Most characters of a label value, and so of a key. */
const longestLabel = 63;

export interface ArtefactNames {
  config: string;
  provisioning: string;
  bootstrap: string;
  kubeletBootstrap: string;
  /** Only for provider edge: the script a person starts on the machine. */
  edgeScript: string;
  /** Service account, Role and RoleBinding of booting machines. */
  identity: string;
  /** ConfigMap in which booting machines say how far they are, one key a machine. */
  bootReport: string;
  /** Label value of the pool's bootstrap tokens. */
  key: string;
}

/** The names for one pool. */
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

// Operating System Manager goes as far as the name alone, which then may be no label any more.
function keyOf(namespace: string, name: string): string {
  const together = `${namespace}-${name}`;
  if (together.length <= longestTogether) return together;
  if (name.length <= longestLabel) return name;
  const hash = createHash("sha256").update(together).digest("hex").slice(0, 10);
  // A dot before the dash would make it no name of a secret.
  return `${name.slice(0, longestLabel - hash.length - 1).replace(/[.-]+$/, "")}-${hash}`;
}
