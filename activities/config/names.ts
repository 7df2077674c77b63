/** Namespaces, data keys, annotations and labels of everything published for a pool. */

export const tokensNamespace = "kube-system";

/** Data keys of the secrets. */
export const userDataKey = "cloud-config";
export const kubeconfigKey = "kubeconfig";
export const edgeScriptKey = "fetch-bootstrap-script";

export const secretRevisionAnnotation = "k8c.io/machine-deployment-revision";
/** SHA-256 of all annotations of the MachineDeployment, as Operating System Manager writes it. */
export const annotationsHashAnnotation = "k8c.io/mdannotations-hash";
export const profileVersionAnnotation = "k8c.io/osp-version";
/** Ours: whose artefact it is, what decided it, and until when it can be used. */
export const ownerAnnotation = "ostler.dev/machine-deployment";
export const digestAnnotation = "ostler.dev/config-digest";
/** Ours: SHA-256 of the API server's address and CA in the kubeconfig, which no template has to mention. */
export const clusterDigestAnnotation = "ostler.dev/cluster-digest";
/** Ours, on secrets alone: the bootstrap token in use, by the id in the name of its secret. */
export const tokenIdAnnotation = "ostler.dev/bootstrap-token-id";
/** Ours, on secrets alone: SHA-256 of what the machines' identity may do. */
export const identityDigestAnnotation = "ostler.dev/identity-digest";
export const expiryAnnotation = "ostler.dev/credentials-expire";
export const renewalAnnotation = "ostler.dev/credentials-renew";
export const tokenLabel = "ostler.dev/pool";
/**
 * Operating System Manager's, and ours of before. It makes a token where none bears the label, and can go on no more where
 * several do: so no token of ours may, or nobody could go back to it.
 */
export const osmTokenLabel = "machinedeployment.k8s.io/name";
