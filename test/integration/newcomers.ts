/** Machines to create on an API server, and which of them its admission policy or Ostler's webhook must hold. */
import { equal } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { applyManifests } from "../../deploy/local/stack/manifests.ts";

const root = new URL("../../", import.meta.url);
const hold = "machine-controller.kubermatic.io/initializers";
const mark = "cluster.k8s.io/delete-machine";

/** A Machine as a user creates it. */
export interface Newcomer {
  /** Name of the MachineSet that owns the Machine, unless `owners` is given. */
  set?: string;
  owners?: { kind: string; apiVersion: string; name: string }[];
  /** Value of the Machine's label with the hash of its template. */
  hash?: string;
  annotations?: Record<string, string>;
  namespace?: string;
}

/** The converged template hash of each pool's Rollout; undefined for a pool that has not converged yet. */
const converged: Record<string, string | undefined> = { pool: "old", "pool-a": "new", fresh: undefined };

/**
 * Machines by description, each with the pool whose rollout must hold it; undefined for a Machine that must not be
 * held.
 */
export const newcomers: Record<string, [Newcomer, string | undefined]> = {
  "of another template": [{ set: "pool-7f9c", hash: "new" }, "pool"],
  "with another template and its own annotations": [
    { set: "pool-7f9c", hash: "new", annotations: { "a/b": "c" } },
    "pool",
  ],
  "with an existing delete-machine annotation": [
    { set: "pool-7f9c", hash: "new", annotations: { [mark]: "true" } },
    "pool",
  ],
  "without a template's hash": [{ set: "pool-7f9c" }, "pool"],
  "with several owners, one of them a MachineSet": [{
    owners: [
      { kind: "Other", apiVersion: "v1", name: "x-1" },
      { kind: "MachineSet", apiVersion: "cluster.k8s.io/v1alpha1", name: "pool-1" },
    ],
    hash: "new",
  }, "pool"],
  "of the converged template": [{ set: "pool-7f9c", hash: "old" }, undefined],
  "of the converged template of a pool whose name begins with another pool's name": [
    { set: "pool-a-7f9c", hash: "new" },
    undefined,
  ],
  "of another template in a pool whose name begins with another pool's name": [
    { set: "pool-a-7f9c", hash: "old" },
    "pool-a",
  ],
  "of a pool that has not converged yet": [{ set: "fresh-7f9c", hash: "new" }, undefined],
  "of a pool without a Rollout": [{ set: "unknown-7f9c", hash: "new" }, undefined],
  "of a pool of another namespace": [{ set: "pool-7f9c", hash: "new", namespace: "default" }, undefined],
  "that another controller holds": [{ set: "pool-7f9c", hash: "new", annotations: { [hold]: "mine" } }, undefined],
  "with an empty annotation for a hold": [{ set: "pool-7f9c", hash: "new", annotations: { [hold]: "" } }, "pool"],
  "without an owner": [{ owners: [], hash: "new" }, undefined],
  "of a MachineSet whose name has no suffix": [{ set: "pool", hash: "new" }, undefined],
  "of a MachineSet of another API group": [
    { owners: [{ kind: "MachineSet", apiVersion: "cluster.x-k8s.io/v1beta1", name: "pool-1" }], hash: "new" },
    undefined,
  ],
};

/** Installs the CRDs, and creates the Rollouts of the pools. */
export async function settlePools(api: ApiConnection, kubeconfig: string): Promise<void> {
  const files = [
    ...["local/manifests/machine_controller_crds.yaml", "kubernetes/namespace.yaml"],
    ...["operating_system_profiles", "operating_system_configs", "rollouts"].map((kind) =>
      `kubernetes/crds/${kind}.yaml`
    ),
  ];
  await applyManifests(kubeconfig, files.map((file) => fileURLToPath(new URL(`deploy/${file}`, root))));
  for (const [name, convergedTemplateHash] of Object.entries(converged)) {
    const path = "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts";
    const body = { apiVersion: "ostler.dev/v1alpha1", kind: "Rollout", metadata: { name } };
    await api.call({ method: "POST", path, body });
    const contentType = "application/merge-patch+json";
    const status = { status: { convergedTemplateHash } };
    await api.call({ method: "PATCH", path: `${path}/${name}/status`, body: status, contentType });
  }
}

/** Creates the Machine as a dry run, and returns the annotations that it would have. */
export async function admitted(api: ApiConnection, newcomer: Newcomer): Promise<Record<string, string>> {
  const { set = "", hash, annotations, namespace = "kube-system" } = newcomer;
  const owners = newcomer.owners ?? [{ kind: "MachineSet", apiVersion: "cluster.k8s.io/v1alpha1", name: set }];
  const body = {
    ...{ apiVersion: "cluster.k8s.io/v1alpha1", kind: "Machine" },
    metadata: {
      ...{ generateName: "newcomer-", ...(annotations ? { annotations } : {}) },
      ownerReferences: owners.map((owner) => ({ ...owner, uid: "11111111-1111-4111-8111-111111111111" })),
      ...(hash === undefined ? {} : { labels: { "machine-template-hash": hash } }),
    },
    spec: {},
  };
  const path = `/apis/cluster.k8s.io/v1alpha1/namespaces/${namespace}/machines?dryRun=All`;
  const made = await api.call({ method: "POST", path, body }) as { metadata: { annotations?: Record<string, string> } };
  return made.metadata.annotations ?? {};
}

/**
 * Fails unless the Machine has exactly its own annotations and, if a pool holds it, the hold and the mark of that pool.
 */
export function judge(newcomer: Newcomer, holder: string | undefined, annotations: Record<string, string>): void {
  const value = `machine-deployment/kube-system/${holder}`;
  const added = holder === undefined ? {} : { [hold]: value, [mark]: value };
  const inOrder = (some: Record<string, string>): string => JSON.stringify(Object.entries(some).sort());
  equal(inOrder(annotations), inOrder({ ...newcomer.annotations, ...added }));
}
