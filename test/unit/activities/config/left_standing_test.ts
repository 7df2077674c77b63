/** A process that remembers its previous publication writes only if that publication is unchanged. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { publishConfig, type Publisher } from "../../../../activities/config/publish_config.ts";
import { findDesired } from "../../../../activities/pool/read_desired.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { Published } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, pool, revisionKey } from "../../../support/machine_objects.ts";
import { publisher, publishingKube, putProfile, textOf } from "../../../support/publishing_kube.ts";

const provisioning = "pool-fleet-provisioning-config";
const secrets = [provisioning, "fleet-pool-kubelet-bootstrap-config", "pool-fleet-bootstrap-config"];
const ownReads = ["get machinedeployments", "get operatingsystemprofiles", "get operatingsystemconfigs"];

Deno.test.afterAll(() => closeTemplateEngines());

interface Process {
  kube: FakeKube;
  deps: Publisher;
}

/** Reads the desired state and publishes it; `between` happens between the two. */
async function roll(
  { kube, deps }: Process,
  revision: string,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<Published> {
  const { seen, source } = await inActivity(() => findDesired(deps, pool));
  if (seen.state !== "Present") throw new Error(`Failed to roll: the pool is ${seen.state}`);
  const { specHash } = seen.desired;
  kube.put("rollouts", { metadata: { ...pool }, status: { lastGood: { specHash, templateHash: "t" } } });
  await between();
  const order = { pool, revision, seen: { specHash, goodSpecHash: specHash } };
  return await inActivity(() => publishConfig(deps, order, source));
}

/** Returns two processes: `own` has published revision 1, `other` has published nothing. Revision 2 is desired. */
async function processes(): Promise<{ kube: FakeKube; own: Process; other: Process }> {
  const kube = await publishingKube();
  const [own, other] = [{ kube, deps: publisher(kube) }, { kube, deps: publisher(kube) }];
  change(kube, "1");
  await roll(own, "1");
  change(kube, "2");
  return { kube, own, other };
}

function change(kube: FakeKube, revision: string): void {
  const { metadata } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const changed = machineDeployment({ annotations: { [revisionKey]: revision } });
  const kept = { finalizers: metadata.finalizers ?? [] };
  kube.put("machinedeployments", { ...changed, metadata: { ...changed.metadata, ...kept } });
  putProfile(kube, { templating: "go", bootstrap: "{{ .Token }}", provisioning: `of revision ${revision}` });
}

function revisions(kube: FakeKube): string[] {
  const config = kube.get("operatingsystemconfigs", "pool-fleet-config", "kube-system");
  const found = [config, ...secrets.map((name) => kube.get("secrets", name, "cloud-init-settings"))];
  return found.map((object) => object?.metadata.annotations?.["k8c.io/machine-deployment-revision"] ?? "");
}

async function requestsOf(kube: FakeKube, work: () => Promise<unknown>): Promise<string[]> {
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  await work();
  kube.onRequest = () => {};
  return requests;
}

Deno.test("publishConfig: reads neither the objects of its own previous publication, nor objects that its run has just read", async () => {
  const { kube, own } = await processes();
  const requests: string[] = [];
  await roll(own, "2", () => {
    kube.onRequest = (request) => void requests.push(request);
    return Promise.resolve();
  });
  const reads = requests.filter((each) => each.startsWith("get ")).map((each) => each.replace(/-token-\w+$/, ""));
  deepEqual(reads, [
    "get secrets cloud-init-settings/pool-fleet-bootstrap-config",
    "get configmaps kube-public/cluster-info",
    "get configmaps cloud-init-settings/ostler-boot-pool-fleet",
    "get secrets kube-system/bootstrap",
  ]);
  deepEqual(revisions(kube), ["2", "2", "2", "2"]);
  match(textOf(kube, provisioning), /of revision 2/);
});

Deno.test("publishConfig: reads everything after a publication of another process", async () => {
  const { kube, own, other } = await processes();
  await roll(other, "2");
  change(kube, "3");
  const requests = await requestsOf(kube, () => roll(own, "3"));
  for (const read of ownReads.slice(2)) ok(requests.some((each) => each.startsWith(read)), read);
  deepEqual(revisions(kube), ["3", "3", "3", "3"]);
});

Deno.test("publishConfig: reads all its Secrets, and restores a deleted Secret, when nothing new is desired", async () => {
  const { kube, own } = await processes();
  await roll(own, "2");
  for (const name of secrets) {
    kube.remove("secrets", name, "cloud-init-settings");
    await roll(own, "2");
    deepEqual(revisions(kube), ["2", "2", "2", "2"], name);
  }
});

for (const name of [...secrets, "pool-fleet-config"]) {
  Deno.test(`publishConfig: publishes at its second attempt at the latest when ${name} was deleted`, async () => {
    const { kube, own } = await processes();
    if (name === "pool-fleet-config") kube.remove("operatingsystemconfigs", name, "kube-system");
    else kube.remove("secrets", name, "cloud-init-settings");
    await roll(own, "2").catch(() => roll(own, "2"));
    deepEqual(revisions(kube), ["2", "2", "2", "2"]);
  });

  Deno.test(`publishConfig: overwrites nothing when ${name} belongs to another pool now`, async () => {
    const { kube, own } = await processes();
    const plural = name === "pool-fleet-config" ? "operatingsystemconfigs" : "secrets";
    const namespace = plural === "secrets" ? "cloud-init-settings" : "kube-system";
    const annotations = { "ostler.dev/machine-deployment": "fleet-a/b" };
    kube.put(plural, { metadata: { namespace, name, annotations }, spec: {} });
    await rejects(roll(own, "2"));
    await rejects(roll(own, "2"), { type: "NameCollision" });
    equal(kube.get(plural, name, namespace)?.metadata.annotations?.["ostler.dev/machine-deployment"], "fleet-a/b");
  });
}

type Overtaker = "own" | "other";

/**
 * Publishes revision 2; before the nth request of that publication, revision 3 becomes desired and is published
 * completely.
 */
async function overtaken(by: Overtaker, nth: number): Promise<FakeKube | undefined> {
  const scene = await processes();
  const { kube, own } = scene;
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  let requests = 0;
  const late = roll(own, "2", () => {
    kube.onRequest = async () => {
      if (requests++ !== nth) return;
      reach();
      await resumed;
    };
    return Promise.resolve();
  }).catch((error: Error) => error);
  if (await Promise.race([reached, late]) !== undefined) return undefined;
  change(kube, "3");
  await roll(scene[by], "3");
  resume();
  await late;
  return kube;
}

for (const by of ["own", "other"] as const) {
  Deno.test(`publishConfig: process "own" writes nothing over a newer publication that process "${by}" made meanwhile`, async () => {
    for (let nth = 0;; nth++) {
      const kube = await overtaken(by, nth);
      if (!kube) return ok(nth > 8, `only ${nth} requests`);
      deepEqual(revisions(kube), ["3", "3", "3", "3"], `Interrupted at request ${nth}`);
      match(textOf(kube, provisioning), /of revision 3/);
    }
  });

  Deno.test(`publishConfig: process "own" does not rely on a read that is older than a publication that process "${by}" made meanwhile`, async () => {
    const scene = await processes();
    const late = roll(scene.own, "2", async () => {
      change(scene.kube, "3");
      await roll(scene[by], "3");
    });
    await rejects(late, { type: "GenerationStale" });
    deepEqual(revisions(scene.kube), ["3", "3", "3", "3"]);
    // Revision 3 is desired again but has another profile, which its number alone does not show.
    const again = roll(scene.own, "3", async () => {
      putProfile(scene.kube, { templating: "go", bootstrap: "{{ .Token }}", provisioning: "newer" });
      putRevision(scene.kube, "4");
      await roll(scene[by], "4");
      putRevision(scene.kube, "3");
    });
    await again;
    match(textOf(scene.kube, provisioning), /newer/);
  });
}

/** Sets the revision of the MachineDeployment, and changes nothing else. */
function putRevision(kube: FakeKube, revision: string): void {
  const deployment = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const { metadata } = deployment;
  const annotations = { ...metadata.annotations, [revisionKey]: revision };
  kube.put("machinedeployments", { ...deployment, metadata: { ...metadata, annotations } });
}
