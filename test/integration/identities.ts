/** Ostler's identities on a real API server, each with its own connection. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { applyObjects, parseManifests } from "../../deploy/local/stack/manifests.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import type { BareApi } from "./bare_api.ts";

const kubernetes = fileURLToPath(new URL("../../deploy/kubernetes/", import.meta.url));

export const processes = ["controller", "worker", "webhook", "setup"] as const;
export type Process = typeof processes[number];

/**
 * Installs the permissions of Ostler's processes and the admission policies that limit them, in the order of the
 * kustomization.
 */
export async function installRights({ kubeconfig }: BareApi): Promise<void> {
  const files = [
    ...["namespace", "crds/operating_system_profiles", "crds/operating_system_configs", "crds/rollouts"],
    ...["crds/node_versions", "crds/joining_nodes", "crds/autoscaling_strategies", "crds/os_images"],
    "crds/scaling_groups",
    ...[
      "rbac/controller",
      "rbac/job_gate",
      "rbac/worker",
      "rbac/bootstrap",
      "admission/limit_secrets",
      "admission/limit_nodes",
      "admission/limit_profiles",
      "webhook/rbac",
      "setup/rbac",
    ],
  ];
  for (const file of files) await install(kubeconfig, file);
}

/** Installs the permissions that the setting `approve-joining-nodes` needs in addition. */
export async function installApproval({ kubeconfig }: BareApi): Promise<void> {
  await install(kubeconfig, "rbac/node_approver");
}

/**
 * Installs the permissions and limits that the setting `cloud` needs in addition, as the chart renders them by default.
 */
export async function installCloud({ kubeconfig }: BareApi): Promise<void> {
  for (const file of ["cloud/rbac", "cloud/limit_autoscalers"]) await install(kubeconfig, file);
  const path = join(kubernetes, "admission/limit_nodes.yaml");
  const text = (await readFile(path, "utf8")).replace('expression: "false"', 'expression: "true"');
  await applyObjects(kubeconfig, parseManifests(text, path));
}

/** Installs the permissions that the setting `hands-image` needs in addition. */
export async function installHands({ kubeconfig }: BareApi): Promise<void> {
  for (const file of ["namespace", "limit_hands", "rbac", "image", "scripts"]) {
    await install(kubeconfig, `hands/${file}`);
  }
}

async function install(kubeconfig: string, file: string): Promise<void> {
  const path = join(kubernetes, `${file}.yaml`);
  await applyObjects(kubeconfig, parseManifests(await readFile(path, "utf8"), path));
}

/** Opens a connection with the ServiceAccount of a process. */
export async function openAs({ apiServer, directory, kubeconfig }: BareApi, process: Process): Promise<ApiConnection> {
  const account = { serviceAccount: `ostler-${process}`, namespace: "ostler-system" };
  return await ApiConnection.open(await kubeconfigFor({ directory, apiServer, adminKubeconfig: kubeconfig }, account));
}

/** Namespaces whose permissions are compared; the last one represents all other namespaces. */
const namespaces = [
  "kube-system",
  "cloud-init-settings",
  "ostler-system",
  "kube-public",
  "default",
  "ostler-hands",
  "tenant",
] as const;

interface Rule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

/** Paths that every authenticated user may read. */
const openPaths = ["/api", "/apis", "/healthz", "/livez", "/openapi", "/openid", "/readyz", "/version", "/.well-known"];

interface PathRule {
  verbs: string[];
  nonResourceURLs?: string[];
}

/**
 * Returns everything that the API server allows the user of `api`, as "namespace resource [names]: verbs"; cluster-wide
 * permissions have no namespace.
 */
export async function rightsOf(api: ApiConnection): Promise<string[]> {
  const byNamespace = await Promise.all(
    namespaces.map(async (namespace) => [namespace, await rightsIn(api, namespace)]),
  );
  const inAll = Object.fromEntries(byNamespace) as Record<typeof namespaces[number], string[]>;
  const everywhere = inAll.tenant;
  const elsewhere = Object.entries(inAll).flatMap(([namespace, found]) =>
    found.filter((right) => !everywhere.includes(right)).map((right) => `${namespace} ${right}`)
  );
  return [...everywhere, ...elsewhere].sort();
}

async function rightsIn(api: ApiConnection, namespace: string): Promise<string[]> {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
  const { status } = await api.call({ method: "POST", path, body: { spec: { namespace } } }) as {
    status: { resourceRules: Rule[]; nonResourceRules?: PathRule[] };
  };
  const paths = (status.nonResourceRules ?? []).flatMap(({ verbs, nonResourceURLs = [] }) =>
    nonResourceURLs.filter((url) => !openPaths.some((open) => url.startsWith(open))).map((url) =>
      `${url}: ${verbs.join(" ")}`
    )
  );
  const resources = status.resourceRules.flatMap(({ verbs, apiGroups = [], resources = [], resourceNames }) =>
    // Leaves out the permissions to ask the API server about oneself, because every user has them.
    resources.filter((name) => !name.startsWith("selfsubject")).map((name) => {
      const group = apiGroups.filter((each) => each === "*").length > 0 ? "*/" : "";
      return `${group}${name}${resourceNames ? ` ${resourceNames.join(" ")}` : ""}: ${verbs.join(" ")}`;
    })
  );
  return [...new Set(paths), ...resources];
}
