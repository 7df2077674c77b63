/** A whole cluster with Ostler in it, on loopback: the stack, machine-controller, a simulated cloud, and our processes. */
import { createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cloud } from "../cloud/cloud.ts";
import { startCloud } from "../cloud/cloud.ts";
import type { MachineKind } from "../cloud/machine_kind.ts";
import type { ScriptChange } from "../cloud/script.ts";
import { startMachineController } from "../stack/machine_controller.ts";
import { startStack } from "../stack/stack.ts";
import type { Stack, StackOptions } from "../stack/stack.ts";
import type { StackTools } from "../stack/foundation.ts";
import { mintKubeconfigs, type SiteKubeconfigs } from "./identities.ts";
import { installManifests } from "./install_manifests.ts";
import { startOstler } from "./ostler_processes.ts";
import type { ManagementKubeconfigs, OstlerProcesses } from "./ostler_processes.ts";

export interface SiteOptions {
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
