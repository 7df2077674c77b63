/** Ostler's processes, started as in production: one controller and one worker, each with its own identity. */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { freePorts } from "../process/free_ports.ts";
import { httpProbe } from "../process/http_probe.ts";
import type { ProcessSpec, SupervisedProcess } from "../process/supervised_process.ts";
import type { Stack } from "../stack/stack.ts";
import { slimClient } from "./client_bundle.ts";
import { workflowBundle } from "./workflow_bundle.ts";

export interface OstlerProcesses {
  controller: SupervisedProcess;
  worker: SupervisedProcess;
  /** URLs of metrics; undefined unless the option `isMeasured` is set. */
  metrics?: { controller: string; worker: string };
}

/** Kubeconfig of each process for the management cluster, which has Ostler's profiles and configs. */
export interface ManagementKubeconfigs {
  controller: string;
  worker: string;
}

interface OstlerOptions {
  settings?: Record<string, string>;
  management?: ManagementKubeconfigs;
  /** Whether both processes serve metrics. */
  isMeasured?: boolean;
  signal?: AbortSignal;
}

const basic = ["--allow-net", "--allow-read", "--allow-env", "--allow-sys", "--allow-ffi"];

/** Variables with which a process returns free memory to the system; the manifests set the same variables. */
export const leanEnvironment = {
  DENO_V8_FLAGS: "--max-semi-space-size=8,--initial-old-space-size=64,--heap-growing-percent=40",
  MALLOC_ARENA_MAX: "2",
  MALLOC_TRIM_THRESHOLD_: "131072",
};

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Starts controller and worker and resolves when both are ready. */
export async function startOstler(
  stack: Stack,
  kubeconfigs: { controller: string; worker: string },
  { settings = {}, management, isMeasured = false, signal }: OstlerOptions,
): Promise<OstlerProcesses> {
  const [bundle, slim] = await Promise.all([workflowBundle(signal), slimClient(signal)]);
  const [controllerPort = 0, workerPort = 0] = isMeasured ? await freePorts(2) : [];
  const scraped = { controller: controllerPort, worker: workerPort };
  const bundled = bundle === undefined ? {} : { OSTLER_WORKFLOW_BUNDLE: bundle };
  const start = async (name: "controller" | "worker", permissions: string[]): Promise<SupervisedProcess> => {
    const [port = 0] = await freePorts(1);
    const measured = isMeasured ? { OSTLER_METRICS_ADDRESS: `127.0.0.1:${scraped[name]}` } : {};
    const connected = {
      ...connections(stack, management?.[name] ?? kubeconfigs[name], port),
      ...(management ? { OSTLER_WORKER_CLUSTER_KUBECONFIG: kubeconfigs[name] } : {}),
    };
    const environment = { ...leanEnvironment, ...bundled, ...connected, ...measured, ...settings };
    return await stack.processes.start(specOf({ name, flags: [...slim, ...permissions], port, environment }), signal);
  };
  const [controller, worker] = await Promise.all([
    start("controller", basic),
    // The worker may run these programs, because it renders templates in a child process, which has no permissions
    // itself.
    start("worker", [...basic, `--allow-run=/bin/sh,${process.execPath}`]),
  ]);
  const urlOf = (port: number): string => `http://127.0.0.1:${port}/metrics`;
  const metrics = { controller: urlOf(controllerPort), worker: urlOf(workerPort) };
  return { controller, worker, ...(isMeasured ? { metrics } : {}) };
}

function connections(stack: Stack, kubeconfig: string, healthPort: number): Record<string, string> {
  return {
    KUBECONFIG: kubeconfig,
    TEMPORAL_ADDRESS: stack.temporal.address,
    TEMPORAL_NAMESPACE: stack.temporal.namespace,
    // An empty file, because the user's own Temporal configuration has keys for other servers, which must not be used
    // here.
    TEMPORAL_CONFIG_FILE: "/dev/null",
    OSTLER_HEALTH_PROBE_ADDRESS: `127.0.0.1:${healthPort}`,
  };
}

function specOf(
  { name, flags, port, environment }: {
    name: "controller" | "worker";
    flags: string[];
    port: number;
    environment: Record<string, string>;
  },
): ProcessSpec {
  return {
    name,
    command: process.execPath,
    args: ["run", "--no-prompt", "--cached-only", ...flags, `workers/${name}.ts`],
    cwd: root,
    env: environment,
    ready: httpProbe({ url: `http://127.0.0.1:${port}/readyz` }),
    // A short grace period loses no work, because Temporal retries interrupted activities when a worker runs again.
    graceMs: 2_000,
    // A controller that lost its lease exits, and expects a restart, which a kubelet does in a cluster.
    isRevived: true,
  };
}
