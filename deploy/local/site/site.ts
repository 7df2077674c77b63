/** A whole cluster with Ostler in it, on loopback: the stack, machine-controller, a simulated cloud, and our processes. */
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
import { applyManifests, applyObjects } from "../stack/manifests.ts";

interface SiteOptions {
  /** Holds all state; the caller removes it. */
  directory: string;
  tools: StackTools;
  seed: number;
  script?: ScriptChange;
  /** What the machines are made of and live on; simulated unless told. */
  machines?: MachineGround;
  /** Added to the environment of controller and worker. */
  settings?: Record<string, string>;
  /** Kubeconfigs of another cluster with profiles and configs, of which this one then has none. */
  management?: ManagementKubeconfigs;
  /** Controller and worker serve metrics. */
  isMeasured?: boolean;
  /** Users whose requests the API server's audit log keeps. */
  audited?: string[];
  /** The API server ends a watch after one to two times as many seconds. */
  watchSeconds?: number;
  /** A cluster that is there already. */
  cluster?: NonNullable<StackOptions["cluster"]>;
  /** Starts another Temporal server than the CLI's dev server. */
  startTemporal?: NonNullable<StackOptions["startTemporal"]>;
  onProgress?: (text: string) => void;
  onCrash?: (crash: Error) => void;
  /** Takes one line each time that Ostler's controller or worker ended unasked and is started again. */
  onRevival?: (line: string) => void;
  signal?: AbortSignal;
}

/** A ground that machines of another kind stand on. */
export interface MachineGround {
  readonly kind: MachineKind;
  /** Address of this host that machines reach. */
  readonly address: string;
  /** Range that pods get their addresses from. */
  readonly podNetwork: string;
  /** Ostler's settings that suit this ground. */
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

/** Starts everything, each part under its own identity; when a part fails, nothing is left running. */
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
  options.onProgress?.("Installing kinds, identities and rules");
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

// Who writes in a site, each with a kubeconfig of its own.

type Identity = "controller" | "worker" | "machineController" | "cloud";

/** Paths of kubeconfigs, one per identity. */
export type SiteKubeconfigs = Record<Identity, string>;

const identities = {
  controller: { serviceAccount: "ostler-controller", namespace: "ostler-system" },
  worker: { serviceAccount: "ostler-worker", namespace: "ostler-system" },
  machineController: { serviceAccount: "machine-controller", namespace: "kube-system" },
  cloud: { serviceAccount: "simulated-cloud", namespace: "kube-system" },
} as const;

/** Mints a token for each; what is installed with the manifests must be there. */
export async function mintKubeconfigs(stack: Stack): Promise<SiteKubeconfigs> {
  const names = Object.keys(identities) as Identity[];
  const paths = await Promise.all(names.map((name) => kubeconfigFor(stack, identities[name])));
  return Object.fromEntries(names.map((name, at) => [name, paths[at]])) as SiteKubeconfigs;
}

// Applies what a cluster gets: the simulated provider's kinds, then ours.

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
interface Installed {
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
