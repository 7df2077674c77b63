/**
 * New machines are held by the API server's policy, or without one by the webhook, which manages its own certificate.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { request } from "node:https";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { setTimeout } from "node:timers/promises";
import { waitFor } from "../../deploy/local/process/wait_until.ts";
import type { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { applyManifests } from "../../deploy/local/stack/manifests.ts";
import { type BareApi, type BareOptions, withApi } from "./bare_api.ts";
import { admitted, judge, newcomers, settlePools } from "./newcomers.ts";
import { Replicas } from "./webhook_replicas.ts";

const manifest = (file: string): string => fileURLToPath(new URL(`../../deploy/kubernetes/${file}`, import.meta.url));
const policy = manifest("admission/hold_new_machines.yaml");
const admission = "/apis/admissionregistration.k8s.io/v1";
const registration = `${admission}/mutatingwebhookconfigurations/hold-new-machines.ostler.dev`;
const secretPath = "/api/v1/namespaces/ostler-system/secrets/ostler-webhook-authority";

/**
 * An API server without MutatingAdmissionPolicy: the binary that OSTLER_TEST_OLDER_API_SERVER names, or the default
 * binary that emulates Kubernetes 1.33.
 */
const { OSTLER_TEST_OLDER_API_SERVER: binary } = process.env;
const older: BareOptions = binary ? { binary } : { emulatedVersion: "1.33" };

interface Hold {
  webhooks?: { clientConfig: { caBundle: string } }[];
}

async function holdOf(api: ApiConnection): Promise<Hold> {
  return await api.call({ method: "GET", path: registration }) as Hold;
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  await waitFor(isSo, { what, timeoutMs: 20_000 });
}

const newcomer = newcomers["of another template"]?.[0] ?? {};

async function isHeld(api: ApiConnection): Promise<boolean> {
  return Object.keys(await admitted(api, newcomer)).length > 0;
}

async function holdsAll(t: Deno.TestContext, api: ApiConnection): Promise<void> {
  for (const [name, [newcomer, holder]] of Object.entries(newcomers)) {
    await t.step(`holding: a machine ${name} is ${holder ? "held" : "not held"}`, async () => {
      judge(newcomer, holder, await admitted(api, newcomer));
    });
  }
}

/**
 * Connects to the webhook, and returns the fingerprint of its certificate; rejects unless the CA bundle that the API
 * server has now verifies the certificate.
 */
async function shownNow(api: ApiConnection, url: string): Promise<string> {
  const { webhooks: [hold] = [] } = await holdOf(api);
  const ca = Buffer.from(hold?.clientConfig.caBundle ?? "", "base64").toString();
  return await new Promise((resolve, reject) => {
    const asked = request(`${url}/healthz`, { ca, agent: false }, (response) => {
      const { fingerprint256 = "" } = (response.socket as unknown as import("node:tls").TLSSocket).getPeerCertificate();
      response.resume().on("end", () => resolve(fingerprint256));
    });
    asked.on("error", reject).end();
  });
}

Deno.test("holding: a MutatingAdmissionPolicy holds new machines, and the webhook registers no hold", async (t) => {
  await withApi(async (server) => {
    const { api, kubeconfig } = server;
    await settlePools(api, kubeconfig);
    await applyManifests(kubeconfig, [policy]);
    await until("the policy to hold", () => isHeld(api));
    await holdsAll(t, api);
    await using replicas = await Replicas.open(server);
    await replicas.start();
    await setTimeout(1_500);
    equal((await holdOf(api)).webhooks, undefined);
  });
});

Deno.test("holding: the webhook holds new machines when the API server has no MutatingAdmissionPolicies", async (t) => {
  await withApi(async (server) => {
    const { api, kubeconfig } = server;
    const kinds = await api.call({ method: "GET", path: admission }) as { resources: { name: string }[] };
    ok(!kinds.resources.some(({ name }) => name === "mutatingadmissionpolicies"), "Expected an older server");
    await settlePools(api, kubeconfig);
    await using replicas = await Replicas.open(server);
    await Promise.all([replicas.start(), replicas.start()]);
    await until("the webhook to hold", () => isHeld(api));
    await holdsAll(t, api);
    await t.step(
      "holding: two replicas of the webhook that start together serve the same certificate",
      () => haveOne(server, replicas.url),
    );
    await t.step(
      "holding: the deletion of the certificate's Secret rotates the certificate, and no request fails",
      () => rotates(server, replicas.url),
    );
    await t.step(
      "holding: new machines are admitted without a hold while all replicas of the webhook are down",
      async () => {
        await replicas.stop();
        deepEqual(await admitted(api, newcomer), {});
      },
    );
    await t.step(
      "holding: restarted replicas of the webhook hold new machines, and serve the existing certificate",
      async () => {
        const { data } = await api.call({ method: "GET", path: secretPath }) as { data: Record<string, string> };
        await replicas.start();
        await until("the webhook to hold again", () => isHeld(api));
        deepEqual((await api.call({ method: "GET", path: secretPath }) as { data: unknown }).data, data);
      },
    );
  }, older);
});

async function haveOne({ api }: BareApi, url: string): Promise<void> {
  const shown = new Set<string>();
  for (let nth = 0; nth < 6; nth++) shown.add(await shownNow(api, url));
  equal(shown.size, 1);
}

async function rotates({ api }: BareApi, url: string): Promise<void> {
  const before = await shownNow(api, url);
  const first = (await holdOf(api)).webhooks?.[0]?.clientConfig.caBundle;
  await api.call({ method: "DELETE", path: secretPath });
  // Counts the values from before the deletion too, because they may be replaced before the loop's first read.
  const bundles = new Set([first]);
  const shown = new Set([before]);
  const deadline = Date.now() + 20_000;
  let requests = 0;
  let isOver = false;
  while (!isOver && Date.now() < deadline) {
    ok(await isHeld(api), `Request ${requests} was not held`);
    shown.add(await shownNow(api, url));
    const bundle = (await holdOf(api)).webhooks?.[0]?.clientConfig.caBundle ?? "";
    bundles.add(bundle);
    requests++;
    isOver = bundles.size === 3 && shown.size === 2;
  }
  // The bundle had three values: the old authority, both authorities, and the new one.
  equal(bundles.size, 3);
  equal(shown.size, 2);
  ok(requests > 20, `${requests} requests`);
}
