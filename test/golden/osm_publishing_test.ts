/**
 * The publications of the recorded cases: names, kinds, keys and annotations, the kubeconfig, and what is deleted with
 * a pool.
 */
import assert from "node:assert/strict";
import { loadYaml } from "@kubernetes/client-node";
import { ensurePoolCleanedUp } from "../../activities/config/clean_up.ts";
import { publishConfig } from "../../activities/config/publish_config.ts";
import { renderingOf, renderPool } from "../../activities/config/render_config.ts";
import { revisionAnnotation } from "../../activities/kube/machine_deployment.ts";
import { closeTemplateEngines } from "../../profiles/mod.ts";
import type { FakeKube, Stored } from "../support/fake_kube.ts";
import { differingCases, differs } from "../support/osm_differences.ts";
import { osmKube, osmPublisher, putInput } from "../support/osm_kube.ts";
import {
  correctedEdgeScript,
  expectedText,
  type OsmCase,
  osmCase,
  osmCaseNames,
  secondInput,
} from "../support/osm_vectors.ts";

interface Recorded {
  machineDeployment: { finalizers: string[] };
  objects: {
    kind: "OperatingSystemConfig" | "Secret";
    namespace: string;
    name: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    type?: string;
    immutable?: boolean;
    keys?: string[];
    data?: Record<string, string>;
  }[];
  afterDelete?: { leftBehind: string[] };
}

Deno.test.afterAll(() => closeTemplateEngines());

async function publish(kube: FakeKube, of: OsmCase): Promise<string> {
  const { namespace, name, annotations = {} } = of.deployment.metadata;
  const pool = { namespace, name };
  const publisher = osmPublisher(kube, of);
  const { configDigest } = renderingOf(await renderPool(publisher, pool));
  await publishConfig(publisher, { pool, revision: annotations[revisionAnnotation] ?? "", configDigest });
  return configDigest;
}

function recordedOf(of: OsmCase): Recorded {
  return loadYaml(expectedText(of, "names.yaml") ?? "");
}

function textOf(object: Stored | undefined, key: string): string {
  return atob((object?.["data"] as Record<string, string> | undefined)?.[key] ?? "");
}

function compareObjects(kube: FakeKube, of: OsmCase): void {
  const { objects, machineDeployment } = recordedOf(of);
  const { name, namespace } = of.deployment.metadata;
  const deployment = kube.get("machinedeployments", name, namespace);
  assert.deepEqual(deployment?.metadata.finalizers, machineDeployment.finalizers);
  for (const recorded of objects) {
    if (recorded.type === "bootstrap.kubernetes.io/token") continue;
    const plural = recorded.kind === "Secret" ? "secrets" : "operatingsystemconfigs";
    const found = kube.get(plural, recorded.name, recorded.namespace);
    assert.ok(found, `${recorded.kind} ${recorded.namespace}/${recorded.name}`);
    const theirs = Object.entries(found.metadata.annotations ?? {}).filter(([key]) => key.startsWith("k8c.io/"));
    const isStamped = Object.keys(recorded.annotations).length > 0 || !differs("kubeconfig-is-stamped", of.name);
    if (isStamped) assert.deepEqual(Object.fromEntries(theirs), recorded.annotations, recorded.name);
    assert.deepEqual(found.metadata.labels ?? {}, recorded.labels);
    if (recorded.kind !== "Secret") continue;
    assert.equal(found["type"], recorded.type);
    assert.deepEqual(Object.keys(found["data"] ?? {}).sort(), recorded.keys);
    assert.equal(found["immutable"] ?? false, !differs("secrets-change-in-place", of.name) && recorded.immutable);
  }
}

function compareKubeconfig(kube: FakeKube, of: OsmCase): void {
  const { name = "" } = recordedOf(of).objects.find(({ keys }) => keys?.includes("kubeconfig")) ?? {};
  const found = textOf(kube.get("secrets", name, "cloud-init-settings"), "kubeconfig");
  const [, token = ""] = /^ {4}token: (.+)$/m.exec(found) ?? [];
  const isOwn = !of.flags["bootstrap-token-service-account-name"] && differs("own-bootstrap-token", of.name);
  if (isOwn) assert.match(token, /^[a-z0-9]{6}\.[a-z0-9]{16}$/);
  const recorded = expectedText(of, "kubeconfig") ?? "";
  assert.equal(found, isOwn ? recorded.replace(/(?<=^ {4}token: ).+$/m, token) : recorded);
  if (isOwn) compareToken(kube, of, token);
}

function compareToken(kube: FakeKube, of: OsmCase, token: string): void {
  const [id = "", secret = ""] = token.split(".");
  const found = kube.get("secrets", `bootstrap-token-${id}`, "kube-system");
  const recorded = recordedOf(osmCase("gen-namespaces")).objects.find(({ data }) => data !== undefined);
  assert.equal(found?.["type"], recorded?.type);
  const expected = { ...recorded?.data, "token-id": id, "token-secret": secret };
  const key = found?.metadata.labels?.["ostler.dev/pool"] ?? "";
  assert.equal(found?.metadata.labels?.["machinedeployment.k8s.io/name"], undefined);
  const isSigning = !differs("no-signing-token", of.name);
  for (const [field, value] of Object.entries(expected)) {
    if (field === "usage-bootstrap-signing" && !isSigning) {
      assert.equal(textOf(found, field), "");
      continue;
    }
    if (field === "expiration") assert.ok(Date.parse(textOf(found, field)) > Date.now() + 3_500_000);
    else assert.equal(textOf(found, field), value.replace("default-gen-namespaces", key));
  }
  const { name, namespace } = of.deployment.metadata;
  assert.equal(key, `${namespace}-${name}`.length > 62 ? name : `${namespace}-${name}`);
}

