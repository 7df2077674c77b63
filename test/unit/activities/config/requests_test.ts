import { deepEqual, equal } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import type { PublishOrder } from "../../../../activities/config/publication.ts";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, pool, revisionKey } from "../../../support/machine_objects.ts";
import { publisher, publishingKube } from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

type Seen = PublishOrder["seen"];

async function requestsOf(kube: FakeKube, revision: string, seen?: Seen): Promise<string[]> {
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  await publishConfig(publisher(kube), { pool, revision, ...(seen ? { seen } : {}) });
  kube.onRequest = () => {};
  return requests;
}

/** Records on the Rollout what was rendered, as the end of a rollout does. */
async function converge(kube: FakeKube): Promise<{ specHash: string; goodSpecHash: string }> {
  const seen = await readDesired(publisher(kube), pool);
  if (seen.state !== "Present") throw new Error(`Failed to converge: the pool is ${seen.state}`);
  const { specHash, templateHash } = seen.desired;
  kube.put("rollouts", { metadata: { ...pool }, status: { lastGood: { specHash, templateHash } } });
  return { specHash, goodSpecHash: specHash };
}

function tokenId(kube: FakeKube): string {
  const secret = kube.get("secrets", "pool-fleet-bootstrap-config", "cloud-init-settings");
  return secret?.metadata.annotations?.["ostler.dev/bootstrap-token-id"] ?? "";
}

function change(kube: FakeKube, revision: string): void {
  const finalizers = kube.get("machinedeployments", "pool", "fleet")?.metadata.finalizers;
  kube.put(
    "machinedeployments",
    machineDeployment({ annotations: { [revisionKey]: revision }, kubelet: "1.36.1", metadata: { finalizers } }),
  );
}

const rendering = [
  "get machinedeployments fleet/pool",
  "get operatingsystemprofiles kube-system/osp-ubuntu",
  "get rollouts fleet/pool",
  "get configmaps kube-public/cluster-info",
  "get secrets kube-system/ostler-seed",
];
const secrets = ["pool-fleet-provisioning-config", "fleet-pool-kubelet-bootstrap-config", "pool-fleet-bootstrap-config"]
  .map((name) => `secrets cloud-init-settings/${name}`);

Deno.test("publishConfig: a change of a published pool costs one read and one write per object that machines boot from", async () => {
  const kube = await publishingKube();
  await requestsOf(kube, "1");
  await converge(kube);
  change(kube, "2");
  deepEqual(await requestsOf(kube, "2"), [
    "get operatingsystemconfigs kube-system/pool-fleet-config",
    ...secrets.map((name) => `get ${name}`),
    ...rendering,
    "list rolloutpolicies fleet/",
    "get configmaps cloud-init-settings/ostler-boot-pool-fleet",
    "review tokens",
    `get secrets kube-system/bootstrap-token-${tokenId(kube)}`,
    "replace operatingsystemconfigs kube-system/pool-fleet-config",
    ...secrets.map((name) => `replace ${name}`),
  ]);
});

Deno.test("publishConfig: reads the Rollout again only if the desired spec differs from the one that the run has read", async () => {
  const kube = await publishingKube();
  await requestsOf(kube, "1");
  const seen = await converge(kube);
  const rollout = "get rollouts fleet/pool";
  change(kube, "2");
  equal((await requestsOf(kube, "2", seen)).includes(rollout), false);
  change(kube, "3");
  const other = "0123456789abcdef-0123456789abcdef";
  equal((await requestsOf(kube, "3", { ...seen, specHash: other })).includes(rollout), true);
});
