/** K23: control planes are upgraded to another version of Kubernetes, in place and one at a time. */
import { deepEqual, match, ok, rejects } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_failure.ts";
import { FakeUpgrade } from "../support/fake_upgrade.ts";
import { versions } from "../support/upgrade_surveys.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();
const short = onStage({ dynamicConfig: ["limit.historyCount.suggestContinueAsNew=100"] });
const { old, desired } = versions;

/** The effects of the upgrade of one control plane. */
function effectsOn(node: string, verb: "Apply" | "Node"): string[] {
  const verbs = ["Fetch", "slot", "relieve", "cordon", "drain", verb, "Kubelet", "uncordon", "announce", "free"];
  return verbs.map((each) => `${each} ${node}`);
}

const wholeUpgrade = [
  ...["check cluster", "Plan a"],
  ...[...effectsOn("a", "Apply"), ...effectsOn("c", "Node"), ...effectsOn("b", "Node")],
];

const upgradeOfOne = ["check cluster", "Plan a", ...effectsOn("a", "Apply")];

async function reported(upgrade: FakeUpgrade, reason: string): Promise<string> {
  await eventually(`${reason} of ${upgrade.name}`, () => upgrade.standing.reason === reason);
  return upgrade.standing.message;
}

test("K23 upgradeKubernetes: upgrades three control planes in order, the leader of etcd last", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  const { outcome, says } = await (await upgrade.start(stage)).result();
  deepEqual([outcome, says], ["UpToDate", `All 3 control planes run Kubernetes ${desired}`]);
  deepEqual(upgrade.done, wholeUpgrade);
  deepEqual([upgrade.violations, upgrade.cordoned(), upgrade.slots], [[], [], []]);
  const each = ["EtcdSaved", "Upgrading"];
  deepEqual(upgrade.told, ["Checking", "Upgrading", ...each, ...each, ...each, "UpToDate"]);
});

test("upgradeKubernetes: changes nothing when all control planes already run the desired version", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  await (await upgrade.start(stage)).result();
  upgrade.done.length = 0;
  deepEqual((await (await upgrade.start(stage)).result()).outcome, "UpToDate");
  deepEqual(upgrade.done, []);
});

test("upgradeKubernetes: runs only the check and kubeadm's plan before the approval, and repeats both after it", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.approved = old;
  upgrade.findings = [{ kind: "EtcdInDoubt", stops: false, message: "member x is slow" }];
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "AwaitingApproval"), /3 control planes.*"v1.36.1".*findings: member x is slow/);
  deepEqual(upgrade.done, ["check cluster", "Plan a"]);
  const { currentDetails } = await handle.query<{ currentDetails: string }>("__temporal_workflow_metadata");
  match(currentDetails, /^## AwaitingApproval\n(.*\n)+\| `a` \| .* \| waits \|\n(.*\n)+\*\*What to do\*\*/);
  upgrade.findings = [];
  upgrade.approved = desired; // the run's next survey finds the approval; no signal reports it
  deepEqual((await handle.result()).outcome, "UpToDate");
  // The approval can come days after the check, which is therefore repeated.
  deepEqual(upgrade.done, ["check cluster", "Plan a", ...wholeUpgrade]);
  deepEqual(upgrade.violations, []);
});

test("upgradeKubernetes: does not begin despite an approval when a finding stops the upgrade", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  const message = "flowschemas.v1beta3.flowcontrol.apiserver.k8s.io is in use";
  upgrade.findings = [{ kind: "ApiRemoved", stops: true, message }];
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "ApiRemoved"), /flowschemas/);
  deepEqual(upgrade.done, ["check cluster", "Plan a"]);
  upgrade.findings = [];
  upgrade.retry = "1";
  await handle.result();
  deepEqual(upgrade.done, ["check cluster", "Plan a", ...upgradeOfOne]);
});

test("upgradeKubernetes: does not begin when kubeadm refuses the plan", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.meet = (order) =>
    order === "Plan a" ? { outcome: "Refused", reason: "KubeadmRefused", message: "CoreDNS is unknown" } : undefined;
  await upgrade.start(stage);
  match(await reported(upgrade, "KubeadmRefuses"), /KubeadmRefused: CoreDNS is unknown/);
  deepEqual(upgrade.done, ["check cluster", "Plan a"]);
});