function inventory(kube: FakeKube): string[] {
  const kinds = ["secrets", "configmaps", "operatingsystemconfigs", "serviceaccounts", "roles", "rolebindings"];
  return kinds.flatMap((kind) =>
    kube.all(kind).map(({ metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`)
  );
}

async function cleanUp(kube: FakeKube, of: OsmCase): Promise<void> {
  const { name, namespace } = of.deployment.metadata;
  const deployment = kube.get("machinedeployments", name, namespace);
  const metadata = { ...of.deployment.metadata, ...deployment?.metadata, deletionTimestamp: new Date().toISOString() };
  kube.put("machinedeployments", { ...deployment, metadata });
  await ensurePoolCleanedUp(osmPublisher(kube, of), { name, namespace });
  assert.equal(kube.get("machinedeployments", name, namespace), undefined);
}

/**
 * Returns the objects that remain after the pool's deletion: a token with the pool's label is deleted too, even if
 * another program made it.
 */
function lasting(of: OsmCase, before: string[]): string[] {
  const tokens = of.inputs.filter(({ type }) => type === "bootstrap.kubernetes.io/token");
  return before.filter((entry) => !tokens.some(({ metadata }) => entry.endsWith(`/${metadata.name}`)));
}

const cases = osmCaseNames().map(osmCase);
const isRefused = ({ name }: OsmCase): boolean => name.startsWith("err-") && !differs("two-tokens-of-one-label", name);
const published = cases.filter((one) => !one.name.startsWith("err-") && !isRefused(one));

for (const one of published) {
  Deno.test(`publishConfig: writes the objects that Operating System Manager wrote for ${one.name}; the deletion of the pool removes all of them`, async () => {
    const kube = osmKube(one);
    const before = inventory(kube);
    await publish(kube, one);
    compareObjects(kube, one);
    compareKubeconfig(kube, one);
    const script = correctedEdgeScript(one);
    const name = `edge-provider-script-${one.deployment.metadata.name}-${one.deployment.metadata.namespace}`;
    const found = kube.get("secrets", name, "cloud-init-settings");
    assert.equal(found && textOf(found, "fetch-bootstrap-script"), script);
    await cleanUp(kube, one);
    assert.deepEqual(inventory(kube), lasting(one, before));
    const left = recordedOf(secondInput(one) ?? one).afterDelete?.leftBehind ?? [];
    assert.equal(left.length > 0, differs("nothing-left-behind", one.name));
  });
}

for (const one of published) {
  const second = secondInput(one);
  if (!second) continue;
  Deno.test(`publishConfig: updates the objects of ${one.name} in place when the input changes`, async () => {
    const kube = osmKube(one);
    const first = await publish(kube, one);
    kube.writes.length = 0;
    putInput(kube, second);
    const digest = await publish(kube, second);
    compareObjects(kube, second);
    compareKubeconfig(kube, second);
    assert.deepEqual(kube.writes.filter((write) => /^delete/.test(write)), []);
    if (!one.name.startsWith("rot-none-")) return;
    const difference = one.name === "rot-none-osp"
      ? "changed-profile-without-version"
      : "changed-template-without-revision";
    assert.equal(digest !== first, differs(difference, one.name));
  });
}

Deno.test("publishConfig: publishes err-two-tokens, although two bootstrap tokens have the label of its pool", async () => {
  const one = osmCase("err-two-tokens");
  const kube = osmKube(one);
  const before = inventory(kube);
  await publish(kube, one);
  const kubeconfig = kube.get("secrets", "kube-system-err-two-tokens-kubelet-bootstrap-config", "cloud-init-settings");
  const [, id] = /token: (\w{6})\./.exec(textOf(kubeconfig, "kubeconfig")) ?? [];
  assert.ok(kube.get("secrets", `bootstrap-token-${id}`, "kube-system"));
  await cleanUp(kube, one);
  assert.deepEqual(inventory(kube), lasting(one, before));
});

for (const one of cases.filter(isRefused)) {
  Deno.test(`publishConfig: refuses ${one.name} before it has written anything`, async () => {
    const kube = osmKube(one);
    await assert.rejects(publish(kube, one), (error: Error & { nonRetryable?: boolean }) => {
      assert.equal(error.nonRetryable, true, String(error));
      assert.match(error.message, /^(Cannot|Failed to|Invalid|Unsupported) /);
      return true;
    });
    assert.deepEqual(kube.writes, []);
  });
}

Deno.test("differences: every case that differences.yaml names is recorded", () => {
  const names = osmCaseNames();
  assert.deepEqual(differingCases().filter((name) => !names.includes(name)), []);
});
