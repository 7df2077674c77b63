/**
 * A complete cluster with Ostler on loopback: the stack, machine-controller, a simulated cloud, and Ostler's processes.
 */
import { createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Cloud, startCloud } from "../cloud/cloud.ts";
import type { MachineKind } from "../cloud/machine_kind.ts";
import type { ScriptChange } from "../cloud/script.ts";
import { startMachineController } from "../stack/machine_controller.ts";
import { type Stack, type StackOptions, startStack } from "../stack/stack.ts";
import type { StackTools } from "../stack/foundation.ts";
import { type ManagementKubeconfigs, type OstlerProcesses, startOstler } from "./ostler_processes.ts";
import { kubeconfigFor } from "../stack/service_account_kubeconfig.ts";
import { fileURLToPath } from "node:url";
import { ApiConnection } from "../stack/api_connection.ts";
import { waitUntil } from "../process/wait_until.ts";
import { applyManifests, applyObjects, parseManifests } from "../stack/manifests.ts";
import type { ManifestObject } from "../stack/resource_paths.ts";

interface SiteOptions {
  /** Folder of all state; the caller removes it. */
  directory: string;
  tools: StackTools;
  seed: number;
  script?: ScriptChange;
  /** Where machines boot; by default the cloud simulates them. */
  machines?: MachineGround;
  /** Environment variables added for controller and worker. */
  settings?: Record<string, string>;
  /** Kubeconfigs of a separate management cluster, which has the profiles and configs instead of this cluster. */
  management?: ManagementKubeconfigs;
  /** Whether controller and worker serve metrics. */
  isMeasured?: boolean;
  /** Users whose requests the API server's audit log keeps. */
  audited?: string[];
  /** Seconds after which the API server ends a watch at the earliest; it ends each watch before twice that time. */
  watchSeconds?: number;
  /** Cluster to use instead of one that the stack starts. */
  cluster?: NonNullable<StackOptions["cluster"]>;
  /** Starts a Temporal server to use instead of the CLI's dev server. */
  startTemporal?: NonNullable<StackOptions["startTemporal"]>;
  onProgress?: (text: string) => void;
  onCrash?: (crash: Error) => void;
  /** Called with one line for each restart of controller or worker after an unexpected exit. */
  onRevival?: (line: string) => void;
  signal?: AbortSignal;
}

/** An environment for machines that are not simulated. */
export interface MachineGround {
  readonly kind: MachineKind;
  /** Address of this host that is reachable from machines. */
  readonly address: string;
  /** Address range of pods. */
  readonly podNetwork: string;
  /** Settings of Ostler for this environment. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface Site {
  readonly stack: Stack;
  readonly cloud: Cloud;
  readonly ostler: OstlerProcesses;
  /** Paths of kubeconfigs, one per identity. */
  readonly kubeconfigs: SiteKubeconfigs;
  stop(): Promise<void>;
}

