/** The certificates of control planes are renewed before they expire, one control plane at a time. */
import { deepEqual, match, notEqual, rejects } from "node:assert/strict";
import { certificatesIdOf, holderOfRenewal, poolOfGroup } from "../../workflows/commands/start_options.ts";
import { assertAllBroken, breakEachOnce } from "../support/broken_steps.ts";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_failure.ts";
import { FakeRenewal } from "../support/fake_renewal.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();
const uncached = onStage({ maxCachedWorkflows: 0 });
const short = onStage({ dynamicConfig: ["limit.historyCount.suggestContinueAsNew=100"] });

function effectsOn(node: string): string[] {
  return ["read", "slot", "relieve", "Renew", "read", "free"].map((verb) => `${verb} ${node}`);
}

const whole = ["a", "c", "b"].flatMap(effectsOn);
const refused = { outcome: "Refused", message: "pki/ca.key is not here" } as const;

async function reported(renewal: FakeRenewal, reason: string): Promise<string> {
  await eventually(`${reason} of ${renewal.name}`, () => renewal.standing.reason === reason);
  return renewal.standing.message;
}

test("renewCertificates: renews three control planes one at a time, the leader of etcd last", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  const { outcome, says } = await (await renewal.start(stage)).result();
  deepEqual([outcome, says], ["UpToDate", "No certificate of the servers of 3 control planes expires soon"]);
  deepEqual([renewal.done, renewal.violations, renewal.slots], [whole, [], []]);
  deepEqual(renewal.reasons, ["Renewing", "CertificatesRenewed"]);
});

test("renewCertificates: renews only control planes whose certificates expire soon, and skips one that a person has renewed since the last read", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.plane("a").due = "";
  renewal.plane("b").isRenewed = true; // a person renewed it after the last read
  await (await renewal.start(stage)).result();
  deepEqual(renewal.done, [...effectsOn("c"), "read b"]);
  deepEqual(renewal.violations, []);
});

test("renewCertificates: ends without a report when no certificate expires soon, or when hands-image is not set", async (stage) => {
  const idle = new FakeRenewal().on(stage);
  for (const plane of idle.planes) plane.due = "";
  const without = new FakeRenewal().on(stage);
  without.trouble = { reason: "HandsMissing", message: "set hands-image" };
  for (const renewal of [idle, without]) {
    deepEqual((await (await renewal.start(stage)).result()).outcome, "UpToDate");
    deepEqual([renewal.done, renewal.reasons], [[], []]);
  }
});

test("renewCertificates: waits without a slot while etcd has a problem, so that a repair can take the slot", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.doubts = ["member y does not answer"];
  const handle = await renewal.start(stage);
  match(await reported(renewal, "EtcdInDoubt"), /Keeping control plane "a" unchanged: member y does not answer/);
  await eventually("the slot to be free", () => renewal.slots.length === 0);
  deepEqual(renewal.given("Renew"), []);
  renewal.doubts = [];
  await renewal.start(stage);
  await handle.result();
  deepEqual([renewal.given("Renew"), renewal.violations], [["Renew a", "Renew c", "Renew b"], []]);
});

test("renewCertificates: releases the slot when it cannot reach etcd", async (stage) => {
  const renewal = new FakeRenewal(["a"]).on(stage);
  renewal.failing = (name) =>
    name === "awaitMachineRelieved" ? failure("EtcdAccessMissing", "Failed to reach etcd: no Secret") : undefined;
  const handle = await renewal.start(stage);
  await reported(renewal, "EtcdAccessMissing");
  deepEqual([renewal.slots, renewal.given("Renew")], [[], []]);
  renewal.failing = () => undefined;
  await renewal.start(stage);
  await handle.result();
  deepEqual(renewal.violations, []);
});

