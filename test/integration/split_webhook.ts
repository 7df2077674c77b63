/**
 * A webhook with its own certificate that serves two API servers, each of which has the registrations that the chart
 * renders for its cluster.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { httpProbe } from "../../deploy/local/process/http_probe.ts";
import { type ApiConnection, ApiRefusal } from "../../deploy/local/stack/api_connection.ts";
import { applyObjects } from "../../deploy/local/stack/manifests.ts";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { chartObjects } from "../support/chart_objects.ts";
import type { BareApi } from "./bare_api.ts";
import { machineDeployment, poolsPath } from "./pool_objects.ts";
import type { World } from "./world.ts";

const profiles = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/NAMESPACE/operatingsystemprofiles";
const brokenProfile = {
  ...{
    apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
    kind: "OperatingSystemProfile",
    metadata: { name: "odd" },
  },
  spec: {
    ...{ osName: "ubuntu", osVersion: "24.04", version: "v1.0.0", bootstrapConfig: {} },
    supportedCloudProviders: [{ name: "kubevirt" }],
    provisioningConfig: { files: [{ path: "/opt/bin/setup", content: { inline: { data: "{{ .Nonsense }}" } } }] },
  },
};
const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Starts the webhook, and registers it in both API servers: for MachineDeployments in one, and for profiles of one
 * namespace in the other.
 */
export async function judgesInBoth(world: World, management: BareApi): Promise<void> {
  const [port = 0, healthPort = 0] = await freePorts(2);
  const address = `https://127.0.0.1:${port}`;
  await told(world, management, address);
  const { directory, apiServer, kubeconfig } = management;
  const there = { directory, apiServer, adminKubeconfig: kubeconfig };
  const [own, pools] = await Promise.all([
    kubeconfigFor(there, { serviceAccount: "ostler-webhook", namespace: "north-system" }),
    kubeconfigFor(world.site.stack, { serviceAccount: "ostler-webhook", namespace: "ostler-system" }),
  ]);
  const settings = {
    ...{
      "kubeconfig": own,
      "worker-cluster-kubeconfig": pools,
      "namespace": "north",
      "system-namespace": "north-system",
    },
    ...{ "webhook-endpoint": address, "worker-webhook-endpoint": address, "webhook-address": `127.0.0.1:${port}` },
    ...{ "cert-dir": "/no/such", "health-probe-address": `127.0.0.1:${healthPort}` },
  };
  const permissions = ["--allow-net", "--allow-read", "--allow-env", "--allow-sys", "--allow-run"];
  const webhook = await management.processes.start({
    name: "webhook",
    command: process.execPath,
    args: [
      ...["run", "--no-prompt", "--cached-only", ...permissions, "workers/webhook.ts"],
      ...Object.entries(settings).map(([flag, value]) => `--${flag}=${value}`),
    ],
    cwd: root,
    ready: httpProbe({ url: `http://127.0.0.1:${healthPort}/readyz` }),
  });
  await asked(world, management.api);
  await webhook.stop();
}

async function told(world: World, { kubeconfig }: BareApi, address: string): Promise<void> {
  const { helm } = await resolveTools(["helm"]);
  const own = ["workerCluster.kubeconfigSecret.name=north", "settings.namespace=north", "webhook.enabled=true"];
  const endpoint = `settings.worker-webhook-endpoint=${address}`;
  const [here, pools] = await Promise.all([
    chartObjects({ helm, namespace: "north-system", set: own }),
    chartObjects({ helm, set: ["workerCluster.render=true", endpoint] }),
  ]);
  const isOfIt = ({ kind, metadata: { name } }: ManifestObject): boolean =>
    /WebhookConfiguration$/.test(kind) || (name.startsWith("ostler-webhook") && !/Deploy|Service$|Budget/.test(kind));
  // This cluster has no pods, so no Service can lead to the webhook: the API server calls its URL.
  const moved = JSON.stringify(here.filter(isOfIt)).replace(
    /"service":\{"namespace":"north-system","name":"ostler-webhook","path":"([^"]+)"\}/g,
    `"url":"${address}$1"`,
  );
  await applyObjects(kubeconfig, JSON.parse(moved) as ManifestObject[]);
  await applyObjects(world.site.stack.adminKubeconfig, pools.filter(isOfIt));
}

async function asked(world: World, api: ApiConnection): Promise<void> {
  const body = machineDeployment({ name: "odd", replicas: 0, provision: { surprise: true } });
  await world.until(
    "a MachineDeployment to be validated",
    () => world.create(`${poolsPath()}?dryRun=All`, body).then(() => false, (error) => /surprise/.test(`${error}`)),
    30,
  );
  const profile = (namespace: string): Promise<unknown> =>
    api.call({ method: "POST", path: `${profiles.replace("NAMESPACE", namespace)}?dryRun=All`, body: brokenProfile });
  const isJudged = (error: unknown): boolean => error instanceof ApiRefusal && /Nonsense/.test(error.message);
  await world.until("a profile to be validated", () => profile("north").then(() => false, isJudged), 30);
  assert.ok(await profile("default"), "Expected other profiles not to be validated by this release");
}
