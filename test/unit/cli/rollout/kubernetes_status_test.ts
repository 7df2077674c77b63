import assert from "node:assert/strict";
import { answer } from "../../../support/fake_kube.ts";
import { readyStatus } from "../../../support/fake_world.ts";
import { current, desired } from "../../../support/upgrade_stage.ts";
import { awaiting, type Given, seats, UpgradeWorld } from "../../../support/upgrade_world.ts";

Deno.test("ostler status nodeversion/NAME: shows versions, skew, etcd and each control plane", async () => {
  const made = new UpgradeWorld();
  made.stage.runs("workers-2", desired);
  assert.deepEqual(await made.lines(), [
    "kubernetes  v1.36.1 is wanted, kubeadm recorded v1.35.3",
    `            AwaitingApproval: ${awaiting.message}`,
    "to do       ostler plan nodeversion/v",
    "            ostler explain AwaitingApproval",
    "workers     2 nodes with kubelets v1.34.2 to v1.35.3, up to 2 minor versions older than the API servers",
    "etcd        3 of 3 voting, quorum 2, one may fail, as sg/workers reported",
    "",
    "NODE        KUBELET   COMPONENTS   ETCD     READY   STATE",
    "workers-1   v1.35.3   v1.35.3      leader   yes     waits",
    "workers-2   v1.36.1   v1.36.1      member   yes     up to date",
    "workers-3   v1.35.3   v1.35.3      member   yes     waits",
  ]);
  const data = JSON.parse((await made.run(["status", "nv/v", "-o", "json"])).out);
  assert.deepEqual(data.kubernetes.controlPlanes[1], {
    ...{ node: "workers-2", kubelet: desired, apiServer: desired, components: desired },
    etcd: { role: "Voter", healthy: true, version: "3.6.5" },
    ...{ ready: true, state: "UpToDate" },
  });
  assert.deepEqual(data.kubernetes.etcd, {
    ...{ group: "workers", voters: 3, healthy: 3, quorum: 2, doubts: [], mayFail: 1 },
  });
  const { version, recordedVersion, skew, missingPermissions } = data.kubernetes;
  assert.deepEqual([version, recordedVersion, skew, missingPermissions], [desired, current, [], []]);
});

Deno.test("ostler status nodeversion/NAME: does not call the versions of all workers unknown when the kubelet of one reports a text that is not a version", async () => {
  const made = new UpgradeWorld();
  made.stage.worker("w-3", "development");
  const line = (await made.lines()).find((each) => each.startsWith("workers "));
  assert.equal(line, "workers     3 nodes; at least one kubelet has an unknown version");
});

Deno.test("ostler status nodeversion/NAME: fits into 80 columns on a terminal", async () => {
  const terminal = { isWatched: true, columns: () => 80, env: { NO_COLOR: "1" } };
  const { out } = await new UpgradeWorld().run(["status", "nodeversion/v"], terminal);
  for (const line of out.split("\n").slice(3)) assert.ok(line.length <= 80, line);
  assert.match(out, /^ {12}AwaitingApproval: Waiting for approval to upgrade 3 control planes,$/m);
});

Deno.test("ostler status nodeversion/NAME: shows the control plane with the upgrade's slot as being upgraded, or as halted after a failure", async () => {
  const key = "kube-system_upgrade-kubernetes.v_workers-3";
  const slots = { metadata: { namespace: "kube-system", name: "ostler-control-planes" }, data: { [key]: "" } };
  const made = new UpgradeWorld();
  made.kube.put("configmaps", slots);
  assert.match((await made.lines()).at(-1) ?? "", /^workers-3 .* being upgraded$/);
  const halted = new UpgradeWorld({ condition: { ...awaiting, reason: "UpgradeHalted", message: "Failed" } });
  halted.kube.put("configmaps", slots);
  const lines = await halted.lines();
  assert.match(lines.at(-1) ?? "", /^workers-3 .* halted$/);
  assert.ok(lines.includes("to do       ostler explain UpgradeHalted"));
});

type Lost = [what: string, etcd: Given["etcd"], text: RegExp];

