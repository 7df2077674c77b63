import { deepEqual, equal, match } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { poolGroupOf } from "../../../../activities/config/token_group.ts";
import { approveNode, type Verdict } from "../../../../activities/node/approve_node.ts";
import { nodeRequests } from "../../../../activities/node/node_requests.ts";
import { requestNodeCertificate } from "../../../../deploy/local/cloud/boot/certificate.ts";
import { RecentApprovals } from "../../../../activities/node/recent_approvals.ts";
import { readNewcomers } from "../../../../activities/backends/registry.ts";
import type { PoolRef } from "../../../../workflows/contracts/mod.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";

const pool = { namespace: "ns", name: "pool" };
const set = "pool-1f";
const machine = "pool-1f-x";
const { request } = await requestNodeCertificate(machine);
const client = ["digital signature", "client auth"];
const held = { "machine-controller.kubermatic.io/initializers": "anybody" };

interface Change {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  machine?: Record<string, unknown>;
  nodeRef?: string;
  account?: string;
  before?: (kube: FakeKube) => void;
}

function groups(of: PoolRef): string[] {
  return ["system:bootstrappers", poolGroupOf(of), "system:authenticated"];
}

/** Returns a cluster in which machine "pool-1f-x" of pool "pool" waits for its node, with the given changes. */
function cluster({ spec, status, machine: changed, nodeRef, before }: Change): FakeKube {
  const kube = new FakeKube();
  const owner = (kind: string, name: string): Record<string, string> => ({ kind, name, uid: `uid-of-${name}` });
  kube.put("machinesets", {
    metadata: {
      ...{ name: set, namespace: "ns", uid: `uid-of-${set}` },
      ownerReferences: [owner("MachineDeployment", "pool")],
    },
  });
  kube.put("machines", {
    metadata: {
      ...{ name: machine, namespace: "ns", finalizers: ["machine-delete-finalizer"] },
      ...{ ownerReferences: [owner("MachineSet", set)], ...changed },
    },
    spec: {},
    ...(nodeRef ? { status: { nodeRef: { name: nodeRef } } } : {}),
  });
  kube.put("certificatesigningrequests", {
    metadata: { name: "csr" },
    spec: {
      ...{ signerName: "kubernetes.io/kube-apiserver-client-kubelet", usages: client },
      ...{ request: Buffer.from(request).toString("base64"), username: "system:bootstrap:abcdef" },
      ...{ groups: groups(pool), ...spec },
    },
    status: status ?? {},
  });
  before?.(kube);
  return kube;
}

async function judge(kube: FakeKube, account = "", approvals = new RecentApprovals()): Promise<Verdict> {
  const pools = { uidOf: ({ name }: PoolRef) => `uid-of-${name}` };
  const seen = nodeRequests.schema.parse(kube.get("certificatesigningrequests", "csr"));
  return await approveNode({ kube: kube.client, pools, account, approvals }, seen);
}

function approvalIn(kube: FakeKube): unknown {
  return kube.get("certificatesigningrequests", "csr")?.["status"];
}

Deno.test("approveNode: approves a certificate request when a machine in the pool of its token waits for that node, and writes the reason", async () => {
  const kube = cluster({});
  deepEqual(await judge(kube), { is: "Approved" });
  deepEqual(approvalIn(kube), {
    conditions: [{
      ...{ type: "Approved", status: "True", reason: "MachineAwaitsNode" },
      message: 'Machine "ns/pool-1f-x" of pool "ns/pool" is waiting for this node',
    }],
  });
  deepEqual(await judge(kube), { is: "Moot" }, "Expected one approval");
});

Deno.test("approveNode: accepts the key usages of RSA keys, tokens without a pool, and the ServiceAccount that machines boot with", async () => {
  const spec = { usages: ["key encipherment", ...client] };
  deepEqual(await judge(cluster({ spec })), { is: "Approved" });
  const ofBefore = { groups: ["system:bootstrappers:machine-controller:default-node-token"] };
  deepEqual(
    await judge(cluster({ spec: ofBefore })),
    { is: "Approved" },
    "Expected approval for a token without a pool",
  );
  const account = { username: "system:serviceaccount:kube-system:joiner", groups: ["system:serviceaccounts"] };
  deepEqual(await judge(cluster({ spec: account }), "kube-system/joiner"), { is: "Approved" });
});

