/** What Operating System Manager (1.11) leaves in a cluster, and where ours would stand in its way. */
import { secretsNamespace } from "../../profiles/mod.ts";

/** Leases of its two managers; the second is of a worker cluster, where that is another one. */
export const osmLeases = ["operating-system-manager", "operating-system-manager-worker-manager"];
export const osmDeployment = "operating-system-manager";

/** With the token in this secret machines fetch what sets them up, those of all pools. */
export const getter = {
  namespace: secretsNamespace,
  account: "cloud-init-getter",
  secret: "cloud-init-getter-token",
  key: "token",
};

/** The webhook configurations of both systems have one name; whose they are tells whom they call. */
export const webhookConfiguration = "operatingsystemmanager.k8c.io";
/** Stands in the name of its Service, and so in an address as well; ours may have any. */
export const osmWebhook = "operating-system-manager";

/** The authority that our webhook makes for itself, by its common name. */
export const ourAuthority = "ostler-webhook-authority";

/** Ours, on a default profile: the version that was installed. */
export const installedAnnotation = "ostler.dev/default-profile";
/** What all annotations and labels of ours begin with. */
export const ourPrefix = "ostler.dev/";

/** Ours, in the template of a pool whose profile was rolled: it stays, as every change of a template replaces machines. */
export const templateAnnotation = "ostler.dev/config";

/** In place of the digest of annotations: Operating System Manager finds another one and makes all of the pool anew. */
export const givenBack = "given-back";
