import { deepEqual, equal } from "node:assert/strict";
import { register } from "../../../../workers/admission/registration.ts";
import { endpointOf } from "../../../../workers/admission/webhook_endpoint.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";

const endpoint = endpointOf("ostler-system/ostler-webhook", { systemNamespace: "ostler-system" });
const endpoints = { management: endpoint, pools: endpoint };
const bundle = Buffer.from("PEM").toString("base64");

interface Configuration {
  webhooks?: { clientConfig: { caBundle?: string; service: object } }[];
}

function cluster(service = { namespace: "ostler-system", name: "ostler-webhook" }): FakeKube {
  const kube = new FakeKube();
  kube.put("mutatingwebhookconfigurations", { metadata: { name: "hold-new-machines.ostler.dev" } });
  for (const plural of ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]) {
    const webhooks = [{ name: "theirs", clientConfig: { service } }];
    kube.put(plural, { metadata: { name: "operatingsystemmanager.k8c.io" }, webhooks });
  }
  return kube;
}

function webhooksOf(kube: FakeKube, name: string): Configuration["webhooks"] {
  return (kube.get("mutatingwebhookconfigurations", name) as Configuration | undefined)?.webhooks;
}

Deno.test("register: writes the CA bundle once, and registers the webhook for new machines only while no MutatingAdmissionPolicy holds new machines", async () => {
  const kube = cluster();
  const { client } = kube;
  equal(await register(client, { endpoints, trusted: "PEM", holds: true }), "all");
  equal(webhooksOf(kube, "operatingsystemmanager.k8c.io")?.[0]?.clientConfig.caBundle, bundle);
  const [hold] = webhooksOf(kube, "hold-new-machines.ostler.dev") ?? [];
  deepEqual(hold?.clientConfig, {
    service: { namespace: "ostler-system", name: "ostler-webhook", path: "/mutate-v1alpha1-machine", port: 443 },
    caBundle: bundle,
  });
  equal(kube.writes.length, 3);
  equal(await register(client, { endpoints, trusted: "PEM", holds: true }), "all");
  equal(kube.writes.length, 3);
  await register(client, { endpoints, trusted: "PEM", holds: false });
  deepEqual(webhooksOf(kube, "hold-new-machines.ostler.dev"), []);
});

Deno.test("register: does not change the CA bundle of webhooks of Operating System Manager with the same names", async () => {
  const kube = cluster({ namespace: "kube-system", name: "operating-system-manager-webhook" });
  await register(kube.client, { endpoints, trusted: "PEM", holds: false });
  deepEqual(kube.writes, []);
});

Deno.test("register: stops cert-manager from writing the CA of Operating System Manager into a configuration that Ostler has taken over", async () => {
  const injection = "cert-manager.io/inject-ca-from";
  const osms = { [injection]: "kube-system/operating-system-manager-serving-cert", kept: "yes" };
  const annotationsAfter = async (annotations: Record<string, string>, called: string): Promise<unknown> => {
    const kube = new FakeKube();
    const service = { namespace: "ostler-system", name: called };
    const webhooks = [{ name: "theirs", clientConfig: { service, caBundle: bundle } }];
    const metadata = { name: "operatingsystemmanager.k8c.io", annotations };
    kube.put("validatingwebhookconfigurations", { metadata, webhooks });
    await register(kube.client, { endpoints: { management: endpoint }, trusted: "PEM", holds: false });
    return kube.get("validatingwebhookconfigurations", metadata.name)?.metadata.annotations;
  };
  deepEqual(await annotationsAfter(osms, "ostler-webhook"), { kept: "yes" });
  deepEqual(await annotationsAfter(osms, "operating-system-manager-webhook"), osms);
  // While the webhook changes to a certificate of cert-manager, pods with their own certificate still run.
  const ours = { [injection]: "ostler-system/ostler-webhook" };
  deepEqual(await annotationsAfter(ours, "ostler-webhook"), ours);
});

Deno.test("register: does not change the CA bundle that cert-manager sets", async () => {
  const kube = cluster();
  await register(kube.client, { endpoints, holds: true });
  const [hold] = webhooksOf(kube, "hold-new-machines.ostler.dev") ?? [];
  equal(hold?.clientConfig.caBundle, undefined);
  if (hold) hold.clientConfig.caBundle = "injected";
  await register(kube.client, { endpoints, holds: true });
  equal(webhooksOf(kube, "hold-new-machines.ostler.dev")?.[0]?.clientConfig.caBundle, "injected");
  equal(webhooksOf(kube, "operatingsystemmanager.k8c.io")?.[0]?.clientConfig.caBundle, undefined);
});

Deno.test('register: returns "some" when a configuration is missing, and "outpaced" after a conflict with another webhook', async () => {
  const kube = cluster();
  kube.remove("validatingwebhookconfigurations", "operatingsystemmanager.k8c.io");
  equal(await register(kube.client, { endpoints, trusted: "PEM", holds: true }), "some");
  kube.onRequest = (request) => {
    if (request.startsWith("replace")) throw answer(409, "Conflict", "it was written meanwhile");
  };
  equal(await register(kube.client, { endpoints, trusted: "PEM2", holds: true }), "outpaced");
});

Deno.test("endpointOf: outside of the cluster returns the URL of the webhook, and its host for the certificate", () => {
  const { hosts, isIn, clientConfig } = endpointOf("https://10.0.0.7:9443", { systemNamespace: "ostler-system" });
  deepEqual([hosts, clientConfig("/x")], [["10.0.0.7"], { url: "https://10.0.0.7:9443/x" }]);
  deepEqual(["https://10.0.0.7:9443/x", "https://10.0.0.7:94431/x"].map((url) => isIn({ url })), [true, false]);
});

Deno.test("register: configures the webhooks of each of two API servers, but those for pools only if an endpoint for pools is given", async () => {
  const [pools, profiles] = [cluster(), new FakeKube()];
  const name = "north.operatingsystemmanager.k8c.io";
  const service = { namespace: "ostler-system", name: "ostler-webhook" };
  profiles.put("validatingwebhookconfigurations", { metadata: { name }, webhooks: [{ clientConfig: { service } }] });
  const client = { ...pools.client, management: { kube: profiles.client, namespace: "north" } };
  equal(await register(client, { endpoints: { management: endpoint }, trusted: "PEM", holds: true }), "all");
  deepEqual(webhooksOf(pools, "hold-new-machines.ostler.dev"), undefined);
  const found = profiles.get("validatingwebhookconfigurations", name) as Configuration;
  equal(found.webhooks?.[0]?.clientConfig.caBundle, bundle);
  const address = endpointOf("https://hook:8443", { systemNamespace: "ostler-system" });
  await register(client, { endpoints: { management: endpoint, pools: address }, trusted: "PEM", holds: true });
  equal(webhooksOf(pools, "hold-new-machines.ostler.dev")?.[0]?.clientConfig.caBundle, bundle);
});