const etcds: Lost[] = [
  ["one more vote than needed", {}, /^etcd {8}3 of 3 voting, quorum 2, one may fail, as sg\/workers reported$/m],
  [
    "five votes",
    { quorum: { needed: 3, well: 5 }, seats: [...seats, { name: "d", role: "Voter" }, { name: "e", role: "Voter" }] },
    /5 of 5 voting, quorum 3, two may fail/,
  ],
  ["exactly the votes of the quorum", { quorum: { needed: 2, well: 2 } }, /2 of 3 voting, quorum 2, none may fail/],
  [
    "no quorum",
    { quorum: { needed: 2, well: 1 } },
    /1 of 3 voting, quorum 2: etcd has lost its quorum.*; see "When quorum is lost" in docs\/how-to\/control-planes/,
  ],
  [
    "an unhealthy member",
    {
      quorum: { needed: 2, well: 2 },
      seats: [...seats.slice(0, 2), { name: "workers-3", role: "Voter", isWell: false }],
    },
    /2 of 3 voting, quorum 2, none may fail(.*\n)+workers-3 .* member, unhealthy +yes/,
  ],
  [
    "a learner without a vote",
    { seats: [...seats, { name: "d", role: "Learner" }] },
    /3 of 3 voting, quorum 2, one may fail/,
  ],
  [
    "unknown members",
    { seats: [], quorum: { needed: 0, well: 0 } },
    /^etcd {8}members are unknown, as sg\/workers reported$/m,
  ],
  ["no report of any group", null, /^etcd {8}unknown, because no group of control planes has reported it$/m],
];

for (const [what, etcd, text] of etcds) {
  Deno.test(`ostler status nodeversion/NAME: shows etcd with ${what}`, async () => {
    const lines = await new UpgradeWorld({ etcd: etcd ?? null }).lines();
    assert.match(lines.slice(lines.findIndex((line) => line.startsWith("etcd"))).join("\n"), text);
  });
}

Deno.test("ostler status nodeversion/NAME: shows, of the etcd reports of two groups, the one with fewer votes, with its findings", async () => {
  const made = new UpgradeWorld();
  made.kube.put("scalinggroups", {
    metadata: { name: "b" },
    spec: { nodeImage: "v", groupId: "b", role: "ControlPlane" },
  });
  const says = Array.from({ length: 7 }, (_, nth) => ({ says: `member "m-${nth}" does not respond` }));
  const etcd = { seats: [{ name: "workers-1", role: "Leader" }], quorum: { needed: 2, well: 1 }, doubts: says };
  made.kube.put("rollouts", {
    metadata: { namespace: "kube-system", name: "scaling-group.b" },
    status: readyStatus({ etcd }),
  });
  const { out } = await made.run(["status", "nodeversion/v"]);
  assert.match(out, /lost its quorum, as sg\/b reported; .*\n {12}member "m-0" does not respond\n/);
  assert.match(out, /"m-4" does not respond\n {12}2 more findings\n/);
});

Deno.test("ostler status nodeversion/NAME: shows unsupported version skew, with the rule of Kubernetes that it violates", async () => {
  const made = new UpgradeWorld();
  for (const nth of [1, 2, 3, 4]) made.stage.worker(`new-${nth}`, "v1.37.0");
  made.stage.worker("old", "v1.31.9");
  made.stage.runs("workers-1", "v1.33.4");
  const lines = (await made.lines()).filter((line) => /^skew|^ {12}the kubelet/.test(line));
  assert.deepEqual(lines, [
    "skew        API servers run v1.33.4 to v1.35.3: API servers may be at most one minor version apart",
    '            the kubelet of "new-1" (v1.37.0), "new-2" (v1.37.0), "new-3" (v1.37.0) and 3 more is newer than its ' +
    "API server: a kubelet must not be newer than its API server",
    '            the kubelet of "old" (v1.31.9) is too old: a kubelet may be at most 3 minor versions older than its API ' +
    "server",
  ]);
  const patch = new UpgradeWorld();
  patch.stage.worker("w-1", "v1.35.9");
  const data = JSON.parse((await patch.run(["status", "nv/v", "-o", "json"])).out);
  assert.deepEqual(data.kubernetes.skew.map(({ severity }: { severity: string }) => severity), ["Warning"]);
});

type Denied = [request: RegExp, missing: string, cell: string];

const denied: Denied[] = [
  [/^get pods /, "get pods in kube-system", "workers-1   v1.35.3   ?            leader   yes     ?"],
  [
    /kubeadm-config/,
    "get ConfigMap kube-system/kubeadm-config",
    "is wanted, and the version of the cluster is unknown",
  ],
  [/ostler-control-planes/, "get ConfigMap kube-system/ostler-control-planes", "leader   yes     waits"],
  [/^list nodes/, "list nodes", "workers     ?"],
];

for (const [request, missing, cell] of denied) {
  Deno.test(`ostler status nodeversion/NAME: names a missing permission to ${missing}, and shows the rest`, async () => {
    const made = new UpgradeWorld();
    made.kube.onRequest = (asked) => {
      if (request.test(asked)) throw answer(403, "Forbidden");
    };
    const lines = await made.lines();
    assert.ok(lines.includes(`unknown     you are not allowed to ${missing}`), lines.join("\n"));
    assert.ok(lines.some((line) => line.includes(cell)), lines.join("\n"));
    const data = JSON.parse((await made.run(["status", "nv/v", "-o", "json"])).out);
    assert.deepEqual(data.kubernetes.missingPermissions, [missing]);
  });
}