/**
 * Returns a cluster like `cluster`, but the name of the machine is not that of its node, as in clouds that name nodes
 * themselves. The cloud reports `address` as the internal DNS name of the machine.
 */
function cloudNamed({ address = machine, ...more }: Change & { address?: string } = {}): FakeKube {
  const kube = cluster(more);
  const { metadata, ...rest } = kube.get("machines", machine, "ns") ?? { metadata: { name: "" } };
  kube.remove("machines", machine, "ns");
  const status = { ...rest["status"] as object, addresses: [{ type: "InternalDNS", address }] };
  kube.put("machines", { ...rest, metadata: { ...metadata, name: `${set}-y` }, status });
  return kube;
}

Deno.test("fault S1: approves a node whose name is not that of its machine, but the internal DNS name that the cloud reports for the machine", async () => {
  deepEqual(await judge(cloudNamed()), { is: "Approved" });
});

const notOfCloud: [string, Parameters<typeof cloudNamed>[0], RegExp][] = [
  ["another address", { address: "pool-1f-z" }, /no machine of Ostler is named/],
  ["the token of another pool", { spec: { groups: groups({ namespace: "ns", name: "other" }) } }, /another pool/],
  ["a machine that is held", { machine: { annotations: held } }, /is held/],
  ["a machine that has its node", { nodeRef: "some" }, /has a node/],
  ["an existing node", { before: (kube) => void kube.put("nodes", { metadata: { name: machine } }) }, /already exists/],
];

for (const [what, change, why] of notOfCloud) {
  Deno.test(`fault S1: approveNode does not approve a node name that a cloud gave, with ${what}`, async () => {
    const verdict = await judge(cloudNamed(change));
    match(verdict.is === "Left" ? verdict.why : verdict.is, why);
  });
}

Deno.test("fault S1: readNewcomers lists all machines only once when it is called with five unknown names within 3 s", async () => {
  const kube = cloudNamed({ address: "elsewhere" });
  const lists: string[] = [];
  kube.onRequest = (request) => void lists.push(request);
  const client = kube.client;
  for (let nth = 0; nth < 5; nth++) await readNewcomers(client, `node-${nth}`);
  // Each of the five names costs one list, and all of them together one list of all machines.
  equal(lists.length, 6, lists.join("\n"));
});