test("renewCertificates: gives the slot of a control plane in progress back while etcd has a problem, and completes it later", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.meet = () => ({ outcome: "Unknown", message: "no answer" });
  const first = await renewal.start(stage);
  match(await reported(renewal, "RenewalHalted"), /"a": the result of the order did not arrive in time: no answer/);
  await first.terminate();
  // The servers on "a" already present the new certificates, but the other static pods of "a" do not use them yet.
  Object.assign(renewal.plane("a"), { due: "", isRenewed: true });
  Object.assign(renewal, { doubts: ["member y does not answer"], meet: () => undefined });
  const handle = await renewal.start(stage);
  await reported(renewal, "EtcdInDoubt");
  await eventually("the slot to be free", () => renewal.slots.length === 0);
  renewal.doubts = [];
  await renewal.start(stage);
  await handle.result();
  deepEqual(renewal.given("Renew", "Repeat"), ["Renew a", "Repeat a", "Renew c", "Renew b"]);
  deepEqual([renewal.violations, renewal.slots], [[], []]);
});

test("renewCertificates: halts when a node refuses an order, gives the slot back, and begins no other control plane", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.meet = (node) => node === "c" ? { ...refused, reason: "AuthorityExternal" } : undefined;
  const handle = await renewal.start(stage);
  const message = await reported(renewal, "RenewalHalted");
  match(
    message,
    /"c": AuthorityExternal: pki\/ca\.key is not here; renew .* annotation ostler.dev\/renew-certificates/,
  );
  deepEqual([renewal.given("Renew"), renewal.slots], [["Renew a", "Renew c"], []]);
  await renewal.start(stage); // a signal without a changed setting does not request another attempt
  renewal.meet = () => undefined;
  Object.assign(renewal, { setting: "again" });
  await renewal.start(stage);
  deepEqual((await handle.result()).outcome, "UpToDate");
  deepEqual(renewal.given("Renew"), ["Renew a", "Renew c", "Renew c", "Renew b"]);
  deepEqual(renewal.violations, []);
});

test("renewCertificates: continues when a person renews the certificates of the halted control plane", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.meet = (node) => node === "a" ? { ...refused, reason: "ToolMissing" } : undefined;
  const handle = await renewal.start(stage);
  await reported(renewal, "RenewalHalted");
  Object.assign(renewal.plane("a"), { isRenewed: true, due: "" });
  await renewal.start(stage);
  await handle.result();
  deepEqual(renewal.given("Renew"), ["Renew a", "Renew c", "Renew b"]);
});

test("renewCertificates: keeps the slot of a control plane whose restart failed, and completes it on request", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.meet = (node) => node === "c" ? { ...refused, reason: "RestartFailed" } : undefined;
  const handle = await renewal.start(stage);
  match(await reported(renewal, "RenewalHalted"), /"c": RestartFailed: .*; the next attempt is at 2/);
  deepEqual([renewal.slots.length, renewal.given("Renew")], [1, ["Renew a", "Renew c"]]);
  renewal.meet = () => undefined;
  renewal.setting = "again";
  await renewal.start(stage);
  await handle.result();
  deepEqual([renewal.violations, renewal.slots], [[], []]);
});

test("renewCertificates: halts when a control plane is unhealthy after its renewal, and begins no other", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.isHealthy = () => false;
  await renewal.start(stage);
  match(
    await reported(renewal, "RenewalHalted"),
    /"a": the control plane was not healthy in time after the renewal: etcd of a did not restart/,
  );
  deepEqual([renewal.given("Renew"), renewal.slots.length], [["Renew a"], 1]);
});

test("renewCertificates: halts when a certificate still expires soon after its renewal, instead of renewing it at once", async (stage) => {
  const renewal = new FakeRenewal(["a"]).on(stage);
  renewal.before = (effect) => {
    if (effect === "free a") renewal.plane("a").due = "still";
  };
  await renewal.start(stage);
  match(
    await reported(renewal, "RenewalHalted"),
    /the renewal ended, but a certificate of the node's API server or etcd still expires soon/,
  );
  deepEqual(renewal.given("Renew", "Repeat"), ["Renew a"]);
});