test("K23 upgradeKubernetes: halts, and keeps cordon and slot, when a node refuses an order, and continues on request", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.meet = (order) =>
    order === "Node c" ? { outcome: "Refused", reason: "KubeadmRefused", message: "no space left" } : undefined;
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "UpgradeHalted"), /"c": KubeadmRefused: no space left.*retry-kubernetes/);
  deepEqual([upgrade.cordoned(), upgrade.slots.length, upgrade.given("Node")], [["c"], 1, ["Node c"]]);
  await upgrade.start(stage); // a signal alone does not request a retry
  upgrade.meet = () => undefined;
  upgrade.retry = "fixed";
  deepEqual((await handle.result()).outcome, "UpToDate");
  deepEqual(upgrade.given("cordon", "Node"), ["cordon a", "cordon c", "Node c", "Node c", "cordon b", "Node b"]);
  deepEqual([upgrade.violations, upgrade.cordoned(), upgrade.slots], [[], [], []]);
});

test("K23, K27 upgradeKubernetes: frees the slot of a control plane that is lost during its upgrade, and continues after its repair", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.meet = (order) => {
    if (order !== "Node c") return undefined;
    upgrade.plane("c").isReady = false;
    return { outcome: "Unknown", message: "no pod of c reports" };
  };
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "UpgradeHalted"), /"c": the result of order "Node" did not arrive in time/);
  await eventually("the slot to be free for the group", () => upgrade.slots.length === 0);
  deepEqual(upgrade.cordoned(), ["c"]);
  upgrade.slots = [`kube-system/scaling-group.${upgrade.group}/${upgrade.group}-c`];
  await upgrade.start(stage);
  deepEqual(upgrade.given("slot", "Node"), ["slot a", "slot c", "Node c"]);
  const [other] = new FakeUpgrade(["d"]).planes;
  const version = { kubelet: desired, components: desired, isAnnounced: true };
  const planes = upgrade.planes.filter(({ node }) => node !== "c");
  Object.assign(upgrade, { planes: [...planes, { ...other, ...version, group: upgrade.group }], slots: [] });
  deepEqual((await handle.result()).outcome, "UpToDate");
  deepEqual(upgrade.given("Node"), ["Node c", "Node b"]);
  deepEqual([upgrade.violations, upgrade.slots], [[], []]);
});

test("K23 upgradeKubernetes: takes the slot again, and completes the upgrade, when a control plane is Ready again after its upgrade failed", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.meet = (order) => {
    if (order !== "Kubelet c") return undefined;
    upgrade.plane("c").isReady = false;
    return { outcome: "Refused", reason: "KubeletFailed", message: "exit code 1" };
  };
  const handle = await upgrade.start(stage);
  await reported(upgrade, "UpgradeHalted");
  await eventually("the slot to be free", () => upgrade.slots.length === 0);
  upgrade.retry = "1";
  await reported(upgrade, "ControlPlaneNotReady");
  deepEqual([upgrade.cordoned(), upgrade.slots], [["c"], []]);
  upgrade.meet = () => undefined;
  upgrade.plane("c").isReady = true;
  deepEqual((await handle.result()).outcome, "UpToDate");
  deepEqual(upgrade.given("slot", "Kubelet"), [
    ...["slot a", "Kubelet a", "slot c", "Kubelet c", "slot c", "Kubelet c", "slot b", "Kubelet b"],
  ]);
  deepEqual([upgrade.violations, upgrade.cordoned(), upgrade.slots], [[], [], []]);
});

test("upgradeKubernetes: continues when a person upgrades the halted control plane", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.meet = (order) =>
    order === "Kubelet c" ? { outcome: "Refused", reason: "KubeletFailed", message: "exit code 1" } : undefined;
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "UpgradeHalted"), /"c": KubeletFailed: exit code 1; fix the kubelet of the node/);
  upgrade.plane("c").kubelet = desired;
  deepEqual((await handle.result()).outcome, "UpToDate");
  deepEqual([upgrade.violations, upgrade.given("Kubelet")], [[], ["Kubelet a", "Kubelet c", "Kubelet b"]]);
});

