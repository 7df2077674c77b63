/**
 * Each of Ostler's identities may do what it needs, and nothing else: permissions and limits as installed, on a real
 * API server.
 */
import { deepEqual, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { requestNodeCertificate } from "../../deploy/local/cloud/boot/certificate.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import { type ApiConnection, ApiRefusal } from "../../deploy/local/stack/api_connection.ts";
import { type BareApi, withApi } from "./bare_api.ts";
import { installApproval, installRights, openAs, processes, rightsOf } from "./identities.ts";
import { type Attempt, create, forbidden, needed, osImages, type Secret, secrets, token } from "./identity_attempts.ts";
import { approvalRights, rights } from "./identity_rights.ts";

/** Objects that administrators and join services create. */
const ofOthers: [plural: string, kind: string, name: string, spec: object][] = [
  ["nodeversions", "NodeVersion", "asked", { image: "i-1" }],
  ["joiningnodes", "JoiningNode", "let-in", { name: "w-1", componentsreference: "k8s-components-1" }],
  [
    ...["autoscalingstrategies", "AutoscalingStrategy", "held"] as const,
    { enabled: true, deploymentName: "autoscaler", deploymentNamespace: "kube-system" },
  ],
];

/** Creates the objects to which the attempted requests refer: some of Ostler, some of other owners. */
async function settle({ api }: BareApi): Promise<void> {
  const former = { "machinedeployment.k8s.io/name": "x" };
  const standing: Secret[] = [
    ...[{ name: "theirs" }, { name: "ostler-seed", data: { seed: "s" } }, { ...token("kubead"), labels: {} }],
    ...[{ ...token("dddddd"), labels: former }, { namespace: "cloud-init-settings", name: "old-ns-bootstrap-config" }],
  ];
  for (const one of standing) await api.call({ ...create(one), path: secrets(one.namespace) });
  for (const [plural, kind, name, spec] of ofOthers) {
    const apiVersion = "update.edgeless.systems/v1alpha1";
    const body = { apiVersion, kind, metadata: { name }, spec };
    await api.call({ method: "POST", path: `/apis/${apiVersion}/${plural}`, body });
  }
  const image = { reference: "registry.example/os:v1", keys: ["-----BEGIN PUBLIC KEY-----"] };
  const ofImages = { apiVersion: "ostler.dev/v1alpha1", kind: "OSImage", metadata: { name: "asked" } };
  await api.call({ method: "POST", path: osImages, body: { ...ofImages, spec: image } });
  for (const name of ["other", "ostler-pool-ns"]) {
    const path = "/api/v1/namespaces/cloud-init-settings/serviceaccounts";
    await api.call({ method: "POST", path, body: { metadata: { name } } });
  }
}

/** Returns the refusal of the API server, or "" if it accepts; the dry run changes nothing. */
async function refusalOf(api: ApiConnection, { path, ...attempt }: Attempt): Promise<string> {
  const isPatch = attempt.method === "PATCH";
  try {
    await api.call({
      ...{ ...attempt, path: attempt.method === "GET" ? path : `${path}?dryRun=All` },
      ...(isPatch ? { contentType: "application/merge-patch+json" } : {}),
    });
    return "";
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 403) return error.message;
    throw error;
  }
}

const signers = { node: "kubernetes.io/kube-apiserver-client-kubelet", serving: "kubernetes.io/kubelet-serving" };

async function approvesOnlyNodes(server: BareApi): Promise<void> {
  await installApproval(server);
  using api = await openAs(server, "controller");
  const all = [...rights.controller, ...approvalRights].sort();
  await waitUntil(async () => deepEqual(await rightsOf(api), all), { what: "the rights", timeoutMs: 10_000 });
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const { request } = await requestNodeCertificate("w-1");
  for (const [name, signerName] of Object.entries(signers)) {
    const usages = ["digital signature", name === "node" ? "client auth" : "server auth"];
    const spec = { request: Buffer.from(request).toString("base64"), signerName, usages };
    await server.api.call({ method: "POST", path, body: { metadata: { name }, spec } });
  }
  const approved = (name: string): Attempt => ({
    ...{ method: "PATCH", path: `${path}/${name}/approval` } as const,
    body: { status: { conditions: [{ type: "Approved", status: "True", reason: "Test", message: "x" }] } },
  });
  deepEqual(await refusalOf(api, approved("node")), "");
  match(await refusalOf(api, approved("serving")), /403/);
}

Deno.test("identities: controller, worker, webhook and setup have the permissions that they need, and no others", async (t) => {
  await withApi(async (server) => {
    await installRights(server);
    await settle(server);
    for (const process of processes) {
      using api = await openAs(server, process);
      await t.step(
        `the ${process} has exactly the expected permissions`,
        async () => deepEqual(await rightsOf(api), rights[process]),
      );
      if (process === "worker") {
        const asked = create({ name: "cloud-credentials" });
        const awaited = { what: "the limits", timeoutMs: 20_000 };
        await waitUntil(async () => ok(await refusalOf(api, asked)), awaited);
      }
      for (const [, what, attempt] of forbidden.filter(([who]) => who === process)) {
        await t.step(`the ${process} cannot ${what}`, async () => match(await refusalOf(api, attempt), /403/));
      }
      for (const [, what, attempt] of needed.filter(([who]) => who === process)) {
        await t.step(`the ${process} can ${what}`, async () => deepEqual(await refusalOf(api, attempt), ""));
      }
    }
    await t.step(
      "identities: a controller that approves client certificates of nodes cannot approve serving certificates",
      () => approvesOnlyNodes(server),
    );
  });
});
