/** The webhook as the API server calls it, and a cluster that continues without it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { machineDeployment, poolPath, poolsPath } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import { startWebhook } from "./start_webhook.ts";
import type { World } from "./world.ts";

const sles = { operatingSystem: "sles" };
const profileKey = "k8c.io/operating-system-profile";
const configsPath = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs";

testInWorld("webhook: refuses what would fail later, and stops no pool while it is down", {}, async (world, t) => {
  const webhook = await startWebhook(world.site.stack);
  await t.step(
    "kubectl shows file and line when a profile fails to render for one cloud provider",
    () => refusesProfile(world),
  );
  await t.step(
    "a MachineDeployment without a profile gets the default, and its other fields are unchanged",
    () => choosesProfile(world),
  );
  await t.step("the refusal of a provider config names its unknown field", () => namesField(world));
  await t.step("only Ostler can change the spec of an OperatingSystemConfig", () => keepsConfig(world));
  await webhook.stop();
  await t.step("while the webhook is down no profile can be written, and pools continue", () => goesOnWithout(world));
});

async function refusesProfile(world: World): Promise<void> {
  const broken = profileText("osp-broken", '\n{{ if eq .CloudProviderName "aws" }}\n  {{ .Nonsense }}\n{{ end }}');
  const refused = await apply(world, broken);
  assert.match(refused, /denied the request: Failed to render file "\/opt\/bin\/setup".*:3:.*Nonsense.*provider "aws"/);
  assert.match(await apply(world, profileText("osp-sound", "{{ .KubeVersion }}")), /osp-sound created/);
  const edited = await apply(world, profileText("osp-sound", "{{ .HTTPProxy }}"));
  assert.match(edited, /"v1.0.0"|a change of spec.version/);
}

async function choosesProfile(world: World): Promise<void> {
  // The API server's first answer is checked, because machine-controller drops unknown fields when it writes the
  // object.
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
  await assert.rejects(world.patch(path, { spec: { osVersion: "mine" } }), /403 .*Ostler renders it; change the/);
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
  // No default profile exists for "sles", but the pool still has Ostler's finalizer, which must not block its deletion.
  await world.patch(poolPath("unwatched"), { spec: { template: { spec: { providerSpec: { value: sles } } } } });
  await world.remove(poolPath("unwatched"));
  await world.until("the pool to go", async () => (await world.get(poolPath("unwatched"))) === undefined);
}

/** Changes the maximum number of pods of pool "chosen", and returns the config that Ostler then writes. */
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

/** The output of kubectl, whether it succeeds or not. */
async function apply(world: World, text: string): Promise<string> {
  const path = join(world.site.stack.directory, "profile.json");
  await writeFile(path, text);
  const run = promisify(execFile)(world.tools.kubectl, [
    `--kubeconfig=${world.site.stack.adminKubeconfig}`,
    ...["apply", "-f", path],
  ]);
  return await run.then(({ stdout }) => stdout, ({ stderr }: { stderr: string }) => stderr);
}
