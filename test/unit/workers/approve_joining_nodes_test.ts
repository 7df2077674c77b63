import type { Cluster } from "../../../activities/cluster.ts";
import { deepEqual, equal, match } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { poolGroupOf } from "../../../activities/config/token_group.ts";
import { requestNodeCertificate } from "../../../deploy/local/cloud/boot/certificate.ts";
import { approveJoiningNodes } from "../../../workers/approve_joining_nodes.ts";
import { eventually } from "../../support/eventually.ts";
import { answer, FakeKube } from "../../support/fake_kube.ts";
import { FakeStreams } from "../../support/fake_streams.ts";

const pool = { namespace: "ns", name: "pool" };
const hold = "machine-controller.kubermatic.io/initializers";

function poolIn(kube: FakeKube): void {
  kube.put("machinedeployments", { metadata: pool });
  const uid = String(kube.get("machinedeployments", "pool", "ns")?.metadata.uid);
  const ownerReferences = [{ kind: "MachineDeployment", name: "pool", uid }];
  kube.put("machinesets", { metadata: { name: "pool", namespace: "ns", uid: "uid-of-set", ownerReferences } });
}

function machineIn(kube: FakeKube, name: string, annotations: Record<string, string> = {}): void {
  const ownerReferences = [{ kind: "MachineSet", name: "pool", uid: "uid-of-set" }];
  const finalizers = ["machine-delete-finalizer"];
  kube.put("machines", { metadata: { name, namespace: "ns", finalizers, ownerReferences, annotations }, spec: {} });
}

async function ask(kube: FakeKube, name: string, node: string, status: object = {}): Promise<void> {
  const { request } = await requestNodeCertificate(node);
  kube.put("certificatesigningrequests", {
    metadata: { name },
    spec: {
      ...{ signerName: "kubernetes.io/kube-apiserver-client-kubelet", usages: ["digital signature", "client auth"] },
      ...{ request: Buffer.from(request).toString("base64"), username: "system:bootstrap:abcdef" },
      groups: [poolGroupOf(pool)],
    },
    status,
  });
}

function isApproved(kube: FakeKube, name: string): boolean {
  const { status } = kube.get("certificatesigningrequests", name) as { status?: { conditions?: unknown[] } } ?? {};
  return (status?.conditions ?? []).length > 0;
}

/** An approver that runs until it is disposed of. */
function approver(client: Cluster): { said: string[]; [Symbol.asyncDispose]: () => Promise<void> } {
  const stop = new AbortController();
  const said: string[] = [];
  const log = { info: () => {}, warn: (text: string) => void said.push(text) };
  const running = approveJoiningNodes({ kube: client, account: "", log, firstPause: 5 }, stop.signal);
  return {
    said,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

Deno.test("approveJoiningNodes: approves 200 certificate requests, of which some exist already and the others arrive together", async () => {
  const kube = new FakeKube();
  const { client } = new FakeStreams(kube);
  poolIn(kube);
  const nodes = Array.from({ length: 200 }, (_, nth) => `pool-${nth}`);
  for (const node of nodes) machineIn(kube, node);
  for (const node of nodes.slice(0, 20)) await ask(kube, `csr-${node}`, node);
  await using running = approver(client);
  await eventually("the existing requests", () => isApproved(kube, "csr-pool-19"));
  for (const node of nodes.slice(20)) await ask(kube, `csr-${node}`, node);
  await eventually("all of them", () => nodes.every((node) => isApproved(kube, `csr-${node}`)));
  deepEqual(running.said, []);
});

Deno.test("approveJoiningNodes: logs once why a certificate request stays pending, and approves it when the machine is admitted", async () => {
  const kube = new FakeKube();
  const { client, requests } = new FakeStreams(kube);
  poolIn(kube);
  machineIn(kube, "pool-x", { [hold]: "ann" });
  await ask(kube, "csr", "pool-x");
  await using running = approver(client);
  await eventually("three looks", () => requests.filter((each) => each.startsWith("list machines")).length >= 3);
  deepEqual(running.said, ['Certificate request "csr" stays pending: machine "ns/pool-x" is held']);
  machineIn(kube, "pool-x");
  await eventually("approval", () => isApproved(kube, "csr"));
  equal(running.said.length, 1);
});

Deno.test("approveJoiningNodes: continues after an outage of the API server", async () => {
  const kube = new FakeKube();
  const { client, requests } = new FakeStreams(kube);
  poolIn(kube);
  machineIn(kube, "pool-x");
  let refusals = 3;
  kube.onRequest = (request) => {
    requests.push(request);
    if (!request.startsWith("list machines") || refusals-- <= 0) return;
    throw answer(503, "ServiceUnavailable");
  };
  await ask(kube, "csr", "pool-x");
  await using running = approver(client);
  await eventually("approval", () => isApproved(kube, "csr"));
  match(
    running.said.join(),
    /^Failed to evaluate certificate request "csr": Failed to read machine "pool-x": HTTP 503[^,]*, ?[^,]*$/,
  );
});

Deno.test("approveJoiningNodes: logs once that kube-controller-manager approves every certificate request by itself", async () => {
  const kube = new FakeKube();
  const { client } = new FakeStreams(kube);
  const status = { conditions: [{ type: "Approved", status: "True", reason: "AutoApproved" }] };
  await ask(kube, "csr-0", "any-0", status);
  await using running = approver(client);
  const lastUpdateTime = new Date(Date.now() + 1_000).toISOString();
  const since = { conditions: status.conditions.map((each) => ({ ...each, lastUpdateTime })) };
  for (const nth of [1, 2]) await ask(kube, `csr-${nth}`, `any-${nth}`, since);
  await eventually("a warning", () => running.said.length > 0);
  equal(running.said.length, 1);
  match(
    running.said.join(),
    /^Failed to control which machines join: kube-controller-manager approved certificate request "csr-[12]" without .*; delete the ClusterRole/,
  );
});