test("upgradeKubernetes: halts, and keeps the control plane cordoned, when it is unhealthy after the upgrade of its components", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.isHealthy = () => false;
  const handle = await upgrade.start(stage);
  const message = await reported(upgrade, "UpgradeHalted");
  match(
    message,
    /not healthy in time after the upgrade of its components: pod of a is not Ready; the next attempt is at 2/,
  );
  deepEqual([upgrade.cordoned(), upgrade.given("cordon", "Kubelet")], [["a"], ["cordon a"]]);
  upgrade.isHealthy = () => true;
  upgrade.retry = "1";
  await handle.result();
  deepEqual(upgrade.violations, []);
});

test("K23 upgradeKubernetes: does not count outages of the API server as a failure, and upgrades every control plane", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.unseen = [3_600_000, 1, 3_600_000, 1];
  const away = ["surveyUpgrade", "checkUpgrade", "awaitUpgradeOrdered", "awaitMachineRelieved", "awaitNodeEmptied"];
  const also = ["awaitControlPlaneHealthy", "ensureControlPlaneUncordoned", "ensureSlotsKept", "ensureUpgradeReported"];
  const left = new Set([...away, ...also]);
  upgrade.failing = (name) => left.delete(name) ? failure("ApiUnavailable", `Failed to ${name}: 503`) : undefined;
  const handle = await upgrade.start(stage);
  let isOver = false;
  const end = handle.result().finally(() => isOver = true);
  // A signal follows each outage, because the run would otherwise wait for ten minutes before it reads again.
  await eventually("the end", async () => {
    if (!isOver) await handle.signal("nodeVersionChanged").catch(() => {});
    return isOver;
  }, { pausesMs: [200, 200] });
  deepEqual([(await end).outcome, left.size, upgrade.violations], ["UpToDate", 0, []]);
  // The upgrade of "a" is repeated from its first step, but when kubeadm runs on "a" a second time, it changes nothing.
  deepEqual(upgrade.given("cordon", "Apply", "Node"), [
    ...["cordon a", "Apply a", "Node a", "cordon c", "Node c", "cordon b", "Node b"],
  ]);
  ok(upgrade.told.includes("ApiUnavailable"));
});

test("upgradeKubernetes: reports that the API server denies a read, and continues after the next signal", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.failing = (name) => name === "readDesired" ? failure("AccessDenied", "Failed to read: forbidden") : undefined;
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "AccessDenied"), /forbidden/);
  deepEqual(upgrade.done, ["check cluster", "Plan a"]);
  upgrade.failing = () => undefined;
  await upgrade.start(stage);
  deepEqual((await handle.result()).outcome, "UpToDate");
});

test("K23 upgradeKubernetes: keeps the slot of a control plane in progress also while it cannot read the policy", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.meet = (order) => order === "Apply a" ? { outcome: "Unknown", message: "no answer" } : undefined;
  const first = await upgrade.start(stage);
  await reported(upgrade, "UpgradeHalted");
  await first.terminate();
  upgrade.renewals = 0;
  upgrade.failing = (name) => name === "readDesired" ? failure("AccessDenied", "Failed to read: forbidden") : undefined;
  const handle = await upgrade.start(stage);
  await reported(upgrade, "AccessDenied");
  await eventually("the slot to be renewed", () => upgrade.renewals === 1);
  Object.assign(upgrade, { failing: () => undefined, meet: () => undefined });
  await upgrade.start(stage);
  deepEqual([(await handle.result()).outcome, upgrade.violations], ["UpToDate", []]);
});

