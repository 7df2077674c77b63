/** Published tokens are used again only as long as the API server accepts them. */
import { equal, ok } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import { answer } from "../../../support/fake_kube.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { clusterInfo, machineDeployment, pool, revisionKey } from "../../../support/machine_objects.ts";
import {
  accountToken,
  canary,
  publisher,
  publishingKube,
  putProfile,
  textOf,
} from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

const [oldToken, newToken] = [accountToken(canary), accountToken("the-next-token")];
const identity = { namespace: "cloud-init-settings", name: "ostler-pool-fleet" };

async function publish(kube: FakeKube, revision: string): Promise<string> {
  const finalizers = kube.get("machinedeployments", "pool", "fleet")?.metadata.finalizers;
  kube.put(
    "machinedeployments",
    machineDeployment({ annotations: { [revisionKey]: revision }, metadata: { finalizers } }),
  );
  return (await publishConfig(publisher(kube), { pool, revision })).news;
}

/** Returns a published pool; from now on the API server issues another token. */
async function published(): Promise<FakeKube> {
  const kube = await publishingKube();
  putProfile(kube, { bootstrap: "<%= it.token %>" });
  equal(await publish(kube, "1"), "Published");
  kube.token = { token: newToken, expirationTimestamp: new Date(Date.now() + 3_600_000) };
  return kube;
}

function fetchToken(kube: FakeKube): "old" | "new" | "none" {
  const text = textOf(kube, "pool-fleet-bootstrap-config");
  if (text.includes(oldToken)) return "old";
  return text.includes(newToken) ? "new" : "none";
}

/** Replaces the ServiceAccount of the token by another account with the same name. */
function madeAnew(kube: FakeKube): void {
  const account = kube.get("serviceaccounts", identity.name, identity.namespace);
  kube.put("serviceaccounts", { ...account, metadata: { ...account?.metadata, ...identity, uid: "another" } });
}

function deleted(kube: FakeKube): void {
  kube.remove("serviceaccounts", identity.name, identity.namespace);
}

function signedByAnother(kube: FakeKube): void {
  kube.isDistrusted = (token) => token === oldToken;
}

function moved(kube: FakeKube): void {
  kube.put("configmaps", clusterInfo("https://elsewhere:6443"));
}

/** Forbids the creation of TokenReviews, as for a worker with the permissions of an earlier release. */
function withoutReviews(kube: FakeKube): void {
  kube.onRequest = (request) => {
    if (request === "review tokens") throw answer(403, "Forbidden");
  };
}

for (const change of [madeAnew, deleted, signedByAnother, moved]) {
  Deno.test(`publishConfig: replaces a token after a change of its account or cluster (${change.name}), at the next revision and at the same revision`, async () => {
    for (const [revision, news] of [["2", "Published"], ["1", "Renewed"]] as const) {
      const kube = await published();
      change(kube);
      const outcome = await publish(kube, revision);
      equal(outcome, change === moved ? "Published" : news);
      equal(fetchToken(kube), "new");
      ok(kube.get("serviceaccounts", identity.name, identity.namespace));
    }
  });
}

for (const change of [madeAnew, deleted]) {
  Deno.test(`publishConfig: detects that the account of a token is ${change.name}, also when TokenReviews are unavailable`, async () => {
    const kube = await published();
    withoutReviews(kube);
    change(kube);
    equal(await publish(kube, "2"), "Published");
    equal(fetchToken(kube), "new");
  });
}

Deno.test("publishConfig: keeps a token when it is forbidden to create TokenReviews and to read ServiceAccounts", async () => {
  const kube = await published();
  kube.onRequest = (request) => {
    if (request === "review tokens" || request.startsWith("get serviceaccounts")) throw answer(403, "Forbidden");
  };
  equal(await publish(kube, "2"), "Published");
  equal(fetchToken(kube), "old");
});
