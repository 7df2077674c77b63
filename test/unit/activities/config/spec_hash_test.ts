import { equal, notEqual } from "node:assert/strict";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import type { Desired } from "../../../../workflows/contracts/mod.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { machineSet, pool, putPool, revisionKey } from "../../../support/machine_objects.ts";
import type { DeploymentOverrides } from "../../../support/machine_objects.ts";

const maxPods = "v1.kubelet-config.machine-controller.kubermatic.io/MaxPods";

function kubeWith(overrides: DeploymentOverrides = {}, file = "good"): FakeKube {
  const kube = new FakeKube();
  putPool(kube, overrides);
  putProfile(kube, file);
  return kube;
}

function putProfile(kube: FakeKube, file: string, generation = 1): void {
  const metadata = { namespace: "kube-system", name: "osp-ubuntu", generation };
  kube.put("operatingsystemprofiles", { metadata, spec: { file, osName: "ubuntu" } });
}

async function desiredOf(kube: FakeKube): Promise<Desired> {
  const seen = await readDesired({ kube: kube.client, profileNamespace: "kube-system" }, pool);
  if (seen.state !== "Present") throw new Error(`Failed to read the desired state: the pool is ${seen.state}`);
  return seen.desired;
}

async function hashOf(kube: FakeKube): Promise<string> {
  return (await desiredOf(kube)).specHash;
}

Deno.test("specHash: changes with template, setting, profile or parent", async () => {
  const before = await hashOf(kubeWith());
  const another = new FakeKube();
  putPool(another, { annotations: { [revisionKey]: "2" } });
  putProfile(another, "good");
  another.put("machinesets", machineSet("2", "hash-2"));
  notEqual(await hashOf(another), before);
  notEqual(await hashOf(kubeWith({ annotations: { [maxPods]: "50" } })), before);
  notEqual(await hashOf(kubeWith({}, "bad")), before);
  const child = kubeWith();
  const extending = { osName: "ubuntu", extends: { name: "base" } };
  child.put("operatingsystemprofiles", { metadata: { namespace: "kube-system", name: "osp-ubuntu" }, spec: extending });
  const base = { namespace: "kube-system", name: "base" };
  child.put("operatingsystemprofiles", { metadata: base, spec: { file: "one" } });
  const first = await hashOf(child);
  child.put("operatingsystemprofiles", { metadata: base, spec: { file: "other" } });
  notEqual(await hashOf(child), first);
});

Deno.test("specHash: is the same when a previous template and profile are applied again, although revision and resource version are new", async () => {
  const kube = kubeWith();
  const before = await desiredOf(kube);
  putPool(kube, { annotations: { [revisionKey]: "3" }, metadata: {} });
  kube.put("machinesets", machineSet("3", "hash-1"));
  putProfile(kube, "good", 9);
  const after = await desiredOf(kube);
  equal(after.specHash, before.specHash);
  notEqual(after.change, before.change);
});

Deno.test("specHash: does not depend on scale, other annotations, or the name of the profile", async () => {
  const before = await hashOf(kubeWith());
  equal(await hashOf(kubeWith({ spec: { replicas: 9 } })), before);
  equal(await hashOf(kubeWith({ annotations: { "example.com/note": "hello" } })), before);
  equal(await hashOf(kubeWith({ annotations: { "k8c.io/operating-system-profile": "" } })), before);
});

Deno.test("specHash: does not use the MachineSet of the previous template when the new template has no revision yet", async () => {
  const settled = await hashOf(kubeWith());
  const metadata = { generation: 2, annotations: { [revisionKey]: "1" } };
  notEqual(await hashOf(kubeWith({ kubelet: "1.36.1", metadata })), settled);
});

type Fields = Record<string, unknown>;

function write(manager: string, time: string, template: Fields | undefined): Fields {
  const spec = { "f:replicas": {}, ...(template ? { "f:template": template } : {}) };
  return { manager, operation: "Update", time, fieldsType: "FieldsV1", fieldsV1: { "f:spec": spec } };
}

async function actorOf(managedFields: unknown): Promise<string> {
  const kube = kubeWith();
  const { metadata, ...rest } = kube.get("machinedeployments", "pool", "fleet") ?? { metadata: { name: "pool" } };
  kube.put("machinedeployments", { ...rest, metadata: { ...metadata, managedFields } as { name: string } });
  return (await desiredOf(kube)).actor;
}

const image = { "f:spec": { "f:providerSpec": {} } };

Deno.test("actor: is the field manager with the newest write to the template", async () => {
  const writes = [
    write("kubectl-create", "2026-01-01T00:00:00Z", image),
    write("argocd", "2026-01-03T00:00:00Z", image),
    write("kubectl-edit", "2026-01-02T00:00:00Z", image),
    write("autoscaler", "2026-01-05T00:00:00Z", undefined),
    // Fields that machine-controller owns after it writes the object back.
    write("machine-controller", "2026-01-06T00:00:00Z", { "f:spec": { "f:metadata": {} } }),
  ];
  equal(await actorOf(writes), "argocd");
  const stamp = { "f:metadata": { "f:annotations": { "f:ostler.dev/config": {} } } };
  equal(await actorOf([...writes, write("ostler", "2026-01-07T00:00:00Z", stamp)]), "ostler");
});

Deno.test("actor: is unknown when the API server does not report managers", async () => {
  for (const fields of [undefined, [], "odd", [write("kubectl", "2026-01-01T00:00:00Z", undefined)]]) {
    equal(await actorOf(fields), "unknown");
  }
});
