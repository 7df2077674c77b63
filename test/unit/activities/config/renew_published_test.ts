import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { renderConfig } from "../../../support/rendered.ts";
import { renewPublished } from "../../../../activities/config/renew_published.ts";
import { closeTemplateEngines, type NodeSettings } from "../../../../profiles/mod.ts";
import { answer } from "../../../support/fake_kube.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { pool, providerConfig } from "../../../support/machine_objects.ts";
import {
  accountToken,
  canary,
  makeDue,
  publisher,
  publishingKube,
  putProfile,
  textOf,
} from "../../../support/publishing_kube.ts";

const kubeconfig = "fleet-pool-kubelet-bootstrap-config";
const bootstrap = "pool-fleet-bootstrap-config";
const secrets = ["pool-fleet-provisioning-config", kubeconfig, bootstrap];
const oldToken = accountToken(canary);
const newToken = accountToken("the-next-token");

Deno.test.afterAll(() => closeTemplateEngines());

async function publish(kube: FakeKube, settings: Partial<NodeSettings> = {}): Promise<void> {
  const { configDigest } = await renderConfig(publisher(kube, settings), pool);
  await publishConfig(publisher(kube, settings), { pool, revision: "1", configDigest });
}

/** A published pool with due credentials whose profile was deleted. */
async function orphaned(kube: FakeKube, settings: Partial<NodeSettings> = {}): Promise<FakeKube> {
  await publish(kube, settings);
  for (const name of secrets) makeDue(kube, name);
  kube.remove("operatingsystemprofiles", "osp-ubuntu", "kube-system");
  kube.token = { token: newToken, expirationTimestamp: new Date(Date.now() + 3_600_000) };
  kube.writes.length = 0;
  return kube;
}

function configOf(kube: FakeKube): ReturnType<FakeKube["get"]> {
  return kube.get("operatingsystemconfigs", "pool-fleet-config", "kube-system");
}

/** Returns the annotations of all artefacts, except those about credentials. */
function lasting(kube: FakeKube): [string, string][][] {
  const objects = [configOf(kube), ...secrets.map((name) => kube.get("secrets", name, "cloud-init-settings"))];
  return objects.map((object) =>
    Object.entries(object?.metadata.annotations ?? {}).filter(([key]) => !/credentials-|bootstrap-token-id/.test(key))
  );
}

function joinToken(kube: FakeKube): string {
  return /^ {4}token: (.+)$/m.exec(textOf(kube, kubeconfig))?.[1] ?? "";
}

/** Returns the text with its base64 files decoded. */
function plain(text: string): string {
  return text.replaceAll(/[A-Za-z0-9+/]{32,}={0,2}/g, (run) => run.includes("eyJ") ? run : atob(run));
}

Deno.test("renewPublished: replaces only the credentials of a pool whose profile was deleted", async () => {
  const kube = await orphaned(await publishingKube());
  const [spec, stamps, join] = [configOf(kube)?.["spec"], lasting(kube), joinToken(kube)];
  const texts = secrets.map((name) => plain(textOf(kube, name)));
  await rejects(publish(kube), { type: "ProfileMissing" });
  const renewal = await renewPublished(publisher(kube), pool);
  equal(renewal.news, "Renewed");
  ok("renewAt" in renewal && Date.parse(renewal.renewAt) > Date.now());
  const wanted = texts.map((text) => text.replaceAll(oldToken, newToken).replaceAll(join, joinToken(kube)));
  deepEqual(secrets.map((name) => plain(textOf(kube, name))), wanted);
  ok(wanted[2]?.includes(newToken) && !wanted.join().includes(canary));
  notEqual(joinToken(kube), join);
  deepEqual([configOf(kube)?.["spec"], lasting(kube)], [spec, stamps]);
});

Deno.test("renewPublished: replaces each Secret in one update, after the OperatingSystemConfig, and the bootstrap Secret last", async () => {
  const kube = await orphaned(await publishingKube());
  await renewPublished(publisher(kube), pool);
  deepEqual(kube.writes.filter((write) => /operatingsystemconfigs|-config$/.test(write)), [
    "patch operatingsystemconfigs kube-system/pool-fleet-config",
    ...secrets.map((name) => `replace secrets cloud-init-settings/${name}`),
  ]);
});

Deno.test("renewPublished: writes the same as publishConfig would write with the profile", async () => {
  const kube = await publishingKube();
  const profile = { templating: "go" as const, bootstrap: "{{ .Token }}", provisioning: "{{ .BootstrapKubeconfig }}" };
  putProfile(kube, profile);
  await orphaned(kube);
  await renewPublished(publisher(kube), pool);
  const renewed = secrets.map((name) => textOf(kube, name));
  putProfile(kube, profile);
  equal((await renewPublished(publisher(kube), pool)).news, "None");
  kube.writes.length = 0;
  await publish(kube);
  deepEqual(kube.writes.filter((write) => write.startsWith("replace")), []);
  deepEqual(secrets.map((name) => textOf(kube, name)), renewed);
  ok(renewed[0]?.includes(joinToken(kube)) && renewed[2]?.includes(newToken));
});

