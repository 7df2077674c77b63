import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { renderConfig } from "../../../support/rendered.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { Publication } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer } from "../../../support/fake_kube.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, pool, revisionKey } from "../../../support/machine_objects.ts";
import { makeDue, publisher, publishingKube, putProfile, textOf } from "../../../support/publishing_kube.ts";

const secrets = [
  "pool-fleet-provisioning-config",
  "fleet-pool-kubelet-bootstrap-config",
  "pool-fleet-bootstrap-config",
];

Deno.test.afterAll(() => closeTemplateEngines());

async function publish(kube: FakeKube, revision: string): Promise<Publication> {
  const { configDigest } = await renderConfig(publisher(kube), pool);
  return await publishConfig(publisher(kube), { pool, revision, configDigest });
}

/** A pool at revision 2 whose published revision 1 has due credentials. */
async function duePool(): Promise<FakeKube> {
  const kube = await publishingKube();
  putProfile(kube, { templating: "go", bootstrap: "{{ .Token }}", provisioning: "revision one" });
  await publish(kube, "1");
  for (const name of secrets) makeDue(kube, name);
  change(kube, "2");
  kube.writes.length = 0;
  return kube;
}

function change(kube: FakeKube, revision: string): void {
  const { metadata } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const changed = machineDeployment({ annotations: { [revisionKey]: revision } });
  const kept = { resourceVersion: "", finalizers: metadata.finalizers ?? [] };
  kube.put("machinedeployments", { ...changed, metadata: { ...changed.metadata, ...kept } });
  putProfile(kube, { templating: "go", bootstrap: "{{ .Token }}", provisioning: `of revision ${revision}` });
}

function tokens(kube: FakeKube): string[] {
  return kube.all("secrets").map(({ metadata }) => metadata.name).filter((name) => name.startsWith("bootstrap-token-"));
}

function revisions(kube: FakeKube): string[] {
  const config = kube.get("operatingsystemconfigs", "pool-fleet-config", "kube-system");
  const found = [config, ...secrets.map((name) => kube.get("secrets", name, "cloud-init-settings"))];
  return found.map((object) => object?.metadata.annotations?.["k8c.io/machine-deployment-revision"] ?? "");
}

/**
 * Publishes revision 2; before the nth request of that publication, revision 3 becomes desired and is published
 * completely.
 */
async function overtaken(kube: FakeKube, nth: number): Promise<{ isOver: boolean }> {
  const { configDigest } = await renderConfig(publisher(kube), pool);
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  let requests = 0;
  kube.onRequest = async () => {
    if (requests++ !== nth) return;
    reach();
    await resumed;
  };
  const late = publishConfig(publisher(kube), { pool, revision: "2", configDigest }).catch((error: Error) => error);
  const first = await Promise.race([reached, late]);
  if (first !== undefined) return { isOver: true };
  change(kube, "3");
  await publish(kube, "3");
  resume();
  await late;
  return { isOver: false };
}

Deno.test("publishConfig: never overwrites a newer publication, whichever of its own requests the newer publication precedes", async () => {
  for (let nth = 0;; nth++) {
    const kube = await duePool();
    const { isOver } = await overtaken(kube, nth);
    if (isOver) {
      ok(nth > 15, `only ${nth} requests`);
      break;
    }
    deepEqual(revisions(kube), ["3", "3", "3", "3"], `Interrupted at request ${nth}`);
    equal(textOf(kube, secrets[0] ?? "").includes("of revision 3"), true);
    const id = /token: (\w{6})\./.exec(textOf(kube, secrets[1] ?? ""))?.[1];
    ok(tokens(kube).includes(`bootstrap-token-${id}`));
    equal(tokens(kube).length, 2, `Tokens after an interruption at request ${nth}`);
  }
});

Deno.test("publishConfig: makes only one new bootstrap token, however often and wherever it fails", async () => {
  const kube = await duePool();
  const places = ["token serviceaccounts", "create secrets kube-system", "replace operatingsystemconfigs"];
  for (const place of [...places, ...secrets.map((name) => `replace secrets cloud-init-settings/${name}`)]) {
    kube.onRequest = (request) => {
      if (request.startsWith(place)) throw answer(503, "ServiceUnavailable");
    };
    for (let nth = 0; nth < 3; nth++) await rejects(publish(kube, "2"), { type: "ApiUnavailable" });
  }
  kube.onRequest = () => {};
  await publish(kube, "2");
  equal(tokens(kube).length, 2);
  deepEqual(revisions(kube), ["2", "2", "2", "2"]);
});

Deno.test("publishConfig: uses the bootstrap token that an earlier attempt made and did not publish, and extends its expiry", async () => {
  const kube = await duePool();
  const [published] = tokens(kube);
  kube.onRequest = (request) => {
    if (request.startsWith("replace operatingsystemconfigs")) throw answer(503, "ServiceUnavailable");
  };
  await rejects(publish(kube, "2"));
  kube.onRequest = () => {};
  const name = tokens(kube).find((token) => token !== published) ?? "";
  const token = kube.get("secrets", name, "kube-system");
  kube.put("secrets", { ...token, metadata: { name, ...token?.metadata }, stringData: { expiration: soon() } });
  await publish(kube, "2");
  deepEqual(tokens(kube).toSorted(), [published, name].toSorted());
  const data = kube.get("secrets", name, "kube-system")?.["data"] as Record<string, string>;
  ok(Date.parse(atob(data["expiration"] ?? "")) > Date.now() + 3_500_000);
});

function soon(): string {
  return new Date(Date.now() + 1_000_000).toISOString();
}

Deno.test("publishConfig: stops before its next write when it is cancelled", async () => {
  const kube = await duePool();
  const off = new AbortController();
  kube.onRequest = (request) => {
    if (request.startsWith("replace operatingsystemconfigs")) off.abort();
  };
  await rejects(inActivity(() => publish(kube, "2"), { cancel: off.signal }), { message: "CANCELLED" });
  deepEqual(revisions(kube), ["2", "1", "1", "1"]);
});