test("upgradeKubernetes: upgrades the control plane in progress to the new version when the version changes during its drain", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.before = (effect) => {
    if (effect === "drain c") Object.assign(upgrade, { version: "v1.36.2", approved: "v1.36.2" });
  };
  const handle = await upgrade.start(stage);
  deepEqual((await handle.result()).says, "All 3 control planes run Kubernetes v1.36.2");
  deepEqual(upgrade.given("check", "Plan", "Apply", "Node"), [
    ...["check cluster", "Plan a", "Apply a", "check cluster", "Plan c", "Apply c", "Node a", "Node b"],
  ]);
  deepEqual([upgrade.violations, upgrade.given("cordon")], [[], ["cordon a", "cordon c", "cordon a", "cordon b"]]);
});

test("upgradeKubernetes: uncordons a drained control plane when the version changes without a new approval", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.before = (effect) => {
    if (effect === "drain a") upgrade.version = "v1.36.2";
  };
  const handle = await upgrade.start(stage);
  await reported(upgrade, "AwaitingApproval");
  await eventually("the slot to be free", () => upgrade.slots.length === 0);
  deepEqual([upgrade.cordoned(), upgrade.given("Apply")], [[], []]);
  upgrade.approved = "v1.36.2";
  await handle.result();
  deepEqual([upgrade.violations, upgrade.plane("b").kubelet], [[], "v1.36.2"]);
});

test("upgradeKubernetes: refuses a downgrade, and continues when a later version is desired", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.version = "v1.34.9";
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "Downgrade"), /Cannot upgrade Kubernetes to "v1.34.9": the cluster runs "v1.35.4"/);
  deepEqual(upgrade.done, []);
  upgrade.version = desired;
  await handle.result();
  deepEqual(upgrade.done, upgradeOfOne);
});

test("upgradeKubernetes: keeps the control plane in progress cordoned when it is cancelled, and completes it in the next run", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  const reachedNode = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  upgrade.before = async (effect) => {
    if (effect !== "Node c") return;
    reachedNode.resolve();
    await goOn.promise;
  };
  const handle = await upgrade.start(stage);
  await reachedNode.promise;
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  match(
    upgrade.standing.message,
    /cancelled: control plane "c" stays cordoned until the next run completes its upgrade/,
  );
  deepEqual([upgrade.cordoned(), upgrade.slots.length], [["c"], 1]);
  goOn.resolve();
  const next = await upgrade.start(stage);
  deepEqual((await next.result()).outcome, "UpToDate");
  deepEqual([upgrade.violations, upgrade.given("cordon")], [[], ["cordon a", "cordon c", "cordon b"]]);
});

test("upgradeKubernetes: gives the slot back when it is cancelled before a cordon", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.doubts = ["member y does not answer"];
  upgrade.blockers = [];
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "EtcdInDoubt"), /Keeping control plane "a" unchanged: member y does not answer/);
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  deepEqual([upgrade.standing.reason, upgrade.slots, upgrade.cordoned()], ["UpgradeCancelled", [], []]);
});

test("fault K23 upgradeKubernetes: reports its cancellation even if it cannot give the slot back yet", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.approved = "";
  const handle = await upgrade.start(stage);
  await reported(upgrade, "AwaitingApproval");
  const left = new Set(["ensureSlotsKept"]);
  upgrade.failing = (name) => left.delete(name) ? failure("ApiUnavailable", `Failed to ${name}: 503`) : undefined;
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  deepEqual([upgrade.standing.reason, left.size], ["UpgradeCancelled", 0]);
});

test("fault K23 upgradeKubernetes: reports its cancellation, and keeps a cordoned control plane's slot, even if it cannot read the control planes", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.blockers = [{ pod: "default/web-1", owner: "Deployment default/web", why: "no disruption is allowed" }];
  const handle = await upgrade.start(stage);
  await reported(upgrade, "DrainBlocked");
  upgrade.failing = (name) => name === "surveyUpgrade" ? failure("CloudRefused", "credentials expired") : undefined;
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  match(
    upgrade.standing.message,
    /was cancelled: cannot read which control planes are half done: credentials expired; to continue, set annotation/,
  );
  deepEqual([upgrade.standing.reason, upgrade.cordoned(), upgrade.slots.length], ["UpgradeCancelled", ["a"], 1]);
});

