/** Names of the objects of Operating System Manager (1.11) and of Ostler that a handover has to find or distinguish. */
import { secretsNamespace } from "../../profiles/mod.ts";

/** Leases of the two managers of Operating System Manager; the second is for a separate worker cluster. */
export const osmLeases = ["operating-system-manager", "operating-system-manager-worker-manager"];
export const osmDeployment = "operating-system-manager";

/** The token in this secret is Operating System Manager's: machines of all its pools fetch their user-data with it. */
export const getter = {
  namespace: secretsNamespace,
  account: "cloud-init-getter",
  secret: "cloud-init-getter-token",
  key: "token",
};

/** The webhook configurations of both systems have the same name; the called service shows the owner. */
export const webhookConfiguration = "operatingsystemmanager.k8c.io";
/** Part of the name and address of Operating System Manager's Service; Ostler's Service may have any name. */
export const osmWebhook = "operating-system-manager";
/** Name of the Certificate of cert-manager for Operating System Manager's webhook. */
export const osmCertificate = "operating-system-manager-serving-cert";

/** Common name of the CA that Ostler's webhook issues for itself. */
export const ourAuthority = "ostler-webhook-authority";

/** Prefix of all annotations and labels of Ostler. */
export const ourPrefix = "ostler.dev/";

/**
 * Annotation that Ostler writes into a pool's template when a changed config is to replace the machines. A handover
 * does not remove the annotation, because every change of a template replaces machines.
 */
export const templateAnnotation = "ostler.dev/config";

/**
 * Annotations of Nodes with facts that only Ostler records: images and locks of nodes in NodePools, and replacements in
 * scaling groups. A handover keeps them together with these pools: without them, Ostler would boot failed images again.
 */
export const nodeFacts = ["ostler.dev/node-os", "ostler.dev/fleet-lock", "ostler.dev/heir-of"];

/**
 * Written in place of the hash of a pool's annotations, so that Operating System Manager recreates config and secrets.
 */
export const givenBack = "given-back";