Deno.test("renewPublished: does nothing before credentials are due, and restores a deleted token", async () => {
  const kube = await publishingKube();
  await publish(kube);
  kube.remove("operatingsystemprofiles", "osp-ubuntu", "kube-system");
  kube.writes.length = 0;
  equal((await renewPublished(publisher(kube), pool)).news, "None");
  deepEqual(kube.writes, []);
  const id = joinToken(kube).split(".")[0];
  kube.remove("secrets", `bootstrap-token-${id}`, "kube-system");
  equal((await renewPublished(publisher(kube), pool)).news, "Renewed");
  notEqual(kube.get("secrets", `bootstrap-token-${joinToken(kube).split(".")[0]}`, "kube-system"), undefined);
});

Deno.test("renewPublished: finishes an interrupted renewal with the token that it made", async () => {
  const kube = await orphaned(await publishingKube());
  kube.onRequest = (request) => {
    if (request === `replace secrets cloud-init-settings/${bootstrap}`) throw answer(503, "ServiceUnavailable");
  };
  await rejects(renewPublished(publisher(kube), pool), { type: "ApiUnavailable" });
  const join = joinToken(kube);
  kube.onRequest = () => {};
  equal((await renewPublished(publisher(kube), pool)).news, "Renewed");
  equal(joinToken(kube), join);
  ok(plain(textOf(kube, bootstrap)).includes(newToken));
});

Deno.test("renewPublished: writes nothing over a newer publication", async () => {
  const kube = await orphaned(await publishingKube());
  const before = textOf(kube, bootstrap);
  kube.onRequest = (request) => {
    if (!request.startsWith("token ")) return;
    kube.put("operatingsystemconfigs", {
      ...configOf(kube),
      metadata: { name: "pool-fleet-config", ...configOf(kube)?.metadata },
    });
  };
  await rejects(renewPublished(publisher(kube), pool), { type: "ApiUnavailable" });
  equal(textOf(kube, bootstrap), before);
});

Deno.test("renewPublished: replaces the token of a service account that machines join with", async () => {
  const kube = await publishingKube();
  const settings = { bootstrapTokenServiceAccountName: "kube-system/boot" };
  kube.put("serviceaccounts", { metadata: { namespace: "kube-system", name: "boot" } });
  kube.onRequest = (request) => {
    const isJoining = request === "token serviceaccounts kube-system/boot";
    if (!request.startsWith("token ") || !kube.token) return;
    const mark = kube.token.token === oldToken ? "one" : "two";
    kube.token = {
      ...kube.token,
      token: isJoining ? accountToken(`join-${mark}`, "kube-system:boot") : kube.token.token,
    };
  };
  await orphaned(kube, settings);
  const before = joinToken(kube);
  await renewPublished(publisher(kube, settings), pool);
  ok(before.endsWith("join-one") && joinToken(kube).endsWith("join-two"), joinToken(kube));
});

Deno.test("renewPublished: renews the script of an edge machine too", async () => {
  const script = "edge-provider-script-pool-fleet";
  const kube = await publishingKube({ value: { ...providerConfig(), cloudProvider: "edge", cloudProviderSpec: {} } });
  putProfile(kube, { providers: ["edge"], bootstrap: "<%= it.token %>" });
  await orphaned(kube);
  makeDue(kube, script);
  await renewPublished(publisher(kube), pool);
  ok(textOf(kube, script).includes(newToken) && !textOf(kube, script).includes(canary));
  const [rule] = kube.get("roles", "ostler-pool-fleet", "cloud-init-settings")?.["rules"] as {
    resourceNames: string[];
  }[];
  ok(rule?.resourceNames.includes(bootstrap));
});

Deno.test("renewPublished: reports a pool without published artefacts, and makes nothing", async () => {
  const kube = await publishingKube();
  deepEqual(await renewPublished(publisher(kube), pool), { news: "Unpublished" });
  const metadata = { namespace: "cloud-init-settings", name: bootstrap };
  kube.put("secrets", { metadata: { ...metadata, annotations: { "ostler.dev/machine-deployment": "fleet-a/b" } } });
  deepEqual(await renewPublished(publisher(kube), pool), { news: "Unpublished" });
  deepEqual(kube.writes, []);
});