/** Starts all parts, each with its own identity; rejects without leaving a process running if a part fails. */
export async function startSite(options: SiteOptions): Promise<Site> {
  const { machines } = options;
  const stack = await startStack({
    ...options,
    ...(machines && { address: machines.address, podNetwork: machines.podNetwork }),
  });
  try {
    return await inhabit(stack, options);
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

async function inhabit(stack: Stack, options: SiteOptions): Promise<Site> {
  options.onProgress?.("Installing CRDs, service accounts and permissions");
  await installManifests(stack.adminKubeconfig, {
    isWorkerCluster: options.management !== undefined,
    approver: options.settings?.["OSTLER_APPROVE_JOINING_NODES"] === "true" ? "byController" : "asKubernetes",
    ...(options.settings?.["OSTLER_HANDS_IMAGE"] ? { handsImage: options.settings["OSTLER_HANDS_IMAGE"] } : {}),
  });
  const kubeconfigs = await mintKubeconfigs(stack);
  options.onProgress?.("Starting machine-controller, the cloud, and Ostler's controller and worker");
  const opening = openCloud(kubeconfigs.cloud, options);
  const [cloud, ostler] = await Promise.all([
    opening,
    startOstler(stack, kubeconfigs, { ...options, settings: { ...options.machines?.settings, ...options.settings } }),
    startMachineController(stack, kubeconfigs.machineController, options.signal),
  ]).catch(async (error: unknown) => {
    await opening.then((opened) => opened.stop(), () => undefined);
    throw error;
  });
  const stop = async (): Promise<void> => {
    await stack.stop();
    await cloud.stop();
  };
  return { stack, cloud, ostler, kubeconfigs, stop };
}

async function openCloud(kubeconfigPath: string, options: SiteOptions): Promise<Cloud> {
  await mkdir(join(options.directory, "logs"), { recursive: true });
  const log = createWriteStream(join(options.directory, "logs", "cloud.log"), { flags: "a" });
  return await startCloud({
    kubeconfig: await readFile(kubeconfigPath, "utf8"),
    seed: options.seed,
    ...(options.machines ? { kind: options.machines.kind } : {}),
    ...(options.script ? { script: options.script } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
    log: (line) => void log.write(`${new Date().toISOString()} ${line}\n`),
  });
}

// The identities in a site, each with a kubeconfig of its own.

type Identity = "controller" | "worker" | "machineController" | "cloud";

/** Paths of kubeconfigs, one per identity. */
export type SiteKubeconfigs = Record<Identity, string>;

const identities = {
  controller: { serviceAccount: "ostler-controller", namespace: "ostler-system" },
  worker: { serviceAccount: "ostler-worker", namespace: "ostler-system" },
  machineController: { serviceAccount: "machine-controller", namespace: "kube-system" },
  cloud: { serviceAccount: "simulated-cloud", namespace: "kube-system" },
} as const;

/** Requests a token for each identity; the manifests must be installed before. */
export async function mintKubeconfigs(stack: Stack): Promise<SiteKubeconfigs> {
  const names = Object.keys(identities) as Identity[];
  const paths = await Promise.all(names.map((name) => kubeconfigFor(stack, identities[name])));
  return Object.fromEntries(names.map((name, at) => [name, paths[at]])) as SiteKubeconfigs;
}

// Applies the manifests of a cluster: those of the simulated provider, then those of Ostler.

const local = ["machine_controller_crds", "kubevirt_crds", "storage_class", "machine_controller_rbac", "cloud_rbac"];

const holdNewMachines = "admission/hold_new_machines";

/** The files of deploy/kubernetes for every site, without the Deployments, whose processes run outside the cluster. */
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
  "admission/limit_profiles",
  holdNewMachines,
  "cloud/rbac",
  "cloud/limit_autoscalers",
];

const inManagement = ["crds/operating_system_profiles", "crds/operating_system_configs", "admission/limit_profiles"];

/**
 * The manifests for the approval of new nodes' certificates: by kube-controller-manager, which accepts any node name,
 * or by Ostler's controller.
 */
const approval = { asKubernetes: "any_name/bootstrap_approval", byController: "rbac/node_approver" };

/**
 * Manifests of the component `hands`, the pods with which Ostler changes the operating system of nodes, without the
 * ConfigMap that names their image.
 */
const hands = ["namespace", "limit_hands", "rbac", "scripts"];

/** Options of `installManifests`. */
interface Installed {
  isWorkerCluster?: boolean;
  approver?: keyof typeof approval;
  /** Image of the pods of component `hands`; if undefined, the component is not installed. */
  handsImage?: string;
}

/**
 * Applies the manifests as administrator, in the order in which this file lists them; resolves when every CRD is
 * served. Leaves out `inManagement` for a worker cluster, and `holdNewMachines` if the API server does not serve its
 * kind.
 */
export async function installManifests(
  adminKubeconfig: string,
  { isWorkerCluster = false, approver = "asKubernetes", handsImage }: Installed = {},
): Promise<void> {
  const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
  const unknown = await holdsMachines(adminKubeconfig) ? undefined : holdNewMachines;
  await applyManifests(adminKubeconfig, [
    ...local.map((name) => path(`../manifests/${name}.yaml`)),
    ...[...ours, approval[approver]].filter((name) => name !== unknown)
      .filter((name) => !isWorkerCluster || !inManagement.includes(name)).map((name) =>
        path(`../../kubernetes/${name}.yaml`)
      ),
  ]);
  await applyObjects(adminKubeconfig, await nodeLimits(path("../../kubernetes/admission/limit_nodes.yaml")));
  if (handsImage === undefined) return;
  await applyManifests(adminKubeconfig, hands.map((name) => path(`../../kubernetes/hands/${name}.yaml`)));
  const metadata = { namespace: "ostler-hands", name: "ostler-hands-image" };
  const image = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { image: handsImage } };
  await applyObjects(adminKubeconfig, [image]);
}

/** Returns whether the API server serves MutatingAdmissionPolicy, the kind of `holdNewMachines` (Kubernetes 1.36). */
async function holdsMachines(adminKubeconfig: string): Promise<boolean> {
  using api = await ApiConnection.open(adminKubeconfig);
  const path = "/apis/admissionregistration.k8s.io/v1";
  const look = async (signal: AbortSignal): Promise<{ name: string }[]> => {
    return (await api.call({ method: "GET", path, signal }) as { resources: { name: string }[] }).resources;
  };
  const resources = await waitUntil(look, { what: `the API server to serve "${path}"`, timeoutMs: 20_000 });
  return resources.some(({ name }) => name === "mutatingadmissionpolicies");
}

/**
 * The node annotation that RolloutPolicies in tests list in `handOver`, so that Ostler copies it from an old node to
 * the new node.
 */
const handedOver = "example.com/owner";

/**
 * Returns the admission policy that limits which changes of nodes Ostler may make, as the chart renders it with its
 * component `cloud`.
 */
async function nodeLimits(path: string): Promise<ManifestObject[]> {
  const text = (await readFile(path, "utf8"))
    .replace(`expression: "false"`, `expression: "true"`)
    .replace("'no-annotation'", `'${handedOver}'`);
  return parseManifests(text, path);
}
