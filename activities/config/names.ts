/** Namespaces, data keys, annotations and labels of everything published for a pool. */

export const tokensNamespace = "kube-system";

/** Data keys of the secrets. */
export const userDataKey = "cloud-config";
export const kubeconfigKey = "kubeconfig";
export const edgeScriptKey = "fetch-bootstrap-script";

export const secretRevisionAnnotation = "k8c.io/machine-deployment-revision";
/** SHA-256 of all annotations of the MachineDeployment, in the form that Operating System Manager writes. */
export const annotationsHashAnnotation = "k8c.io/mdannotations-hash";
export const profileVersionAnnotation = "k8c.io/osp-version";
/** Annotations of Ostler on every artefact: the MachineDeployment that owns it, and the digest of the config. */
export const ownerAnnotation = "ostler.dev/machine-deployment";
export const digestAnnotation = "ostler.dev/config-digest";
/**
 * Annotation of Ostler: SHA-256 of the API server's address and CA. The config digest covers them only if the config
 * contains them.
 */
export const clusterDigestAnnotation = "ostler.dev/cluster-digest";
/** Annotation of Ostler, on secrets only: id of the bootstrap token in use, as in the name of its secret. */
export const tokenIdAnnotation = "ostler.dev/bootstrap-token-id";
/**
 * Annotation of Ostler, on secrets only: SHA-256 of the permissions of the service account that machines read their
 * secrets with.
 */
export const identityDigestAnnotation = "ostler.dev/identity-digest";
/** Annotations of Ostler: when the credentials expire, and when their renewal is due. */
export const expiryAnnotation = "ostler.dev/credentials-expire";
export const renewalAnnotation = "ostler.dev/credentials-renew";
export const tokenLabel = "ostler.dev/pool";
/**
 * Label of bootstrap tokens of Operating System Manager and of earlier versions of Ostler. Operating System Manager
 * creates a token if none has the label, and fails if several have it. Tokens of Ostler lack the label, so that a
 * return to Operating System Manager remains possible.
 */
export const osmTokenLabel = "machinedeployment.k8s.io/name";
