/** The webhook as a separate process, with its own identity, and an API server that calls it. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { httpProbe } from "../../deploy/local/process/http_probe.ts";
import type { SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { CertificateAuthority } from "../../deploy/local/stack/certificate_authority.ts";
import { applyObjects, parseManifests } from "../../deploy/local/stack/manifests.ts";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import type { Stack } from "../../deploy/local/stack/stack.ts";
import { machineDeployment, poolsPath } from "./pool_objects.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Starts the webhook as in production, with its own identity, and registers it in the API server. */
export async function startWebhook(stack: Stack): Promise<SupervisedProcess> {
  const [port = 0, healthPort = 0] = await freePorts(2);
  const authority = await CertificateAuthority.create("webhook");
  const folder = join(stack.directory, "webhook");
  const { certificatePem, keyPem } = await authority.issue({
    ...{ commonName: "webhook", use: "server", ipAddresses: ["127.0.0.1"] } as const,
  });
  await mkdir(folder);
  await Promise.all([writeFile(join(folder, "tls.crt"), certificatePem), writeFile(join(folder, "tls.key"), keyPem)]);
  await applyObjects(stack.adminKubeconfig, await objectsOf("rbac"));
  const kubeconfig = await kubeconfigFor(stack, { serviceAccount: "ostler-webhook", namespace: "ostler-system" });
  const permissions = ["--allow-net", "--allow-read", "--allow-env", "--allow-sys", "--allow-run"];
  const webhook = await stack.processes.start({
    name: "webhook",
    command: process.execPath,
    args: [
      ...["run", "--no-prompt", "--cached-only", ...permissions, "workers/webhook.ts"],
      ...[`-cert-dir=${folder}`, "-namespace", "kube-system", `--webhook-address=127.0.0.1:${port}`],
      `-health-probe-bind-address=127.0.0.1:${healthPort}`,
    ],
    cwd: root,
    env: { KUBECONFIG: kubeconfig },
    ready: httpProbe({ url: `http://127.0.0.1:${healthPort}/readyz` }),
    graceMs: 10_000,
  });
  const configurations = [...await objectsOf("mutating"), ...await objectsOf("validating")];
  const trust = { port, caBundle: Buffer.from(authority.certificatePem).toString("base64") };
  await applyObjects(stack.adminKubeconfig, configurations.map((one) => pointedAt(one, trust)));
  await untilAsked(stack);
  return webhook;
}

/** Waits until the API server calls the webhook, because it reads new webhook configurations with a delay. */
async function untilAsked({ adminKubeconfig }: Stack): Promise<void> {
  using api = await ApiConnection.open(adminKubeconfig);
  const body = machineDeployment({ name: "odd", replicas: 0, provision: { surprise: true } });
  const call = { method: "POST", path: `${poolsPath()}?dryRun=All`, body } as const;
  await waitUntil(async (signal) => {
    const isTaken = await api.call({ ...call, signal }).then(() => true, () => false);
    if (isTaken) throw new Error("an invalid MachineDeployment is still accepted");
  }, { what: "the webhook to be called", timeoutMs: 30_000 });
}

async function objectsOf(file: string): Promise<ManifestObject[]> {
  const path = join(root, `deploy/kubernetes/webhook/${file}.yaml`);
  return parseManifests(await readFile(path, "utf8"), path);
}

interface Webhook {
  clientConfig: { service?: { path: string }; url?: string; caBundle?: string };
}

function pointedAt(
  configuration: ManifestObject,
  { port, caBundle }: { port: number; caBundle: string },
): ManifestObject {
  const { webhooks } = configuration as unknown as { webhooks: Webhook[] };
  const moved = webhooks.map((webhook) => {
    const url = `https://127.0.0.1:${port}${webhook.clientConfig.service?.path}`;
    return { ...webhook, clientConfig: { url, caBundle } };
  });
  return { ...configuration, webhooks: moved } as ManifestObject;
}
