/**
 * A pool without Ostler's finalizer is published without a read of its artefacts; if artefacts exist nevertheless, they
 * are not overwritten.
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { findDesired } from "../../../../activities/pool/read_desired.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { Published } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, pool, revisionKey } from "../../../support/machine_objects.ts";
import { publisher, publishingKube, putProfile, textOf } from "../../../support/publishing_kube.ts";

const provisioning = "pool-fleet-provisioning-config";
const kubeconfig = "fleet-pool-kubelet-bootstrap-config";
const bootstrap = "pool-fleet-bootstrap-config";
const secrets = [provisioning, kubeconfig, bootstrap];
const owner = "ostler.dev/machine-deployment";
const theirs = { [owner]: "fleet-a/b" };

Deno.test.afterAll(() => closeTemplateEngines());

/** Reads the desired state and publishes it, in a process of its own; `between` happens between the two. */
async function roll(kube: FakeKube, revision = "1", between: () => unknown = () => {}): Promise<Published> {
  const deps = publisher(kube);
  const { seen, source } = await inActivity(() => findDesired(deps, pool));
  if (seen.state !== "Present") throw new Error(`Failed to roll: the pool is ${seen.state}`);
  await between();
  const order = { pool, revision, seen: { specHash: seen.desired.specHash, goodSpecHash: "" } };
  return await inActivity(() => publishConfig(deps, order, source));
}

async function newPool(): Promise<FakeKube> {
  const kube = await publishingKube();
  change(kube, "1");
  return kube;
}

function change(kube: FakeKube, revision: string): void {
  const finalizers = kube.get("machinedeployments", "pool", "fleet")?.metadata.finalizers ?? [];
  const changed = machineDeployment({ annotations: { [revisionKey]: revision }, metadata: { finalizers } });
  kube.put("machinedeployments", changed);
  putProfile(kube, { bootstrap: "<%= it.token %>", provisioning: `of revision ${revision}` });
}

function revisions(kube: FakeKube): string[] {
  const config = kube.get("operatingsystemconfigs", "pool-fleet-config", "kube-system");
  const found = [config, ...secrets.map((name) => kube.get("secrets", name, "cloud-init-settings"))];
  return found.map((object) => object?.metadata.annotations?.["k8c.io/machine-deployment-revision"] ?? "");
}

/** Returns the names of all objects whose annotation names the pool as owner. */
function made(kube: FakeKube): string[] {
  const kinds = ["secrets", "operatingsystemconfigs", "serviceaccounts", "roles", "rolebindings"];
  const own = kinds.flatMap((kind) => kube.all(kind)).filter(({ metadata }) =>
    metadata.annotations?.[owner] === "fleet/pool"
  );
  return own.map(({ metadata }) => metadata.name);
}

Deno.test("publishConfig: reads no artefact of a new pool, and not the Secret that keeps the pool's profile", async () => {
  const kube = await newPool();
  const requests: string[] = [];
  await roll(kube, "1", () => kube.onRequest = (request) => void requests.push(request));
  const reads = requests.filter((each) => /^(get|list) /.test(each) && !/cluster-info|seed|boot-pool/.test(each));
  deepEqual(reads, []);
  deepEqual(revisions(kube), ["1", "1", "1", "1"]);
});

for (const what of ["deleted", "replaced"]) {
  Deno.test(`publishConfig: makes nothing for a new pool whose MachineDeployment is ${what} between the read and the publication`, async () => {
    const kube = await newPool();
    const { spec, metadata } = machineDeployment({ annotations: { [revisionKey]: "1" } });
    const between = (): void => {
      kube.remove("machinedeployments", "pool", "fleet");
      if (what === "replaced") kube.put("machinedeployments", { spec, metadata: { ...metadata, uid: "another" } });
    };
    await rejects(roll(kube, "1", between), { type: "GenerationStale", nonRetryable: true });
    deepEqual(made(kube), []);
    deepEqual(kube.get("machinedeployments", "pool", "fleet")?.metadata.finalizers ?? [], []);
  });
}

const taken = [
  ["serviceaccounts", "ostler-pool-fleet"],
  ["operatingsystemconfigs", "pool-fleet-config"],
  ...secrets.map((name) => ["secrets", name]),
] as [string, string][];

