import assert from "node:assert/strict";
import { answer } from "../../../support/fake_kube.ts";
import { current, desired } from "../../../support/upgrade_stage.ts";
import { awaiting, UpgradeWorld } from "../../../support/upgrade_world.ts";

async function planned(made: UpgradeWorld, ...flags: string[]): Promise<string[]> {
  const { code, out, err } = await made.run(["plan", "nodeversion/v", ...flags]);
  assert.deepEqual([code, err, made.kube.writes, made.sent, made.planned], [0, "", [], [], []]);
  return out.trimEnd().split("\n");
}

// deno-lint-ignore no-explicit-any
async function data(made: UpgradeWorld): Promise<any> {
  return JSON.parse((await planned(made, "-o", "json")).join("\n"));
}

function annotate(made: UpgradeWorld, annotations: Record<string, string>): void {
  Object.assign(made.kube.get("nodeversions", "v")?.metadata ?? {}, { annotations });
}

const approved = { "ostler.dev/approved-kubernetes": desired };

Deno.test("ostler plan nodeversion/NAME: shows the order of control planes, that kubeadm cannot downgrade, and the approval command; writes nothing", async () => {
  assert.deepEqual(await planned(new UpgradeWorld()), [
    "nodeversion/v: Kubernetes v1.35.3 → v1.36.1 on 3 control planes",
    "",
    "ORDER   CONTROL PLANE   KUBELET   COMPONENTS   BY",
    "1       workers-2       v1.35.3   v1.35.3      kubeadm upgrade apply",
    "2       workers-3       v1.35.3   v1.35.3      kubeadm upgrade node",
    "3       workers-1       v1.35.3   v1.35.3      kubeadm upgrade node, leads etcd",
    "",
    'now         AwaitingApproval: Waiting for approval to upgrade 3 control planes, one at a time, from Kubernetes "v1.35.3" ' +
    'to "v1.36.1", which only a restored etcd snapshot can revert; to approve, set annotation ' +
    'ostler.dev/approved-kubernetes: "v1.36.1" on the NodeVersion',
    "finding     none in the objects that you may read",
    "unchecked   removed APIs that clients used on other API servers; present members of etcd; the plan of kubeadm",
    "one way     kubeadm cannot downgrade: only a restored snapshot of etcd reverts the upgrade",
    "snapshot    none is kept: set etcd.snapshot in the RolloutPolicy of the control planes",
    "approve     kubectl annotate --overwrite nodeversion v ostler.dev/approved-kubernetes=v1.36.1",
    "then        image image-1 for control planes: 1 of 1 group converged now",
  ]);
});

Deno.test("ostler plan nodeversion/NAME: shows the findings of the check before the upgrade, and which findings no approval overrides", async () => {
  const made = new UpgradeWorld({ etcd: { doubts: [{ says: "etcd has no leader" }] } });
  annotate(made, approved);
  const labels = 'group="batch",removed_release="1.36",resource="cronjobs",version="v1beta1"';
  made.kube.metricsOf = (server) => {
    assert.equal(server, undefined, "only the API server of the kubeconfig gets the user's credentials");
    return `apiserver_requested_deprecated_apis{${labels}} 1`;
  };
  made.stage.worker("w-3", current);
  const { conditions } = made.kube.get("nodes", "w-3")?.["status"] as { conditions: { status: string }[] };
  for (const each of conditions) each.status = "False";
  const web = { app: "web" };
  made.kube.put("pods", {
    metadata: { namespace: "apps", name: "web-1", labels: web },
    spec: { nodeName: "workers-1" },
  });
  made.kube.put("poddisruptionbudgets", {
    metadata: { namespace: "apps", name: "web", generation: 1 },
    spec: { selector: { matchLabels: web } },
    status: { observedGeneration: 1, disruptionsAllowed: 0, expectedPods: 1, desiredHealthy: 1 },
  });
  const lines = (await planned(made)).filter((line) => /^finding|^ {12}(Drain|Etcd|Node)/.test(line));
  assert.match(lines[0] ?? "", /^finding {5}ApiRemoved, which no approval overrides: .*cronjobs of batch\/v1beta1/);
  assert.match(lines[1] ?? "", /DrainImpossible, which no approval overrides: .*apps\/web-1 is protected by/);
  assert.match(lines[2] ?? "", /EtcdInDoubt: etcd has no leader$/);
  assert.match(lines[3] ?? "", /NodeNotReady: 1 node is not Ready: "w-3"$/);
  const { now, findings, approved: is } = await data(made);
  assert.deepEqual([now.step, now.reason, findings.length, is], ["Wait", "ApiRemoved", 4, true]);
});

Deno.test("ostler plan nodeversion/NAME: shows that an approved upgrade begins with the first control plane, or waits for its window", async () => {
  const made = new UpgradeWorld();
  annotate(made, approved);
  assert.deepEqual((await data(made)).now, {
    ...{ step: "Upgrade", reason: "Upgrading" },
    message: 'Upgrading control plane "workers-2" to Kubernetes "v1.36.1"; 0 of 3 control planes are done',
  });
  const policy = (windows: object[]): void => {
    made.kube.put("rolloutpolicies", {
      metadata: { namespace: "kube-system", name: "careful" },
      spec: { windows, etcd: { snapshot: { keep: "Folder", folder: "/var/lib/ostler/snapshots" } } },
    });
  };
  policy([{ cron: "0 3 * * *", duration: "1h", timeZone: "UTC" }]);
  const lines = await planned(made);
  assert.match(
    lines.join("\n"),
    /^now {9}OutsideWindow: The maintenance windows of control plane "workers-2" are closed/m,
  );
  assert.ok(lines.includes("snapshot    the policy keeps one before each control plane upgrade"), lines.join("\n"));
  assert.ok(lines.includes("approve     approved"));
});