test("fault K23 upgradeKubernetes: gives back a slot that it took before a cordon when it is cancelled and cannot read the control planes", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  upgrade.before = async (effect) => {
    if (effect !== "relieve a") return;
    reached.resolve();
    await goOn.promise;
  };
  const handle = await upgrade.start(stage);
  await reached.promise;
  upgrade.failing = (name) => name === "surveyUpgrade" ? failure("AccessDenied", "nodes is forbidden") : undefined;
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  goOn.resolve();
  deepEqual([upgrade.standing.reason, upgrade.slots], ["UpgradeCancelled", []]);
});

short(
  "fault K23 upgradeKubernetes: does not repeat a refused order by itself when it continues as new",
  async (stage) => {
    const upgrade = new FakeUpgrade(["a"]).on(stage);
    upgrade.meet = (order) =>
      order === "Apply a" ? { outcome: "Refused", reason: "KubeadmRefused", message: "exit code 1" } : undefined;
    const { workflowId } = await upgrade.start(stage);
    const latest = stage.client.workflow.getHandle(workflowId);
    const message = await reported(upgrade, "UpgradeHalted");
    for (const nth of [1, 2]) {
      const { runId } = await latest.describe();
      // The controller sends this signal at least every five minutes.
      await eventually(`continue-as-new ${nth}`, async () => {
        await upgrade.start(stage);
        return (await latest.describe()).runId !== runId;
      });
    }
    deepEqual([upgrade.given("Apply"), upgrade.standing.message], [["Apply a"], message]);
    upgrade.meet = () => undefined;
    upgrade.retry = "1";
    await latest.result();
    deepEqual([upgrade.given("Apply"), upgrade.violations], [["Apply a", "Apply a"], []]);
  },
);

test("fault K23 upgradeKubernetes: waits for a change, without repeated surveys, when a halt has ended and a control plane is not Ready", async (stage) => {
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.slots = ["kube-system/scaling-group.other/m"];
  const handle = await upgrade.start(stage);
  await reported(upgrade, "ClusterBudget");
  let surveys = 0;
  upgrade.failing = (name) => {
    if (name === "surveyUpgrade") surveys += 1;
    return undefined;
  };
  // The other run that has the slot takes its machine out of service.
  upgrade.plane("c").isReady = false;
  await upgrade.start(stage); // this signal ends the halt
  await reported(upgrade, "ControlPlaneNotReady");
  const { historyLength } = await handle.describe();
  surveys = 0;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  ok(surveys <= 1, `${surveys} surveys without a change`);
  ok((await handle.describe()).historyLength - historyLength < 20, "the history grows without a change");
  Object.assign(upgrade, { slots: [] });
  upgrade.plane("c").isReady = true;
  deepEqual([(await handle.result()).outcome, upgrade.violations], ["UpToDate", []]);
});

test("upgradeKubernetes: gives the slot back while etcd has a problem, so that a repair can take the slot", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.doubts = ["member y does not answer"];
  const handle = await upgrade.start(stage);
  await reported(upgrade, "EtcdInDoubt");
  await eventually("the slot to be free", () => upgrade.slots.length === 0);
  upgrade.doubts = [];
  await upgrade.start(stage);
  await handle.result();
  deepEqual(upgrade.violations, []);
});

test("upgradeKubernetes: gives the slot of a terminated run back while etcd has a problem", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.before = (effect) => {
    if (effect === "relieve a") upgrade.doubts = ["member y does not answer"];
  };
  upgrade.meet = (order) => order === "Apply a" ? { outcome: "Unknown", message: "no answer" } : undefined;
  const first = await upgrade.start(stage);
  match(await reported(upgrade, "UpgradeHalted"), /the result of order "Apply" did not arrive in time: no answer/);
  deepEqual([upgrade.cordoned(), upgrade.slots.length], [["a"], 1]);
  await first.terminate();
  Object.assign(upgrade, { meet: () => undefined, before: () => {} });
  const handle = await upgrade.start(stage);
  await reported(upgrade, "EtcdInDoubt");
  deepEqual([upgrade.cordoned(), upgrade.slots], [[], []]);
  upgrade.doubts = [];
  await upgrade.start(stage);
  await handle.result();
  deepEqual(upgrade.violations, []);
});

