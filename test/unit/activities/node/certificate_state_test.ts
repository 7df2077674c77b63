import { equal } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { certificateStateOf } from "../../../../activities/node/certificate_state.ts";
import { requestNodeCertificate } from "../../../../deploy/local/cloud/boot/certificate.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";

interface Asked {
  by?: string;
  created?: string;
  signerName?: string;
  status?: Record<string, unknown>;
}

async function put(kube: FakeKube, name: string, node: string, asked: Asked = {}): Promise<void> {
  const { by = "system:bootstrap:abcdef", created = "2026-01-01T00:00:00Z", status = {} } = asked;
  const { signerName = "kubernetes.io/kube-apiserver-client-kubelet" } = asked;
  const request = Buffer.from((await requestNodeCertificate(node)).request).toString("base64");
  kube.put("certificatesigningrequests", {
    metadata: { name, creationTimestamp: created },
    spec: { request, username: by, signerName },
    status,
  });
}

function condition(type: string, message?: string): Record<string, unknown> {
  return { conditions: [{ type, status: "True", ...(message ? { message } : {}) }] };
}

const states: [string, Record<string, unknown>, string][] = [
  ["waits for approval when it has no condition", {}, "is waiting for approval"],
  ["was denied", condition("Denied", "unknown host"), "was denied (unknown host)"],
  ["failed", condition("Failed", "no signer"), "was not signed (no signer)"],
  ["is approved, but not signed", condition("Approved"), "was approved, but not signed"],
  ["was granted", { ...condition("Approved"), certificate: "x" }, "was granted"],
];

for (const [what, status, words] of states) {
  Deno.test(`certificateStateOf: reports that a certificate request ${what}`, async () => {
    const kube = new FakeKube();
    await put(kube, "csr-1", "host-a", { status });
    equal(await certificateStateOf(kube.client, ["a", "host-a"]), `certificate request "csr-1" ${words}`);
  });
}

Deno.test("certificateStateOf: uses the newest request of the name", async () => {
  const kube = new FakeKube();
  await put(kube, "csr-old", "a", { status: condition("Denied", "too early") });
  await put(kube, "csr-new", "a", { created: "2026-01-02T00:00:00Z" });
  equal(await certificateStateOf(kube.client, ["a"]), 'certificate request "csr-new" is waiting for approval');
});

Deno.test("certificateStateOf: ignores a request for a longer node name, and a request to another signer", async () => {
  const kube = new FakeKube();
  await put(kube, "csr-1", "a0", { by: "system:node:a0" });
  await put(kube, "csr-2", "a", { signerName: "kubernetes.io/kubelet-serving" });
  equal(await certificateStateOf(kube.client, ["a"]), "no certificate was requested for this node name");
});

Deno.test("certificateStateOf: returns the state of other requests by bootstrap tokens when no request has the name of the node", async () => {
  const kube = new FakeKube();
  await put(kube, "csr-1", "localhost");
  await put(kube, "csr-2", "b", { status: { certificate: "x" } });
  equal(
    await certificateStateOf(kube.client, ["a"]),
    'no certificate was requested for this node name; other requests by bootstrap tokens: "csr-1" is waiting for approval',
  );
});

Deno.test("certificateStateOf: returns nothing when it is forbidden to read certificate requests", async () => {
  const kube = new FakeKube();
  kube.onRequest = () => {
    throw answer(403, "Forbidden");
  };
  equal(await certificateStateOf(kube.client, ["a"]), undefined);
});
