/** Who publishes what machines boot with: Ostler, or the Operating System Manager that it is measured beside. */
import process from "node:process";
import { httpProbe } from "../../deploy/local/process/http_probe.ts";
import { startOnFreePorts } from "../../deploy/local/process/start_on_free_ports.ts";
import type { ProcessSpec, SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { startOstler } from "../../deploy/local/site/ostler_processes.ts";
import { slimClient } from "../../deploy/local/site/client_bundle.ts";
import { workflowBundle } from "../../deploy/local/site/workflow_bundle.ts";
import { applyObjects } from "../../deploy/local/stack/manifests.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import type { Stack } from "../../deploy/local/stack/stack.ts";
import type { Ground } from "./ground.ts";

/** Names a binary of Operating System Manager's controller; without it there is nothing to compare with. */
export const osmVariable = "OSTLER_BENCH_OSM";

/** Starts processes, and resolves when they call themselves ready; by the names that tables show. */
export type Start = () => Promise<Record<string, SupervisedProcess>>;

export interface Writer {
  name: "Ostler" | "OSM";
  /** Whom the API server knows it by. */
  users: string[];
  /** Makes what it needs beside the ground before anything is timed. */
  prepare(ground: Ground): Promise<Start>;
}

const accountOf = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`;

/** Ostler with one controller and so many workers. */
export function ostlerOf(workers: number): Writer {
  return {
    name: "Ostler",
    users: ["ostler-controller", "ostler-worker"].map((name) => accountOf("ostler-system", name)),
    prepare: async ({ stack, kubeconfigs }) => {
      // An image has its bundles: making them is no part of a start.
      await Promise.all([workflowBundle(), slimClient()]);
      return async () => {
        const { controller, worker } = await startOstler(stack, kubeconfigs, {});
        const others = Array.from({ length: workers - 1 }, (_, nth) => startAnother(stack, worker.spec, nth + 2));
        return { controller, worker, ...Object.assign({}, ...await Promise.all(others)) };
      };
    },
  };
}

/** One more of a process, on a port of its own. */
async function startAnother(
  { processes }: Stack,
  spec: ProcessSpec,
  nth: number,
): Promise<Record<string, SupervisedProcess>> {
  const name = `${spec.name}-${nth}`;
  const { process: another } = await startOnFreePorts(processes, {
    ports: ["health"],
    spec: ({ health }) => ({
      ...spec,
      name,
      env: { ...spec.env, OSTLER_HEALTH_PROBE_ADDRESS: `127.0.0.1:${health}` },
      ready: httpProbe({ url: `http://127.0.0.1:${health}/readyz` }),
    }),
  });
  return { [name]: another };
}

const osmAccount = { serviceAccount: "osm", namespace: "kube-system" };

/** The Operating System Manager of a binary. */
export function osmOf(command: string): Writer {
  return {
    name: "OSM",
    users: [accountOf(osmAccount.namespace, osmAccount.serviceAccount)],
    prepare: async (ground) => {
      // It has no use for it.
      await ground.stack.processes.get("temporal").stop();
      await applyObjects(ground.stack.adminKubeconfig, osmObjects);
      const kubeconfig = await kubeconfigFor(ground.stack, osmAccount);
      return () => startOsm(ground, { command, kubeconfig });
    },
  };
}

/** Whom to measure: Ostler, and OSM where the environment names its binary. */
export function writers(): Writer[] {
  const command = process.env[osmVariable];
  return command ? [ostlerOf(1), osmOf(command)] : [ostlerOf(1)];
}

// Its rights are no part of what is measured. The token that it hands to machines comes from elsewhere with it, too.
const osmObjects = [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "osm", namespace: "kube-system" } },
  {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "bench-osm" } },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "osm", namespace: "kube-system" }],
  },
  {
    ...{ apiVersion: "v1", kind: "Secret" },
    metadata: { name: "cloud-init-getter-token", namespace: "cloud-init-settings" },
    stringData: { token: "nobody-takes-this-token" },
  },
];

async function startOsm(
  { stack }: Ground,
  { command, kubeconfig }: { command: string; kubeconfig: string },
): Promise<Record<string, SupervisedProcess>> {
  const { process: osm } = await startOnFreePorts(stack.processes, {
    ports: ["health", "metrics"],
    spec: ({ health, metrics }) => ({
      name: "osm",
      command,
      args: [
        ...["-kubeconfig", kubeconfig, "-namespace", "kube-system", "-leader-elect=false"],
        ...["-health-probe-address", `127.0.0.1:${health}`, "-metrics-address", `127.0.0.1:${metrics}`],
      ],
      ready: httpProbe({ url: `http://127.0.0.1:${health}/readyz` }),
    }),
  });
  return { osm };
}
