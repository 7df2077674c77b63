/** The publishers of what machines boot with: Ostler, or Operating System Manager for comparison. */
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

/**
 * The environment variable with the path of a binary of Operating System Manager's controller; without it nothing is
 * compared.
 */
export const osmVariable = "OSTLER_BENCH_OSM";

/**
 * Starts the publisher's processes, and resolves when they report to be ready; returns them by the names that tables
 * show.
 */
export type Start = () => Promise<Record<string, SupervisedProcess>>;

export interface Writer {
  name: "Ostler" | "OSM";
  /** The user names of the publisher's processes at the API server. */
  users: string[];
  /** Prepares everything that the publisher needs in addition to the ground, before the measurement begins. */
  prepare(ground: Ground): Promise<Start>;
}

const accountOf = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`;

/** Returns Ostler as the publisher, with one controller and this many worker processes. */
export function ostlerOf(workers: number): Writer {
  return {
    name: "Ostler",
    users: ["ostler-controller", "ostler-worker"].map((name) => accountOf("ostler-system", name)),
    prepare: async ({ stack, kubeconfigs }) => {
      // A container image has these bundles already, so making them is not part of a start.
      await Promise.all([workflowBundle(), slimClient()]);
      return async () => {
        const { controller, worker } = await startOstler(stack, kubeconfigs, {});
        const others = Array.from({ length: workers - 1 }, (_, nth) => startAnother(stack, worker.spec, nth + 2));
        return { controller, worker, ...Object.assign({}, ...await Promise.all(others)) };
      };
    },
  };
}

/** Starts another instance of a process that already runs, with its own port. */
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

/** Returns a publisher that runs the given binary of Operating System Manager. */
export function osmOf(command: string): Writer {
  return {
    name: "OSM",
    users: [accountOf(osmAccount.namespace, osmAccount.serviceAccount)],
    prepare: async (ground) => {
      // Operating System Manager does not use Temporal.
      await ground.stack.processes.get("temporal").stop();
      await applyObjects(ground.stack.adminKubeconfig, osmObjects);
      const kubeconfig = await kubeconfigFor(ground.stack, osmAccount);
      return () => startOsm(ground, { command, kubeconfig });
    },
  };
}

/** The measured publishers: Ostler, and OSM if the environment names its binary. */
export function writers(): Writer[] {
  const command = process.env[osmVariable];
  return command ? [ostlerOf(1), osmOf(command)] : [ostlerOf(1)];
}

// Objects for Operating System Manager: it is cluster-admin, because its permissions are not measured, and the token
// for machines is a dummy, because no machine boots.
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
