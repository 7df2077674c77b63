/** The webhook as the API server asks it, and a cluster that goes on without it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { httpProbe } from "../../deploy/local/process/http_probe.ts";
import type { SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { CertificateAuthority } from "../../deploy/local/stack/certificate_authority.ts";
import { applyObjects, parseManifests } from "../../deploy/local/stack/manifests.ts";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import { machineDeployment, poolPath, poolsPath } from "./pool_objects.ts";
import { withWorld, type World } from "./world.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const sles = { operatingSystem: "sles" };
const profileKey = "k8c.io/operating-system-profile";
const configsPath = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs";

Deno.test("the webhook refuses what would break later, and nothing needs it", async (t) => {
  await withWorld({}, async (world) => {
    const webhook = await startWebhook(world);
    await t.step("kubectl is told file and line of a profile that breaks on a provider", () => refusesProfile(world));
    await t.step(
      "a MachineDeployment that names no profile gets the default, its other fields as they were",
      () => choosesProfile(world),
    );
    await t.step("an unknown field of a provider config is named", () => namesField(world));
    await t.step("a config is changed by Ostler alone", () => keepsConfig(world));
    await webhook.stop();
    await t.step("without the webhook no profile can be written, and pools go on", () => goesOnWithout(world));
  });
});

async function refusesProfile(world: World): Promise<void> {
  const broken = profileText("osp-broken", '\n{{ if eq .CloudProviderName "aws" }}\n  {{ .Nonsense }}\n{{ end }}');
  const refused = await apply(world, broken);
  assert.match(refused, /denied the request: Cannot render file "\/opt\/bin\/setup".*:3:.*Nonsense.*provider "aws"/);
  assert.match(await apply(world, profileText("osp-sound", "{{ .KubeVersion }}")), /osp-sound created/);
  const edited = await apply(world, profileText("osp-sound", "{{ .HTTPProxy }}"));
  assert.match(edited, /"v1.0.0"|another spec.version/);
}

async function choosesProfile(world: World): Promise<void> {
  // machine-controller drops what it does not know as soon as it writes, so the first answer counts.
  const answer = await world.api.call({ method: "POST", path: poolsPath(), body: unnamed("chosen") });
  const { metadata, spec } = answer as { metadata: { annotations: unknown }; spec: { madeUp?: unknown } };
  assert.deepEqual(metadata.annotations, { [profileKey]: "osp-ubuntu" });
  assert.deepEqual(spec.madeUp, { kept: true });
  await world.untilPhase("chosen", "Converged");
}

async function namesField(world: World): Promise<void> {
  const odd = machineDeployment({ name: "odd", provision: { surprise: true } });
  await assert.rejects(world.create(poolsPath(), odd), /422 .*"kube-system\/odd".*"surprise"/);
}

async function keepsConfig(world: World): Promise<void> {
  const path = `${configsPath}/chosen-kube-system-config`;
  await assert.rejects(world.patch(path, { spec: { osVersion: "mine" } }), /403 .*it is rendered; change the/);
  await world.patch(path, { metadata: { labels: { mine: "yes" } } });
  assert.match(await rerendered(world, "111"), /maxPods: 111/);
}

async function goesOnWithout(world: World): Promise<void> {
  assert.match(await apply(world, profileText("osp-late", "x")), /failed calling webhook/);
  await world.create(poolsPath(), unnamed("unwatched"));
  const pool = await world.get<{ metadata: { annotations?: Record<string, string> } }>(poolPath("unwatched"));
  assert.equal(pool?.metadata.annotations?.[profileKey], undefined);
  await world.untilPhase("unwatched", "Converged");
  assert.match(await rerendered(world, "112"), /maxPods: 112/);
  // Not even a default profile is left then, but the finalizer is.
  await world.patch(poolPath("unwatched"), { spec: { template: { spec: { providerSpec: { value: sles } } } } });
  await world.remove(poolPath("unwatched"));
  await world.until("the pool to go", async () => (await world.get(poolPath("unwatched"))) === undefined);
}

/** Lets the pool's kubelets have other settings, and gives the config as Ostler then wrote it. */
async function rerendered(world: World, maxPods: string): Promise<string> {
  const key = "v1.kubelet-config.machine-controller.kubermatic.io/MaxPods";
  await world.patch(poolPath("chosen"), { metadata: { annotations: { [key]: maxPods } } });
  return await world.until(`a config with ${maxPods} pods`, async () => {
    const text = JSON.stringify(await world.get(`${configsPath}/chosen-kube-system-config`));
    return text.includes(`maxPods: ${maxPods}`) && text;
  });
}

function unnamed(name: string): object {
  const deployment = machineDeployment({ name, replicas: 0 }) as { metadata: object; spec: object };
  return {
    ...deployment,
    metadata: { name, namespace: "kube-system" },
    spec: { ...deployment.spec, madeUp: { kept: true } },
  };
}

function profileText(name: string, data: string): string {
  return JSON.stringify({
    apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
    kind: "OperatingSystemProfile",
    metadata: { name, namespace: "kube-system" },
    spec: {
      ...{ osName: "ubuntu", osVersion: "24.04", version: "v1.0.0", bootstrapConfig: {} },
      supportedCloudProviders: [{ name: "kubevirt" }, { name: "aws" }],
      provisioningConfig: { files: [{ path: "/opt/bin/setup", content: { inline: { data } } }] },
    },
  });
}

/** What kubectl says, whether it succeeds or not. */
async function apply(world: World, text: string): Promise<string> {
  const path = join(world.site.stack.directory, "profile.json");
  await writeFile(path, text);
  const run = promisify(execFile)(world.tools.kubectl, [
    `--kubeconfig=${world.site.stack.adminKubeconfig}`,
    ...["apply", "-f", path],
  ]);
  return await run.then(({ stdout }) => stdout, ({ stderr }: { stderr: string }) => stderr);
}

/** Starts the webhook as in production, under its own identity, and tells the API server where it is. */
async function startWebhook(world: World): Promise<SupervisedProcess> {
  const { stack } = world.site;
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
  await untilAsked(world);
  return webhook;
}

/** The API server learns of its webhooks a moment after they are written. */
async function untilAsked(world: World): Promise<void> {
  const odd = machineDeployment({ name: "odd", replicas: 0, provision: { surprise: true } });
  const path = `${poolsPath()}?dryRun=All`;
  await world.until("the webhook to be asked", () => world.create(path, odd).then(() => false, () => true), 30);
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
