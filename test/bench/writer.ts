/** Who publishes what machines boot with: Ostler, or the Operating System Manager that it is measured beside. */
import process from "node:process";
import { httpProbe } from "../../deploy/local/process/http_probe.ts";
import { startOnFreePorts } from "../../deploy/local/process/start_on_free_ports.ts";
import type { SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { startOstler } from "../../deploy/local/site/ostler_processes.ts";
import { workflowBundle } from "../../deploy/local/site/workflow_bundle.ts";
import type { Ground } from "./ground.ts";

/** Names a binary of Operating System Manager's controller; without it there is nothing to compare with. */
export const osmVariable = "OSTLER_BENCH_OSM";

export interface Writer {
  name: "Ostler" | "OSM";
  /** Whom the API server knows it by. */
  users: string[];
  /** What it needs beside the ground, made before anything is timed. */
  prepare(ground: Ground): Promise<void>;
  /** Starts its processes, and resolves when they call themselves ready; by the names that tables show. */
  start(ground: Ground): Promise<Record<string, SupervisedProcess>>;
}

const account = "system:serviceaccount:ostler-system:ostler-";

export const ostler: Writer = {
  name: "Ostler",
  users: [`${account}controller`, `${account}worker`],
  // An image has its bundle: making it is no part of a start.
  prepare: async () => void await workflowBundle(),
  start: async ({ stack, kubeconfigs }) => ({ ...await startOstler(stack, kubeconfigs, {}) }),
};

/** The Operating System Manager of a binary. */
export function osmOf(command: string): Writer {
  return { name: "OSM", users: ["admin"], prepare: prepareOsm, start: (ground) => startOsm(ground, command) };
}

/** Whom to measure: Ostler, and OSM where the environment names its binary. */
export function writers(): Writer[] {
  const command = process.env[osmVariable];
  return command ? [ostler, osmOf(command)] : [ostler];
}

// The account whose token it hands to booting machines comes with its own manifests.
async function prepareOsm({ api, stack }: Ground): Promise<void> {
  await stack.processes.get("temporal").stop();
  const body = {
    metadata: { name: "cloud-init-getter-token" },
    stringData: { token: "not-a-token-that-anybody-takes" },
  };
  await api.call({ method: "POST", path: "/api/v1/namespaces/cloud-init-settings/secrets", body });
}

async function startOsm({ stack }: Ground, command: string): Promise<Record<string, SupervisedProcess>> {
  const { process: osm } = await startOnFreePorts(stack.processes, {
    ports: ["health", "metrics"],
    spec: ({ health, metrics }) => ({
      name: "osm",
      command,
      args: [
        ...["-kubeconfig", stack.adminKubeconfig, "-namespace", "kube-system", "-leader-elect=false"],
        ...["-health-probe-address", `127.0.0.1:${health}`, "-metrics-address", `127.0.0.1:${metrics}`],
      ],
      ready: httpProbe({ url: `http://127.0.0.1:${health}/readyz` }),
    }),
  });
  return { osm };
}