test("renewCertificates: waits while an upgrade has the slot, and until the other control planes are Ready", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.slots = ["kube-system/upgrade-kubernetes.v/m"];
  const handle = await renewal.start(stage);
  match(await reported(renewal, "ClusterBudget"), /"kube-system\/upgrade-kubernetes\.v\/m" has the slot/);
  renewal.slots = [];
  renewal.plane("b").isReady = false;
  await renewal.start(stage);
  match(await reported(renewal, "ControlPlaneNotReady"), /control plane "b" to be Ready before "a" gets/);
  deepEqual(renewal.given("Renew"), []);
  renewal.plane("b").isReady = true;
  await renewal.start(stage);
  await handle.result();
  deepEqual(renewal.violations, []);
});

test("renewCertificates: begins no control plane outside the windows of its group", async (stage) => {
  const renewal = new FakeRenewal(["a"]).on(stage);
  renewal.rules = { windows: [{ from: Date.now() + 3_600_000, to: Date.now() + 7_200_000 }] };
  const handle = await renewal.start(stage);
  await reported(renewal, "OutsideWindow");
  deepEqual(renewal.done, ["read a"]);
  renewal.rules = {};
  await renewal.start(stage);
  await handle.result();
});

test("renewCertificates: does not count outages of the API server as a failure, and renews every control plane once", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.unseen = [3_600_000, 1, 3_600_000, 1];
  const away = ["surveyRenewal", "ensureCertificatesRead", "ensureSlotTaken", "awaitMachineRelieved"];
  const left = new Set([...away, "awaitRenewalOrdered", "awaitCertificatesRenewed", "ensureSlotsKept"]);
  renewal.failing = (name) => left.delete(name) ? failure("ApiUnavailable", `Failed to ${name}: 503`) : undefined;
  const handle = await renewal.start(stage);
  let isOver = false;
  const end = handle.result().finally(() => isOver = true);
  // Sends a signal after each outage, because the run would otherwise wait for a minute.
  await eventually("the end", async () => {
    if (!isOver) await handle.signal("nodeVersionChanged").catch(() => {});
    return isOver;
  }, { pausesMs: [200, 200] });
  deepEqual([(await end).outcome, left.size, renewal.violations], ["UpToDate", 0, []]);
  deepEqual(renewal.given("Renew"), ["Renew a", "Renew c", "Renew b"]);
});

test("renewCertificates: keeps the slot when it is cancelled during an order, which the next run completes without a second order", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  renewal.before = async (effect) => {
    if (effect !== "Renew c") return;
    reached.resolve();
    await goOn.promise;
  };
  const handle = await renewal.start(stage);
  await reached.promise;
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  match(renewal.standing.message, /was cancelled: control plane "c" may still restart its static pods/);
  deepEqual([renewal.standing.reason, renewal.slots.length], ["RenewalCancelled", 1]);
  goOn.resolve();
  const next = await renewal.start(stage);
  deepEqual((await next.result()).outcome, "UpToDate");
  deepEqual([renewal.violations, renewal.given("Renew")], [[], ["Renew a", "Renew c", "Renew b"]]);
});

test("renewCertificates: gives the slot back when it is cancelled before an order", async (stage) => {
  const renewal = new FakeRenewal(["a"]).on(stage);
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  renewal.before = async (effect) => {
    if (effect !== "relieve a") return;
    reached.resolve();
    await goOn.promise;
  };
  const handle = await renewal.start(stage);
  await reached.promise;
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  goOn.resolve();
  match(renewal.standing.message, /no control plane is half done/);
  deepEqual(renewal.slots, []);
});

test("renewCertificates: reports its cancellation even if it cannot read the control planes", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.slots = ["kube-system/scaling-group.other/m"];
  const handle = await renewal.start(stage);
  await reported(renewal, "ClusterBudget");
  renewal.failing = (name) => name === "surveyRenewal" ? failure("CloudRefused", "credentials expired") : undefined;
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  match(
    renewal.standing.message,
    /was cancelled: cannot read which control planes are half done: credentials expired$/,
  );
  deepEqual(renewal.standing.reason, "RenewalCancelled");
});

