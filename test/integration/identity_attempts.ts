/** Forbidden and required actions of Ostler's identities that RBAC alone cannot distinguish. */
import { poolGroupOf } from "../../activities/config/token_group.ts";
import type { Process } from "./identities.ts";

const group = "system:bootstrappers:machine-controller:default-node-token";
const ofPool = poolGroupOf({ namespace: "ns", name: "x" });

/** A Secret as an attempt writes it. */
export interface Secret {
  namespace?: string;
  name: string;
  type?: string;
  data?: Record<string, string>;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

function secret({ namespace = "kube-system", type = "Opaque", data = {}, ...metadata }: Secret): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace, ...metadata }, type, stringData: data };
}

/** Returns a bootstrap token of pool "x" with this ID, and with `more` data. */
export function token(id: string, more: Record<string, string> = {}): Secret {
  const data = { "token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true" };
  return {
    ...{ name: `bootstrap-token-${id}`, type: "bootstrap.kubernetes.io/token", labels: { "ostler.dev/pool": "x" } },
    data: { ...data, "auth-extra-groups": group, ...more },
  };
}

/** Returns the path of the Secrets of a namespace. */
export const secrets = (namespace = "kube-system"): string => `/api/v1/namespaces/${namespace}/secrets`;
const accountToken = "kubernetes.io/service-account-token";
const accountOf = (name: string): Record<string, string> => ({ "kubernetes.io/service-account.name": name });

/** A request to the API server that a process attempts. */
export type Attempt = { method: "GET" | "POST" | "PATCH" | "DELETE"; path: string; body?: object };

/** Returns the request that creates a Secret. */
export const create = (one: Secret): Attempt => ({ method: "POST", path: secrets(one.namespace), body: secret(one) });
const change = (name: string, body: object, namespace = "kube-system"): Attempt => ({
  ...{ method: "PATCH", path: `${secrets(namespace)}/${name}`, body } as const,
});
const remove = (name: string, namespace?: string): Attempt => ({
  ...{ method: "DELETE", path: `${secrets(namespace)}/${name}` } as const,
});
const tokenFor = (account: string, namespace: string): Attempt => ({
  ...{ method: "POST", path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token` } as const,
  body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
});

const updates = "/apis/update.edgeless.systems/v1alpha1";
const update = (path: string, body: object): Attempt => ({ method: "PATCH", path: `${updates}/${path}`, body });
/** Path of the OSImages. */
export const osImages = "/apis/ostler.dev/v1alpha1/osimages";
const updateImage = (path: string, body: object): Attempt => ({ method: "PATCH", path: `${osImages}/${path}`, body });
const letIn: Attempt = {
  ...{ method: "POST", path: `${updates}/joiningnodes` } as const,
  body: { apiVersion: "update.edgeless.systems/v1alpha1", kind: "JoiningNode", metadata: { name: "mine" } },
};

const osm = "/apis/operatingsystemmanager.k8c.io/v1alpha1";
const profiles = `${osm}/namespaces/kube-system/operatingsystemprofiles`;

/** Returns a minimal profile, of the kind that Ostler and Operating System Manager share. */
function profileNamed(name: string): object {
  const phase = { units: [], files: [], templates: {} };
  return {
    ...{ apiVersion: "operatingsystemmanager.k8c.io/v1alpha1", kind: "OperatingSystemProfile", metadata: { name } },
    spec: {
      ...{ osName: "ubuntu", osVersion: "24.04", version: "v1.0.0", supportedCloudProviders: [{ name: "aws" }] },
      ...{ bootstrapConfig: phase, provisioningConfig: phase, provisioningUtility: "cloud-init" },
    },
  };
}

/**
 * Forbidden actions by process and description: RBAC alone would allow them, or they would let a process gain every
 * permission.
 */
export const forbidden: [Process, string, Attempt][] = [
  [
    "worker",
    "make a service account token in kube-system",
    create({
      ...{
        name: "bootstrap-token-stolen",
        type: accountToken,
        annotations: accountOf("clusterrole-aggregation-controller"),
      },
    }),
  ],
  [
    "worker",
    "make a service account token in the namespace of machine secrets",
    create({
      ...{
        namespace: "cloud-init-settings",
        name: "x-bootstrap-config",
        type: accountToken,
        annotations: accountOf("other"),
      },
    }),
  ],
  ["worker", "make any other Secret of kube-system", create({ name: "cloud-credentials" })],
  ["worker", "change a foreign Secret in kube-system", change("theirs", { stringData: { password: "mine" } })],
  ["worker", "delete a foreign Secret in kube-system", remove("theirs")],
  [
    "worker",
    "make a token for a group of its choice",
    create(token("aaaaaa", { "auth-extra-groups": "system:bootstrappers:kubeadm" })),
  ],
  ...["kubeadm:x", "ostler:x,system:masters"].map((more): [Process, string, Attempt] => [
    "worker",
    `make a token for a pool's group and "${more}"`,
    create(token("aaaaab", { "auth-extra-groups": `${group},${ofPool},system:bootstrappers:${more}` })),
  ]),
  [
    "worker",
    "make a token for the machines' group and another one",
    create(token("aaaaac", { "auth-extra-groups": `${group},system:bootstrappers:kubeadm:default` })),
  ],
  ["worker", "make a token without a pool", create({ ...token("bbbbbb"), labels: {} })],
  [
    "worker",
    "take over kubeadm's token",
    change("bootstrap-token-kubead", { metadata: { labels: { "ostler.dev/pool": "x" } } }),
  ],
  ["worker", "delete kubeadm's token", remove("bootstrap-token-kubead")],
  ["worker", "change the seed", change("ostler-seed", { stringData: { seed: "known" } })],
  ["worker", "delete the seed", remove("ostler-seed")],
  [
    "worker",
    "write a Secret that no machine boots from in the namespace of machine secrets",
    create({ namespace: "cloud-init-settings", name: "other" }),
  ],
  [
    "worker",
    "request the token of another account in the namespace of machine secrets",
    tokenFor("other", "cloud-init-settings"),
  ],
  ["worker", "request the token of another process", tokenFor("ostler-controller", "ostler-system")],
  ["worker", "read the webhook's key", { method: "GET", path: `${secrets("ostler-system")}/ostler-webhook-authority` }],
  ["worker", "change the version of nodes", update("nodeversions/asked", { spec: { image: "mine" } })],
  ["worker", "change the keys that admit an image", updateImage("asked", { spec: { keys: ["mine"] } })],
  ["worker", "create an OSImage", {
    ...{ method: "POST", path: osImages } as const,
    body: { apiVersion: "ostler.dev/v1alpha1", kind: "OSImage", metadata: { name: "mine" } },
  }],
  ["worker", "let a node in", letIn],
  ["worker", "change a JoiningNode of a join service", update("joiningnodes/let-in", { spec: { name: "other" } })],
  ["worker", "list the secrets of machines", { method: "GET", path: secrets("cloud-init-settings") }],
  [
    "webhook",
    "make a service account token under the name of its certificate's Secret",
    create({
      namespace: "ostler-system",
      ...{ name: "ostler-webhook-authority", type: accountToken, annotations: accountOf("ostler-worker") },
    }),
  ],
  ["webhook", "make any other Secret", create({ namespace: "ostler-system", name: "other" })],
  ["webhook", "read another Secret", { method: "GET", path: `${secrets("ostler-system")}/other` }],
  ["webhook", "register another webhook", {
    ...{ method: "POST", path: "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations" } as const,
    body: {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "all" },
    },
  }],
  ["controller", "write a Secret", create({ namespace: "ostler-system", name: "other" })],
  ["controller", "create a profile that is not a default one", {
    ...{ method: "POST", path: profiles } as const,
    body: profileNamed("mine"),
  }],
  ["controller", "replace a user's profile", { method: "PATCH", path: `${profiles}/theirs`, body: { spec: {} } }],
  ["controller", "change a default profile by a patch", {
    ...{ method: "PATCH", path: `${profiles}/osp-ubuntu` } as const,
    body: { spec: {} },
  }],
  ["controller", "release a stage", update("nodeversions/asked/status", { status: { budget: 9 } })],
  ["controller", "admit an image", updateImage("asked/status", { status: { digest: "mine" } })],
  ["controller", "hold cluster-autoscaler", update("autoscalingstrategies/held", { spec: { enabled: false } })],
  ["controller", "delete the JoiningNode of an admitted node", {
    method: "DELETE",
    path: `${updates}/joiningnodes/let-in`,
  }],
  ["controller", "read a Secret", { method: "GET", path: `${secrets()}/theirs` }],
];