Deno.test("ostler plan nodeversion/NAME: shows the reported condition, and the reason that would stop the upgrade later", async () => {
  const made = new UpgradeWorld({ condition: { ...awaiting, reason: "HandsMissing", message: "No hands" } });
  made.stage.runs("workers-3", desired);
  const lines = await planned(made);
  assert.ok(lines.includes("reported    HandsMissing: No hands"));
  assert.match(lines.find((line) => line.startsWith("later")) ?? "", /^later {7}ComponentsChanged: Cannot upgrade/);
});

Deno.test("ostler plan nodeversion/NAME: shows why the version is refused, and no order of control planes", async () => {
  const made = new UpgradeWorld();
  made.stage.want("v1.38.0");
  const lines = await planned(made);
  assert.equal(lines[0], "nodeversion/v: cannot upgrade Kubernetes to v1.38.0 now");
  assert.match(lines[2] ?? "", /^now {9}MinorSkipped: Cannot upgrade Kubernetes to "v1\.38\.0"/);
  assert.equal(lines.length, 4);
  made.stage.want("");
  assert.equal((await planned(made))[0], "nodeversion/v: no Kubernetes version is wanted");
});

Deno.test("ostler plan nodeversion/NAME: reports that nothing is to upgrade when all control planes run the version", async () => {
  const made = new UpgradeWorld();
  made.stage.want(current);
  assert.equal(
    (await planned(made))[0],
    "nodeversion/v: nothing to upgrade, all 3 control planes run Kubernetes v1.35.3",
  );
  const { order, now } = await data(made);
  assert.deepEqual([order, now.reason], [[], "Upgrading"]);
});

type Denied = [request: RegExp, missing: string, hasOrder: boolean];

const denied: Denied[] = [
  [/^list nodes/, "list nodes", false],
  [/^get pods /, "get pods in kube-system", false],
  [/kubeadm-config/, "get ConfigMap kube-system/kubeadm-config", false],
  [/components-2/, "get ConfigMaps in kube-system", false],
  [/^list pods/, "list pods and PodDisruptionBudgets", true],
  [/^list rolloutpolicies/, "list RolloutPolicies in kube-system", true],
];

for (const [request, missing, hasOrder] of denied) {
  Deno.test(`ostler plan nodeversion/NAME: names a missing permission to ${missing}, and shows the rest`, async () => {
    const made = new UpgradeWorld();
    made.kube.onRequest = (asked) => {
      if (request.test(asked)) throw answer(403, "Forbidden");
    };
    const lines = await planned(made);
    assert.ok(lines.includes(`unknown     you are not allowed to ${missing}`), lines.join("\n"));
    assert.equal(lines.some((line) => line.startsWith("1       workers-2")), hasOrder, lines.join("\n"));
    assert.ok((await data(made)).missingPermissions.includes(missing));
  });
}

Deno.test("ostler plan nodeversion/NAME: reports removed APIs as unchecked when the user cannot get /metrics of the API server", async () => {
  const made = new UpgradeWorld();
  made.kube.metricsOf = () => {
    throw answer(403, "Forbidden");
  };
  const lines = await planned(made);
  assert.ok(lines.includes("unknown     you are not allowed to get /metrics"));
  assert.ok(lines.includes("unchecked   removed APIs; present members of etcd; the plan of kubeadm"));
});

Deno.test("ostler plan nodeversion/NAME: shows 20 of 50 control planes, and all with -o wide", async () => {
  const made = new UpgradeWorld();
  const labels = { "node-role.kubernetes.io/control-plane": "" };
  for (let nth = 0; nth < 47; nth++) {
    const name = `z-${String(nth).padStart(2, "0")}`;
    made.stage.worker(name, current);
    Object.assign(made.kube.get("nodes", name)?.metadata ?? {}, { labels });
    made.stage.runs(name, current);
  }
  assert.ok((await planned(made)).includes("30 more control planes: ostler plan nodeversion/v -o wide"));
  assert.match((await planned(made, "-o", "wide")).join("\n"), /^50 +workers-1 /m);
});

Deno.test("ostler plan nodeversion/NAME: refuses a missing NodeVersion, and a file together with a NodeVersion", async () => {
  const made = new UpgradeWorld();
  const { code, err } = await made.run(["plan", "nv/w"]);
  assert.deepEqual([code, /Failed to find NodeVersion "w"/.test(err)], [1, true]);
  assert.equal((await made.run(["plan", "nv/v", "-f", "x.yaml"])).code, 2);
});

Deno.test("ostler plan nodeversion/NAME: fits into 80 columns on a terminal, without breaking its command", async () => {
  const terminal = { isWatched: true, columns: () => 80, env: { NO_COLOR: "1" } };
  const lines = (await new UpgradeWorld().run(["plan", "nodeversion/v"], terminal)).out.split("\n");
  const command = "approve     kubectl annotate --overwrite nodeversion v ostler.dev/approved-kubernetes=v1.36.1";
  assert.deepEqual(lines.filter((line) => line.length > 80), [command]);
});