test("renewCertificates: reports its cancellation even if it cannot give the slot back yet", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.slots = ["kube-system/scaling-group.other/m"];
  const handle = await renewal.start(stage);
  await reported(renewal, "ClusterBudget");
  const left = new Set(["ensureSlotsKept"]);
  renewal.failing = (name) => left.delete(name) ? failure("ApiUnavailable", `Failed to ${name}: 503`) : undefined;
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  deepEqual([renewal.standing.reason, left.size], ["RenewalCancelled", 0]);
});

test("renewCertificates: reports a control plane as half done when the run is cancelled after a restart failed and the run gave the slot back", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.meet = () => ({ ...refused, reason: "RestartFailed" });
  const handle = await renewal.start(stage);
  await reported(renewal, "RenewalHalted");
  Object.assign(renewal, { doubts: ["member y does not answer"], setting: "again" });
  await renewal.start(stage);
  await reported(renewal, "EtcdInDoubt");
  await eventually("the slot to be free", () => renewal.slots.length === 0);
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  match(
    renewal.standing.message,
    /was cancelled: control plane "a" is half done: some of its static pods may still use the previous certificates/,
  );
});

short("renewCertificates: does not repeat a refused order by itself when it continues as new", async (stage) => {
  const renewal = new FakeRenewal(["a"]).on(stage);
  renewal.meet = () => ({ ...refused, reason: "ToolMissing" });
  const { workflowId } = await renewal.start(stage);
  const latest = stage.client.workflow.getHandle(workflowId);
  const message = await reported(renewal, "RenewalHalted");
  for (const nth of [1, 2]) {
    const { runId } = await latest.describe();
    // The controller sends this signal at least once an hour.
    await eventually(`continue-as-new ${nth}`, async () => {
      await renewal.start(stage);
      return (await latest.describe()).runId !== runId;
    });
  }
  deepEqual([renewal.given("Renew"), renewal.standing.message], [["Renew a"], message]);
  Object.assign(renewal, { meet: () => undefined, setting: "again" });
  await renewal.start(stage);
  await latest.result();
  deepEqual([renewal.given("Renew"), renewal.violations], [["Renew a", "Renew a"], []]);
});

test("renewCertificates: frees the slot of a control plane that is lost during its renewal, and completes it when it is Ready again", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.meet = (node) => {
    if (node !== "c") return undefined;
    renewal.plane("c").isReady = false;
    return { outcome: "Unknown", message: "no pod of c reports" };
  };
  const handle = await renewal.start(stage);
  match(await reported(renewal, "RenewalHalted"), /"c": the result of the order did not arrive in time/);
  await eventually("the slot to be free for a repair", () => renewal.slots.length === 0);
  renewal.setting = "again";
  await renewal.start(stage);
  match(await reported(renewal, "ControlPlaneNotReady"), /Waiting for control plane "c" to be Ready/);
  deepEqual([renewal.slots, renewal.given("slot", "Renew")], [[], ["slot a", "Renew a", "slot c", "Renew c"]]);
  renewal.meet = () => undefined;
  renewal.plane("c").isReady = true;
  await renewal.start(stage);
  deepEqual((await handle.result()).outcome, "UpToDate");
  deepEqual(renewal.given("Renew"), ["Renew a", "Renew c", "Renew c", "Renew b"]);
  deepEqual([renewal.violations, renewal.slots], [[], []]);
});

test("renewCertificates: continues when a control plane that was lost during its renewal was replaced", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.meet = (node) => {
    if (node !== "c") return undefined;
    renewal.plane("c").isReady = false;
    return { outcome: "Unknown", message: "no pod of c reports" };
  };
  const handle = await renewal.start(stage);
  await reported(renewal, "RenewalHalted");
  await eventually("the slot to be free for a repair", () => renewal.slots.length === 0);
  Object.assign(renewal, { planes: renewal.planes.filter(({ node }) => node !== "c") });
  await renewal.start(stage);
  deepEqual((await handle.result()).outcome, "UpToDate");
  deepEqual([renewal.given("Renew"), renewal.violations], [["Renew a", "Renew c", "Renew b"], []]);
});

