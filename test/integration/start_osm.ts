/** Runs Operating System Manager on a running test site: its real binary, or a simulation that follows its rules. */
import assert from "node:assert/strict";
import process from "node:process";
import { connectKube, loadKubeConfig } from "../../activities/kube/client.ts";
import { httpProbe } from "../../deploy/local/process/http_probe.ts";
import { startOnFreePorts } from "../../deploy/local/process/start_on_free_ports.ts";
import type { Stack } from "../../deploy/local/stack/stack.ts";
import { FakeOsm } from "../support/fake_osm.ts";

/**
 * The objects of Operating System Manager's deploy/cloud-init-settings.yaml, which must exist before Operating System
 * Manager starts.
 */
export const getterObjects = [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: getterName("cloud-init-getter") },
  {
    ...{ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/service-account-token" },
    metadata: {
      ...getterName("cloud-init-getter-token"),
      annotations: { "kubernetes.io/service-account.name": "cloud-init-getter" },
    },
  },
  {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: getterName("cloud-init-getter") },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] }],
  },
  {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: getterName("cloud-init-getter") },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "cloud-init-getter" },
    subjects: [{ kind: "ServiceAccount", ...getterName("cloud-init-getter") }],
  },
];

function getterName(name: string): { name: string; namespace: string } {
  return { name, namespace: "cloud-init-settings" };
}

/** An instance of Operating System Manager that can be started and stopped repeatedly. */
export interface Osm {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Reconciles once, as after a change; the real binary does so by itself. */
  look(): Promise<void>;
}

/** Runs the real binary, which holds its Lease while it runs. */
export function realOsm({ adminKubeconfig, processes }: Stack, command: string): Osm {
  return {
    start: async () => {
      await startOnFreePorts(processes, {
        ports: ["health", "metrics"],
        spec: ({ health, metrics }) => ({
          name: "osm",
          command,
          args: [
            ...["-kubeconfig", adminKubeconfig, "-namespace", "kube-system", "-leader-elect=true"],
            ...["-health-probe-address", `127.0.0.1:${health}`, "-metrics-address", `127.0.0.1:${metrics}`],
          ],
          env: { POD_NAMESPACE: process.env["POD_NAMESPACE"] ?? "kube-system" },
          ready: httpProbe({ url: `http://127.0.0.1:${health}/readyz` }),
        }),
      });
    },
    stop: () => processes.get("osm").stop(),
    look: () => Promise.resolve(),
  };
}

/**
 * Returns an instance that follows the rules of Operating System Manager, and reconciles only in `start` and in `look`.
 */
export function playedOsm({ adminKubeconfig }: Stack): Osm {
  const spec = {
    ...{ version: "v1.11.2", osName: "ubuntu", osVersion: "24.04", supportedCloudProviders: [{ name: "kubevirt" }] },
    ...{ bootstrapConfig: {}, provisioningConfig: {} },
  };
  const texts = { bootstrap: "#cloud-config\n", provisioning: "#cloud-config\n" };
  const kube = connectKube(loadKubeConfig(adminKubeconfig));
  const played = new FakeOsm(kube, () => texts, [{ name: "osp-ubuntu", spec }]);
  const look = async (): Promise<void> => {
    await played.look();
    assert.deepEqual(played.errors, {});
  };
  return { start: look, stop: () => Promise.resolve(), look };
}
