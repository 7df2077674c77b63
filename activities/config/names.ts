/** Names of everything published for a pool: those of Operating System Manager, so that a cluster can switch. */
import type { PoolRef } from "../../workflows/contracts.ts";

export const secretsNamespace = "cloud-init-settings";
export const tokensNamespace = "kube-system";

/** Data keys of the secrets. */
export const userDataKey = "cloud-config";
export const kubeconfigKey = "kubeconfig";

export const secretRevisionAnnotation = "k8c.io/machine-deployment-revision";
export const profileVersionAnnotation = "k8c.io/osp-version";
/** Ours: whose artefact it is, what decided it, and until when it can be used. */
export const ownerAnnotation = "ostler.dev/machine-deployment";
export const digestAnnotation = "ostler.dev/config-digest";
export const expiryAnnotation = "ostler.dev/credentials-expire";
export const renewalAnnotation = "ostler.dev/credentials-renew";
export const tokenLabel = "machinedeployment.k8s.io/name";

/** Most characters a label value, and so the key of a pool, may have. */
const longestKey = 62;

export interface ArtefactNames {
  config: string;
  provisioning: string;
  bootstrap: string;
  kubeletBootstrap: string;
  /** Service account, Role and RoleBinding through which machines read exactly two secrets. */
  identity: string;
  /** Label value of the pool's bootstrap tokens. */
  key: string;
}

/** The names for one pool. */
export function namesOf({ namespace, name }: PoolRef): ArtefactNames {
  const long = `${namespace}-${name}`;
  const key = long.length > longestKey ? name : long;
  return {
    config: `${name}-${namespace}-config`,
    provisioning: `${name}-${namespace}-provisioning-config`,
    bootstrap: `${name}-${namespace}-bootstrap-config`,
    kubeletBootstrap: `${key}-kubelet-bootstrap-config`,
    identity: `ostler-${name}-${namespace}`,
    key,
  };
}