test("renewCertificates: takes no slot for a control plane that is not Ready, so that its repair can begin", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.plane("a").isReady = false;
  const handle = await renewal.start(stage);
  match(await reported(renewal, "ControlPlaneNotReady"), /Waiting for control plane "a" to be Ready before "a" gets/);
  deepEqual(renewal.done, []);
  renewal.plane("a").isReady = true;
  await renewal.start(stage);
  deepEqual([(await handle.result()).outcome, renewal.violations], ["UpToDate", []]);
});

test("renewCertificates: completes the control plane in progress when a person turns renewals off, and begins no other", async (stage) => {
  const renewal = new FakeRenewal().on(stage);
  renewal.before = (effect) => {
    if (effect === "Renew a") renewal.setting = "Off";
  };
  await (await renewal.start(stage)).result();
  deepEqual([renewal.given("Renew"), renewal.slots, renewal.standing.reason], [["Renew a"], [], "RenewalOff"]);
});

test("renewCertificates: gives its slot back when its NodeVersion is deleted", async (stage) => {
  const renewal = new FakeRenewal(["a"]).on(stage);
  renewal.isHealthy = () => false;
  const handle = await renewal.start(stage);
  await reported(renewal, "RenewalHalted");
  renewal.isGone = true;
  await renewal.start(stage);
  deepEqual([(await handle.result()).outcome, renewal.slots], ["Gone", []]);
});

test("renewCertificates: runs of two clusters have different IDs and holders", async (stage) => {
  const [east, plain] = [{ cluster: "east", name: "v" }, { name: "v" }];
  deepEqual([certificatesIdOf(east), certificatesIdOf(plain)], ["east/renew-certificates/v", "renew-certificates/v"]);
  notEqual(JSON.stringify(holderOfRenewal(east)), JSON.stringify(holderOfRenewal(plain)));
  const renewal = new FakeRenewal(["a"], { cluster: "east" }).on(stage);
  const handle = await renewal.start(stage);
  deepEqual([handle.workflowId, (await handle.result()).outcome], [certificatesIdOf(renewal.object), "UpToDate"]);
});

uncached(
  "renewCertificates: interrupted before and after every step, each order is carried out once",
  async (stage) => {
    const renewal = new FakeRenewal().on(stage);
    const { steps: ofVersion, broken } = breakEachOnce(renewal.ofVersion());
    const pools = breakEachOnce(renewal.ofPools());
    stage.activities.renewals.set(renewal.name, ofVersion as never);
    for (const { name } of [poolOfGroup(renewal.group), holderOfRenewal({ name: renewal.name })]) {
      stage.activities.others.set(name, pools.steps as never);
    }
    const { outcome } = await (await renewal.start(stage)).result();
    deepEqual([outcome, renewal.violations, renewal.slots], ["UpToDate", [], []]);
    deepEqual(renewal.given("Renew"), ["Renew a", "Renew c", "Renew b"]);
    const names = ["surveyRenewal", "ensureCertificatesRead", "ensureRenewalReported", "awaitRenewalOrdered"];
    assertAllBroken(broken, [...names, "awaitCertificatesRenewed"]);
    assertAllBroken(pools.broken, ["readDesired", "ensureSlotTaken", "ensureSlotsKept", "awaitMachineRelieved"]);
  },
);

uncached("renewCertificates: a new run continues wherever the previous one was terminated", async (stage) => {
  const points = ["read c", "slot c", "relieve c", "Renew c", "prove c", "free c", "read b"];
  await Promise.all(points.map(async (point) => {
    const renewal = new FakeRenewal().on(stage);
    const reached = Promise.withResolvers<void>();
    renewal.before = (effect) => {
      if (effect === point) reached.resolve();
    };
    const handle = await renewal.start(stage);
    await reached.promise;
    await handle.terminate("killed");
    const { outcome } = await (await renewal.start(stage)).result();
    deepEqual([point, outcome, renewal.slots, renewal.violations], [point, "UpToDate", [], []]);
    deepEqual([point, renewal.given("Renew").sort()], [point, ["Renew a", "Renew b", "Renew c"]]);
  }));
});