Deno.test("ostler status nodeversion/NAME: shows twenty of 50 control planes, those that need a person first", async () => {
  const made = new UpgradeWorld();
  const role = { "node-role.kubernetes.io/control-plane": "" };
  for (let nth = 0; nth < 47; nth++) {
    const name = `cp-${String(nth).padStart(2, "0")}`;
    made.stage.worker(name, desired);
    Object.assign(made.kube.get("nodes", name)?.metadata ?? {}, { labels: role });
    made.stage.runs(name, desired);
  }
  const { conditions } = made.kube.get("nodes", "cp-40")?.["status"] as { conditions: { status: string }[] };
  for (const each of conditions) each.status = "False";
  const rows = (await made.lines()).slice(-22);
  assert.match(rows[1] ?? "", /^cp-40 +v1\.36\.1 .* no +up to date$/);
  assert.match(rows[2] ?? "", /^workers-1 .* waits$/);
  assert.equal(rows.at(-1), "30 more control planes: ostler status nodeversion/v -o wide");
  assert.equal((await made.lines("-o", "wide")).filter((line) => / up to date$/.test(line)).length, 47);
});

Deno.test("ostler status nodeversion/NAME: reports that the provider upgrades Kubernetes when no control plane is a node of the cluster", async () => {
  const made = new UpgradeWorld({ etcd: null });
  for (const nth of [1, 2, 3]) made.kube.remove("nodes", `workers-${nth}`);
  made.kube.remove("configmaps", "kubeadm-config", "kube-system");
  assert.deepEqual((await made.lines()).filter((line) => !/AwaitingApproval|^to do/.test(line)), [
    "kubernetes  v1.36.1 is wanted, and kubeadm recorded no version of the cluster",
    "            no control plane is a node of this cluster, so the provider of the cluster upgrades Kubernetes",
    "workers     2 nodes with kubelets v1.34.2 to v1.35.3",
  ]);
});

Deno.test("ostler status nodeversion/NAME: prints nothing that could control the terminal", async () => {
  const odd = "\u001b[31mv1\n\u202e";
  const made = new UpgradeWorld({ condition: { ...awaiting, reason: odd, message: odd } });
  Object.assign(made.kube.get("nodeversions", "v")?.["spec"] as object, {
    ...{ kubernetesClusterVersion: odd, imageVersion: odd },
  });
  made.stage.kubelet("workers-1", odd);
  made.stage.kubelet("w-1", odd);
  made.stage.part("workers-2", "kube-apiserver", odd);
  made.reports({ doubts: [{ says: odd }], seats: [{ name: odd, role: odd }] });
  const { code, out } = await made.run(["status", "nodeversion/v"]);
  assert.equal(code, 0);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(out, /[\u0000-\u0009\u000b-\u001f\u202e]/);
  assert.equal((await made.run(["status", "-A"])).code, 0);
});

Deno.test("ostler status: shows the wanted Kubernetes version and its condition without reading nodes, pods or kubeadm-config", async () => {
  const made = new UpgradeWorld();
  made.kube.onRequest = (request) => {
    if (/^get pods|^list nodes|kubeadm-config/.test(request)) throw answer(500, "InternalError");
  };
  const { code, out } = await made.run(["status", "-n", "kube-system"]);
  assert.equal(code, 0);
  assert.match(out, /\n\nkubernetes {2}v1\.36\.1 is wanted\n {12}AwaitingApproval: Waiting for approval/);
});

Deno.test("ostler status: shows etcd in the summary only when a voting member is missing or the members are unknown", async () => {
  const made = new UpgradeWorld();
  const shown = async (): Promise<string> => (await made.run(["status", "-n", "kube-system"])).out;
  assert.doesNotMatch(await shown(), /^etcd/m);
  made.reports({ quorum: { needed: 2, well: 1 } });
  assert.match(
    await shown(),
    /^etcd {8}1 of 3 voting, quorum 2: etcd has lost its quorum, as sg\/workers reported; see/m,
  );
  made.reports({ seats: [], quorum: { needed: 0, well: 0 } });
  assert.match(await shown(), /^etcd {8}members are unknown, as sg\/workers reported$/m);
});

Deno.test("ostler status nodeversion/NAME -o wide: shows the version of each etcd member, and a kubelet version with a vendor's suffix", async () => {
  const made = new UpgradeWorld({ etcd: { seats: [{ name: "m", machine: "workers-1", role: "Leader" }] } });
  made.stage.kubelet("workers-1", "v1.35.3+vendor.1");
  assert.match((await made.lines("-o", "wide")).join("\n"), /^NODE .* ETCD {5}ETCD VERSION {3}READY/m);
  assert.match(
    (await made.lines("-o", "wide")).join("\n"),
    /^workers-1 +v1\.35\.3\+vendor\.1 .* leader +3\.6\.5 +yes +\?$/m,
  );
});