for (const [plural, name] of taken) {
  Deno.test(`publishConfig: leaves nothing of a new pool when ${name} belongs to another pool`, async () => {
    const kube = await newPool();
    const namespace = plural === "operatingsystemconfigs" ? "kube-system" : "cloud-init-settings";
    kube.put(plural, { metadata: { namespace, name, annotations: theirs }, spec: {}, data: { key: "dGhlaXJz" } });
    const before = kube.get(plural, name, namespace);
    for (let nth = 0; nth < 2; nth++) await rejects(roll(kube), { type: "NameCollision", nonRetryable: true });
    deepEqual(made(kube), []);
    deepEqual(kube.get(plural, name, namespace), before);
  });

  Deno.test(`publishConfig: overwrites nothing when another pool takes ${name} meanwhile`, async () => {
    const kube = await newPool();
    const namespace = plural === "operatingsystemconfigs" ? "kube-system" : "cloud-init-settings";
    kube.onRequest = (request) => {
      if (request !== `create ${plural} ${namespace}/${name}`) return;
      kube.put(plural, { metadata: { namespace, name, annotations: theirs }, spec: {} });
    };
    await rejects(roll(kube), { type: "NameCollision" });
    kube.onRequest = () => {};
    deepEqual(made(kube), []);
    equal(kube.get(plural, name, namespace)?.metadata.annotations?.[owner], "fleet-a/b");
  });
}

Deno.test("publishConfig: takes over, at its second attempt, artefacts of a MachineDeployment without a finalizer", async () => {
  const kube = await newPool();
  for (const name of secrets) {
    const metadata = { namespace: "cloud-init-settings", name };
    kube.put("secrets", { metadata, immutable: true, data: { "cloud-config": "b2xk" } });
  }
  await rejects(roll(kube), { type: "ApiUnavailable", nonRetryable: false });
  await roll(kube);
  deepEqual(revisions(kube), ["1", "1", "1", "1"]);
});

/**
 * Publishes revision 1; before the nth request of that publication, revision 2 becomes desired and is published
 * completely.
 */
async function overtaken(nth: number): Promise<FakeKube | undefined> {
  const kube = await newPool();
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  let requests = 0;
  const holdUp = (): void => {
    kube.onRequest = async () => {
      if (requests++ !== nth) return;
      reach();
      await resumed;
    };
  };
  const late = roll(kube, "1", holdUp).catch((error: Error) => error);
  const first = await Promise.race([reached, late]);
  if (first !== undefined) return undefined;
  change(kube, "2");
  await roll(kube, "2").catch(() => roll(kube, "2"));
  resume();
  await late;
  return kube;
}

Deno.test("publishConfig: never overwrites a newer publication of a new pool, whichever of its own requests the newer publication precedes", async () => {
  for (let nth = 0;; nth++) {
    const kube = await overtaken(nth);
    if (!kube) return ok(nth >= 13, `only ${nth} requests`);
    deepEqual(revisions(kube), ["2", "2", "2", "2"], `Interrupted at request ${nth}`);
    equal(textOf(kube, provisioning).includes("of revision 2"), true, `Interrupted at request ${nth}`);
    const id = /token: (\w{6})\./.exec(textOf(kube, kubeconfig))?.[1];
    ok(kube.get("secrets", `bootstrap-token-${id}`, "kube-system"), `Interrupted at request ${nth}`);
  }
});

Deno.test("publishConfig: two concurrent processes publish a new pool with only one bootstrap token", async () => {
  const kube = await newPool();
  const both = await Promise.allSettled([roll(kube), roll(kube)]);
  ok(both.some(({ status }) => status === "fulfilled"));
  equal((await roll(kube)).news, "None");
  deepEqual(revisions(kube), ["1", "1", "1", "1"]);
  equal(made(kube).filter((name) => name.startsWith("bootstrap-token-")).length, 1);
});

Deno.test("publishConfig: waits for all writes in progress when one of them fails", async () => {
  const kube = await newPool();
  let under = 0;
  kube.onRequest = async (request) => {
    under += 1;
    await new Promise((resolve) => setTimeout(resolve, request.includes("rolebindings") ? 20 : 0));
    under -= 1;
    if (request.startsWith("create roles")) throw new Error("fetch failed");
  };
  await rejects(roll(kube));
  equal(under, 0);
});