/** Required actions by process and description, which fail if a limit is too strict. */
export const needed: [Process, string, Attempt][] = [
  ["worker", "make a pool's token", create(token("cccccc"))],
  [
    "worker",
    "make a pool's token with the group of the pool",
    create(token("eeeeee", { "auth-extra-groups": `${group},${ofPool}` })),
  ],
  [
    "worker",
    "let a pool's token live longer",
    change("bootstrap-token-dddddd", { stringData: { expiration: "2030-01-01T00:00:00Z" } }),
  ],
  [
    "worker",
    "remove the previous label from a pool's token",
    change("bootstrap-token-dddddd", {
      metadata: { labels: { "machinedeployment.k8s.io/name": null, "ostler.dev/pool": "x" } },
    }),
  ],
  ["worker", "delete a pool's token", remove("bootstrap-token-dddddd")],
  ...[
    "pool-ns-provisioning-config",
    "pool-ns-bootstrap-config",
    "ns-pool-kubelet-bootstrap-config",
    "edge-provider-script-pool-ns",
    "ostler-last-good-pool-ns",
  ]
    .map((
      name,
    ): [Process, string, Attempt] => ["worker", `write ${name}`, create({ namespace: "cloud-init-settings", name })]),
  ["worker", "delete the boot secrets of machines", remove("old-ns-bootstrap-config", "cloud-init-settings")],
  ["worker", "request the token of a pool's account", tokenFor("ostler-pool-ns", "cloud-init-settings")],
  ["worker", "admit an image", updateImage("asked/status", { status: { digest: "sha256:1" } })],
  ["worker", "release a stage", update("nodeversions/asked/status", { status: { budget: 1 } })],
  ["worker", "hold cluster-autoscaler", update("autoscalingstrategies/held", { spec: { enabled: false } })],
  ["worker", "delete the JoiningNode of an admitted node", {
    method: "DELETE",
    path: `${updates}/joiningnodes/let-in`,
  }],
  ["controller", "install a default profile", {
    ...{ method: "POST", path: profiles } as const,
    body: profileNamed("osp-ubuntu"),
  }],
  ["webhook", "store its certificate", create({ namespace: "ostler-system", name: "ostler-webhook-authority" })],
];