Deno.test("renewPublished: fails for user-data that contains no token that it can replace", async () => {
  const kube = await publishingKube();
  putProfile(kube, { bootstrap: "<%= it.token.split('').join(' ') %>" });
  await orphaned(kube);
  await rejects(renewPublished(publisher(kube), pool), {
    type: "CredentialsMissing",
    message: /contains no token that Ostler can replace/,
  });
});

Deno.test("renewPublished: makes nothing for a pool that is being deleted", async () => {
  const kube = await orphaned(await publishingKube());
  const deployment = kube.get("machinedeployments", "pool", "fleet");
  const metadata = { name: "pool", ...deployment?.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
  kube.put("machinedeployments", { ...deployment, metadata });
  await rejects(renewPublished(publisher(kube), pool), { type: "GenerationStale" });
  deepEqual(kube.writes, []);
});

/**
 * Adds ServiceAccounts whose tokens machines can join with, and makes the API server mark each issued token with the
 * name of its account.
 */
function joiningBy(kube: FakeKube, ...names: string[]): void {
  for (const name of names) kube.put("serviceaccounts", { metadata: { namespace: "kube-system", name } });
  kube.onRequest = (request) => {
    const [, account = ""] = /^token serviceaccounts kube-system\/(.*)$/.exec(request) ?? [];
    if (!request.startsWith("token ") || !kube.token) return;
    const mark = account ? `joins-${account}` : "fetches";
    kube.token = { ...kube.token, token: accountToken(mark, account ? `kube-system:${account}` : undefined) };
  };
}

Deno.test("renewPublished: follows a change of the ServiceAccount whose token machines join with, and a return to bootstrap tokens", async () => {
  const kube = await publishingKube();
  putProfile(kube, { templating: "go", bootstrap: "{{ .Token }}", provisioning: "{{ .BootstrapKubeconfig }}" });
  joiningBy(kube, "old", "new");
  await orphaned(kube, { bootstrapTokenServiceAccountName: "kube-system/old" });
  ok(joinToken(kube).endsWith("joins-old"), joinToken(kube));
  for (
    const [name, end] of [["kube-system/new", /joins-new$/], ["", /^[a-z0-9]{6}\.[a-z0-9]{16}$/], [
      "kube-system/old",
      /joins-old$/,
    ]] as const
  ) {
    for (const secret of secrets) makeDue(kube, secret);
    equal((await renewPublished(publisher(kube, { bootstrapTokenServiceAccountName: name }), pool)).news, "Renewed");
    match(joinToken(kube), end);
    ok(plain(textOf(kube, secrets[0] ?? "")).includes(joinToken(kube)), "User-data must have the same token");
  }
});

Deno.test("renewPublished: restores a deleted kubeconfig, also before credentials are due", async () => {
  const kube = await publishingKube();
  await publish(kube);
  const before = [lasting(kube), textOf(kube, kubeconfig).replace(joinToken(kube), "")];
  kube.remove("secrets", kubeconfig, "cloud-init-settings");
  kube.remove("operatingsystemprofiles", "osp-ubuntu", "kube-system");
  equal((await renewPublished(publisher(kube), pool)).news, "Renewed");
  const id = joinToken(kube).split(".")[0];
  notEqual(kube.get("secrets", `bootstrap-token-${id}`, "kube-system"), undefined);
  const after = lasting(kube).map((annotations) =>
    annotations.filter(([key]) => !/mdannotations|osp-version/.test(key))
  );
  deepEqual(
    [after.map((each) => each.sort()), textOf(kube, kubeconfig).replace(joinToken(kube), "")],
    [
      (before[0] as [string, string][][]).map((each) =>
        each.filter(([key]) => !/mdannotations|osp-version/.test(key)).sort()
      ),
      before[1],
    ],
  );
  equal((await renewPublished(publisher(kube), pool)).news, "None");
});

Deno.test("renewPublished: renews what it can, and reports what only a publication restores", async () => {
  const kube = await orphaned(await publishingKube());
  kube.remove("secrets", secrets[0] ?? "", "cloud-init-settings");
  const gone = {
    type: "CredentialsMissing",
    message: /in Secret "pool-fleet-provisioning-config": the Secret is missing/,
  };
  await rejects(renewPublished(publisher(kube), pool), gone);
  ok(plain(textOf(kube, bootstrap)).includes(newToken));
  kube.writes.length = 0;
  await rejects(renewPublished(publisher(kube), pool), gone);
  deepEqual(kube.writes, []);
});

Deno.test("renewPublished: renews a token that the API server refuses", async () => {
  const kube = await publishingKube();
  await publish(kube);
  kube.token = { token: newToken, expirationTimestamp: new Date(Date.now() + 3_600_000) };
  kube.isDistrusted = (token) => token === oldToken;
  equal((await renewPublished(publisher(kube), pool)).news, "Renewed");
  ok(plain(textOf(kube, bootstrap)).includes(newToken));
});
