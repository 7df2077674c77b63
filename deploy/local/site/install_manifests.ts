/** Applies what a cluster gets: the simulated provider's kinds, then ours. */
import { fileURLToPath } from "node:url";
import { applyManifests, applyObjects } from "../stack/manifests.ts";

const local = ["machine_controller_crds", "kubevirt_crds", "storage_class", "machine_controller_rbac", "cloud_rbac"];

/** All of deploy/kubernetes but the two Deployments, whose processes run beside the stack instead. */
const ours = [
  "namespace",
  "crds/operating_system_profiles",
  "crds/operating_system_configs",
  "crds/rollouts",
  "crds/rollout_policies",
  "crds/node_pools",
  "crds/node_versions",
  "crds/scaling_groups",
  "crds/pending_nodes",
  "crds/joining_nodes",
  "crds/autoscaling_strategies",
  "crds/os_images",
  "rbac/controller",
  "rbac/job_gate",
  "rbac/worker",
  "rbac/bootstrap",
  "admission/limit_secrets",
  "admission/hold_new_machines",
];

const inManagement = ["crds/operating_system_profiles", "crds/operating_system_configs"];

/** Who approves the certificates of new nodes: kube-controller-manager, whoever asks, or the controller. */
const approval = { asKubernetes: "rbac/bootstrap_approval", byController: "approval/node_approver" };

/** The component of hands, but for its image. */
const hands = ["namespace", "limit_hands", "rbac", "scripts"];

/** What is installed of it. */
export interface Installed {
  isWorkerCluster?: boolean;
  approver?: keyof typeof approval;
  /** The image of hands; without one there are none. */
  handsImage?: string;
}

/** Applies them in order with the admin identity; resolves when every kind is served. A worker cluster has not all kinds. */
export async function installManifests(
  adminKubeconfig: string,
  { isWorkerCluster = false, approver = "asKubernetes", handsImage }: Installed = {},
): Promise<void> {
  const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
  await applyManifests(adminKubeconfig, [
    ...local.map((name) => path(`../manifests/${name}.yaml`)),
    ...[...ours, approval[approver]].filter((name) => !isWorkerCluster || !inManagement.includes(name)).map((name) =>
      path(`../../kubernetes/${name}.yaml`)
    ),
  ]);
  if (handsImage === undefined) return;
  await applyManifests(adminKubeconfig, hands.map((name) => path(`../../kubernetes/hands/${name}.yaml`)));
  const metadata = { namespace: "ostler-hands", name: "ostler-hands-image" };
  const image = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { image: handsImage } };
  await applyObjects(adminKubeconfig, [image]);
}
