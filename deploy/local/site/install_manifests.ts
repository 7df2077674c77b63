/** Applies what a cluster gets: the simulated provider's kinds, then ours. */
import { fileURLToPath } from "node:url";
import { applyManifests } from "../stack/manifests.ts";

const local = ["machine_controller_crds", "kubevirt_crds", "storage_class", "machine_controller_rbac", "cloud_rbac"];

/** All of deploy/kubernetes but the two Deployments, whose processes run beside the stack instead. */
const ours = [
  "namespace",
  "crds/operating_system_profiles",
  "crds/operating_system_configs",
  "crds/rollouts",
  "crds/rollout_policies",
  "rbac/controller",
  "rbac/job_gate",
  "rbac/worker",
  "rbac/bootstrap",
  "admission/limit_secrets",
  "admission/hold_new_machines",
];

const inManagement = ["crds/operating_system_profiles", "crds/operating_system_configs"];

/** Applies them in order with the admin identity; resolves when every kind is served. A worker cluster has not all kinds. */
export async function installManifests(
  adminKubeconfig: string,
  { isWorkerCluster = false }: { isWorkerCluster?: boolean } = {},
): Promise<void> {
  const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
  await applyManifests(adminKubeconfig, [
    ...local.map((name) => path(`../manifests/${name}.yaml`)),
    ...ours.filter((name) => !isWorkerCluster || !inManagement.includes(name)).map((name) =>
      path(`../../kubernetes/${name}.yaml`)
    ),
  ]);
}