test("upgradeKubernetes: waits while the run of a scaling group has the slot", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.slots = ["kube-system/scaling-group.other/m"];
  const handle = await upgrade.start(stage);
  match(
    await reported(upgrade, "ClusterBudget"),
    /only one control plane can be out of service at a time: "kube-system.*other\/m"/,
  );
  deepEqual(upgrade.given("cordon"), []);
  upgrade.slots = [];
  await upgrade.start(stage);
  await handle.result();
  deepEqual([upgrade.violations, upgrade.slots], [[], []]);
});

test("upgradeKubernetes: reports pods that block the drain, and continues when they are gone", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.blockers = [{ pod: "default/web-1", owner: "Deployment default/web", why: "no disruption is allowed" }];
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "DrainBlocked"), /node "a": waiting for pod "default\/web-1"/);
  deepEqual(upgrade.cordoned(), ["a"]);
  upgrade.blockers = [];
  await handle.result();
  deepEqual(upgrade.violations, []);
});

test("upgradeKubernetes: forces a drain only if the policy of the group allows it", async (stage) => {
  const blockers = [{ pod: "default/web-1", owner: "Deployment default/web", why: "no disruption is allowed" }];
  const drain = { timeout: 100, localStorage: "Delete", order: "ByPriority" } as const;
  const forced = new FakeUpgrade(["a"]).on(stage);
  Object.assign(forced, { blockers, rules: { drain: { ...drain, onBlocked: "Force" } } });
  const waiting = new FakeUpgrade(["a"]).on(stage);
  Object.assign(waiting, { blockers, rules: { drain: { ...drain, onBlocked: "SetAside" } } });
  const [handle] = await Promise.all([forced.start(stage), waiting.start(stage)]);
  match(await reported(waiting, "UpgradeHalted"), /waiting for pod "default\/web-1"/);
  deepEqual([waiting.cordoned(), waiting.given("Apply")], [["a"], []]);
  await handle.result();
  deepEqual(forced.violations, []);
});

test("upgradeKubernetes: begins no control plane outside the windows of its group", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.rules = { windows: [{ from: Date.now() + 3_600_000, to: Date.now() + 7_200_000 }] };
  const handle = await upgrade.start(stage);
  match(
    await reported(upgrade, "OutsideWindow"),
    /windows of control plane "a" are closed; the next window opens at 2/,
  );
  deepEqual(upgrade.done, ["check cluster", "Plan a"]);
  upgrade.rules = {};
  await upgrade.start(stage);
  await handle.result();
  deepEqual(upgrade.done, upgradeOfOne);
});

test("upgradeKubernetes: upgrades the only control plane of a cluster", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.approved = "";
  const handle = await upgrade.start(stage);
  match(await reported(upgrade, "AwaitingApproval"), /upgrade the control plane .* the API server will be unavailable/);
  upgrade.approved = desired;
  deepEqual((await handle.result()).says, `The control plane runs Kubernetes ${desired}`);
  deepEqual(upgrade.violations, []);
});

test("upgradeKubernetes: halts when the components run the old version after the upgrade, instead of repeating the upgrade immediately", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.before = (effect) => {
    if (effect === "free a") upgrade.plane("a").components = old; // as if an old static pod had returned
  };
  await upgrade.start(stage);
  match(
    await reported(upgrade, "UpgradeHalted"),
    /the upgrade ended, but the kubelet runs "v1.36.1", the components run "v1.35.4"/,
  );
  deepEqual(upgrade.given("cordon"), ["cordon a"]);
});

test("upgradeKubernetes: uncordons control planes and gives the slot back when its NodeVersion is deleted", async (stage) => {
  const upgrade = new FakeUpgrade(["a"]).on(stage);
  upgrade.isHealthy = () => false;
  const handle = await upgrade.start(stage);
  await reported(upgrade, "UpgradeHalted");
  upgrade.isGone = true;
  deepEqual((await handle.result()).outcome, "Gone");
  deepEqual([upgrade.cordoned(), upgrade.slots], [[], []]);
});