const bootstrapper = "system:bootstrappers:kubeadm:default-node-token";
const left: Record<string, [Change, RegExp]> = {
  "of the token of another pool": [
    { spec: { groups: groups({ namespace: "ns", name: "other" }) } },
    /belongs to another pool/,
  ],
  "of the token of a pool in another namespace": [
    { spec: { groups: groups({ namespace: "away", name: "pool" }) } },
    /another pool/,
  ],
  "of the token of a missing pool": [{ spec: { groups: groups({ namespace: "ns", name: "x" }) } }, /another pool/],
  "of the token of two pools": [
    { spec: { groups: [...groups(pool), ...groups({ namespace: "ns", name: "other" })] } },
    /does not belong to a pool/,
  ],
  "of a token without a pool, for a name without a machine": [
    {
      spec: { groups: ["system:bootstrappers:machine-controller:default-node-token"] },
      before: (kube) => kube.remove("machines", machine, "ns"),
    },
    /no machine of Ostler is named "pool-1f-x"/,
  ],
  "of a foreign token": [
    { spec: { groups: [bootstrapper] } },
    /token "abcdef" does not belong to a pool of Ostler/,
  ],
  "of a user without a token": [{ spec: { username: "ann" } }, /"ann" is not a bootstrap token/],
  "of a node for itself, which kube-controller-manager approves": [
    { spec: { username: `system:node:${machine}` } },
    /is not a bootstrap token/,
  ],
  "of an account that machines do not boot with": [
    { spec: { username: "system:serviceaccount:kube-system:joiner" } },
    /is not a bootstrap token/,
  ],
  "that also has usage server auth": [{ spec: { usages: [...client, "server auth"] } }, /not a request for a kubelet/],
  "that cannot be read": [{ spec: { request: "aGVsbG8=" } }, /not a request for a kubelet/],
  "of a held machine": [{ machine: { annotations: held } }, /machine "ns\/pool-1f-x" is held/],
  "of a machine that has no instance yet": [{ machine: { finalizers: [] } }, /has no instance yet/],
  "of a machine that is being deleted": [{ machine: { deletionTimestamp: "2026-01-01T00:00:00Z" } }, /being deleted/],
  "of a machine that has its node": [{ nodeRef: machine }, /has a node/],
  "of a machine without an owner": [{ machine: { ownerReferences: [] } }, /no machine of Ostler is named "pool-1f-x"/],
  "of a machine whose owner has the name of a set but another uid": [
    { machine: { ownerReferences: [{ kind: "MachineSet", name: set, uid: "uid-of-another" }] } },
    /no machine of Ostler is named "pool-1f-x"/,
  ],
  "of a machine with a name that its set does not generate": [
    { machine: { ownerReferences: [{ kind: "MachineSet", name: "pool-2e", uid: "uid-of-pool-2e" }] } },
    /no machine of Ostler is named "pool-1f-x"/,
  ],
  "of a machine whose set has an owner with the name of a pool but another uid": [
    {
      before: (kube) => {
        const ownerReferences = [{ kind: "MachineDeployment", name: "pool", uid: "uid-of-another" }];
        kube.put("machinesets", { metadata: { name: set, namespace: "ns", uid: `uid-of-${set}`, ownerReferences } });
      },
    },
    /no machine of Ostler is named "pool-1f-x"/,
  ],
  "for a name that machines of two namespaces have": [
    { before: (kube) => void kube.put("machines", { metadata: { name: machine, namespace: "away" }, spec: {} }) },
    /machines named "pool-1f-x" exist in several namespaces/,
  ],
  "of a deleted machine": [{ before: (kube) => kube.remove("machines", machine, "ns") }, /no machine/],
  "for an existing node": [
    { before: (kube) => void kube.put("nodes", { metadata: { name: machine } }) },
    /node "pool-1f-x" already exists/,
  ],
};

for (const [what, [change, why]] of Object.entries(left)) {
  Deno.test(`approveNode: neither approves nor denies a request ${what}`, async () => {
    const kube = cluster(change);
    const verdict = await judge(kube);
    equal(verdict.is, "Left");
    match("why" in verdict ? verdict.why : "", why);
    deepEqual(kube.writes, []);
  });
}

for (const type of ["Approved", "Denied", "Failed"]) {
  Deno.test(`approveNode: calls no API for a certificate request that is already ${type}`, async () => {
    const kube = cluster({ status: { conditions: [{ type, status: "True" }] } });
    kube.onRequest = () => {
      throw answer(500, "InternalError");
    };
    deepEqual(await judge(kube), { is: "Moot" });
  });
}

Deno.test("approveNode: keeps the concurrent write of another approver", async () => {
  const kube = cluster({});
  kube.onRequest = (request) => {
    if (!request.startsWith("get nodes")) return;
    kube.put("certificatesigningrequests", { metadata: { name: "csr" }, status: { conditions: [{ type: "Denied" }] } });
  };
  deepEqual(await judge(kube), { is: "Moot" });
  deepEqual(approvalIn(kube), { conditions: [{ type: "Denied" }] });
});

Deno.test("approveNode: approves a node name only once within 5 minutes while its node does not exist, also when another process approved it", async () => {
  const approvals = new RecentApprovals();
  const kube = cluster({});
  deepEqual(await judge(kube, "", approvals), { is: "Approved" });
  approvals.note(machine, { request: "of-before", at: Date.now() - 6 * 60_000 });
  deepEqual(approvals.take(machine, "csr"), undefined, "Expected no second approval of the name");
  equal(approvals.take(machine, "thief"), "csr");
  const told = new RecentApprovals();
  told.note(machine, { request: "first", at: Date.now() - 60_000 });
  const again = cluster({});
  deepEqual(await judge(again, "", told), {
    is: "Left",
    why: 'request "first" was approved for node "pool-1f-x" within the last 5 minutes',
  });
  deepEqual(again.writes, []);
  const old = new RecentApprovals();
  old.note(machine, { request: "first", at: Date.now() - 6 * 60_000 });
  deepEqual(await judge(again, "", old), { is: "Approved" }, "Expected approval, because the first node never came");
});
