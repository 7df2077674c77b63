/**
 * The upgrade hand: a pod whose scripts upgrade Kubernetes on a control plane. Here the scripts run on a host with
 * strict fakes of kubeadm, kubelet and systemd.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { chmod, readdir, stat } from "node:fs/promises";
import type { UpgradeOutcome, UpgradeVerb } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeUpgradeHost, kubeletOf, wanted } from "../support/fake_upgrade_host.ts";

const store = "root/var/lib/ostler/kubernetes";

function refusal(outcome: UpgradeOutcome): [string, string] {
  if (outcome.outcome !== "Refused") throw new Error(`Failed to read the reason: ${JSON.stringify(outcome)}`);
  return [outcome.reason, outcome.message];
}

async function done(host: FakeUpgradeHost, ...verbs: UpgradeVerb[]): Promise<void> {
  for (const verb of verbs) {
    const outcome = await host.give(verb);
    equal(outcome.outcome, "Done", `${verb}: ${outcome.message}`);
  }
}

/** Begins an order and kills its pod when the condition holds. */
async function killed(host: FakeUpgradeHost, verb: UpgradeVerb, when: () => Promise<boolean>): Promise<void> {
  const pod = new AbortController();
  const said = host.run(host.order(verb), { components: host.components(), stall: 30, cancel: pod.signal });
  await eventually(`${verb} to be under way`, when);
  pod.abort();
  equal(await said, "");
}

Deno.test("upgrade hand: plans, fetches, upgrades and restarts, each once however often it is ordered", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Plan", "Fetch", "Apply", "Kubelet");
  await done(host, "Fetch", "Apply", "Node", "Kubelet");
  deepEqual(await host.kubeadmCalls(), [`upgrade plan ${wanted}`, `upgrade apply ${wanted} --yes`]);
  equal(host.requests.length, 3);
  deepEqual(await host.lines("restarts"), ["restart"]);
  equal(await host.get("root/opt/bin/kubelet"), host.contents.kubelet);
  equal(await host.get("root/opt/bin/kubelet.ostler-old"), kubeletOf("v1.35.3"));
  for (const name of ["kubeadm", "kubectl"] as const) {
    equal(await host.get(`root/opt/bin/${name}`), host.contents[name]);
  }
});

Deno.test("upgrade hand: the order Node runs `kubeadm upgrade node` once, however often it is given", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch", "Node", "Node");
  deepEqual(await host.kubeadmCalls(), ["upgrade node"]);
});

Deno.test("upgrade hand: refuses Apply, Node and Kubelet with NotFetched before Fetch", async () => {
  await using host = await FakeUpgradeHost.make();
  for (const verb of ["Apply", "Node", "Kubelet"] as const) {
    equal(refusal(await host.give(verb))[0], "NotFetched");
  }
  deepEqual([await host.kubeadmCalls(), await host.lines("restarts"), await host.lines("started")], [[], [], []]);
});

Deno.test("upgrade hand: refuses content whose hash differs from the ordered one, and keeps and runs none of the content", async () => {
  await using host = await FakeUpgradeHost.make();
  host.serving = "other content";
  for (const verb of ["Plan", "Fetch"] as const) {
    const [reason, message] = refusal(await host.give(verb));
    equal(reason, "HashMismatch");
    match(
      message,
      /^Failed to verify kubeadm from http:\S+\/kubeadm: it has sha256:[0-9a-f]{64}, not sha256:[0-9a-f]{64}/,
    );
  }
  deepEqual(await host.kubeadmCalls(), []);
  const files = await readdir(host.at(store), { recursive: true, withFileTypes: true });
  deepEqual(files.filter((each) => each.isFile()).map(({ name }) => name), ["lock"]);
});

Deno.test("upgrade hand: refuses a file that was changed after its download", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  const [kubeadm, kubelet] = host.components().map(({ path, hash }) =>
    `${store}/${hash.slice("sha256:".length)}${path.slice("/opt/bin".length)}`
  );
  for (const file of [kubeadm ?? "", kubelet ?? ""]) await host.put(file, "#!/bin/sh\necho evil\n");
  equal(refusal(await host.give("Apply"))[0], "NotFetched");
  equal(refusal(await host.give("Kubelet"))[0], "NotFetched");
  deepEqual([await host.kubeadmCalls(), await host.lines("restarts")], [[], []]);
  await done(host, "Fetch", "Apply", "Kubelet");
});

Deno.test("upgrade hand: refuses programs of another version than ordered", async () => {
  await using host = await FakeUpgradeHost.make();
  const [reason, message] = refusal(await host.give("Fetch", { version: "v1.36.2" }));
  equal(reason, "HashMismatch");
  match(message, /the components contain kubeadm of version 'v1\.36\.1', not v1\.36\.2/);
});

Deno.test("upgrade hand: makes nothing executable before it was verified", async () => {
  await using host = await FakeUpgradeHost.make();
  host.serving = "cut";
  equal(refusal(await host.give("Fetch"))[0], "DownloadFailed");
  const parts = (await readdir(host.at(store))).filter((name) => name.endsWith(".part"));
  equal(parts.length, 1);
  equal((await stat(host.at(`${store}/${parts[0]}`))).mode & 0o777, 0o600);
});

Deno.test("upgrade hand: reports a stalled or missing download, and resumes a cut one", async () => {
  await using host = await FakeUpgradeHost.make();
  host.serving = "missing";
  match(
    refusal(await host.give("Fetch")).join(": "),
    /^DownloadFailed: Failed to download http:\S+: curl: \(22\) .*404/,
  );
  host.serving = "stalls";
  match(refusal(await host.give("Fetch", {}, { stall: 1 })).join(": "), /^DownloadFailed: .*curl: \(28\)/);
  host.serving = "cut";
  match(refusal(await host.give("Fetch")).join(": "), /^DownloadFailed: .*curl: \(18\)/);
  host.serving = "whole";
  host.requests.length = 0;
  await done(host, "Fetch");
  match(host.requests.join(), /^[1-9][0-9]*,,$/);
});

Deno.test("upgrade hand: downloads a file again from its start if the server cannot resume, or its content has changed", async () => {
  for (const serving of ["ignores ranges", "whole"] as const) {
    await using host = await FakeUpgradeHost.make();
    host.serving = "cut";
    equal(refusal(await host.give("Fetch"))[0], "DownloadFailed");
    if (serving === "whole") {
      const [part = ""] = (await readdir(host.at(store))).filter((name) => name.endsWith(".part"));
      await host.put(`${store}/${part}`, "of another file");
    }
    host.serving = serving;
    await done(host, "Fetch");
  }
});

Deno.test("upgrade hand: removes the components of earlier orders once it has fetched those of the current order", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  const before = host.components().map(({ hash }) => hash.slice("sha256:".length));
  host.contents.kubelet = kubeletOf(wanted, "rebuilt");
  await done(host, "Fetch");
  const left = (await readdir(host.at(store))).filter((name) => /^[0-9a-f]{64}/.test(name));
  deepEqual(left.sort(), host.components().map(({ hash }) => hash.slice("sha256:".length)).sort());
  equal(left.includes(before[1] ?? ""), false);
});

Deno.test("upgrade hand: a killed download is resumed by the next pod", async () => {
  await using host = await FakeUpgradeHost.make();
  host.serving = "hangs";
  await killed(host, "Fetch", async () => {
    const names = await readdir(host.at(store)).catch(() => []);
    const part = names.find((name) => name.endsWith(".part"));
    return part !== undefined && (await stat(host.at(`${store}/${part}`))).size > 0;
  });
  host.serving = "whole";
  host.requests.length = 0;
  await done(host, "Fetch");
  match(host.requests.join(), /^[1-9][0-9]*,,$/);
});

for (const verb of ["Apply", "Node"] as const) {
  Deno.test(`upgrade hand: ${verb} outlives its pod, and the next pod with the same order reports its result`, async () => {
    await using host = await FakeUpgradeHost.make();
    await done(host, "Fetch");
    await host.put("takes_long", "");
    await killed(host, verb, async () => (await host.kubeadmCalls()).length === 1);
    await done(host, verb);
    equal((await host.kubeadmCalls()).length, 1);
    equal((await host.lines("started")).length, 1);
    equal(await host.get("stopped"), "");
  });
}

Deno.test("upgrade hand: an order waits until the kubeadm of an earlier order has ended", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  await host.put("takes_long", "");
  await killed(host, "Apply", async () => (await host.kubeadmCalls()).length === 1);
  const [apply, plan] = await Promise.all([host.give("Apply", { token: "t-2" }), host.give("Plan", { token: "t-2" })]);
  deepEqual([apply.outcome, plan.outcome, await host.get("two_at_once")], ["Done", "Done", ""]);
  equal(await host.get("stopped"), "");
});

Deno.test("upgrade hand: does not begin while a person runs kubeadm", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  await host.put("comms", "systemd\nkubelet\nkubeadm\n");
  match(refusal(await host.give("Apply")).join(": "), /^KubeadmRefused: another kubeadm runs on this node/);
  deepEqual(await host.kubeadmCalls(), []);
});

Deno.test("upgrade hand: reports why kubeadm refuses, hides tokens in that report, and runs kubeadm again for a later order", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  await host.put("refuses", 'the "CoreDNSMigration" check failed: token "abcdef.0123456789abcdef" \u001b[31m\\"x"\n');
  for (const verb of ["Plan", "Apply", "Node"] as const) {
    const [reason, message] = refusal(await host.give(verb));
    equal(reason, "KubeadmRefused");
    match(
      message,
      /^Failed to run kubeadm upgrade (plan|apply|node), which ended with exit code 1: .*CoreDNSMigration/,
    );
    equal(message.includes("0123456789abcdef"), false);
  }
  await Deno.remove(host.at("refuses"));
  await done(host, "Apply");
});

Deno.test("upgrade hand: an Apply that a power failure interrupted is completed by `kubeadm upgrade apply`, also if the next order is Node", async () => {
  for (const verb of ["Apply", "Node"] as const) {
    await using host = await FakeUpgradeHost.make();
    await done(host, "Fetch");
    await host.put("power_fails", "");
    await host.give("Apply");
    deepEqual(await host.give(verb, { token: "t-2" }).then(({ outcome }) => outcome), "Done");
    deepEqual(await host.kubeadmCalls(), Array(2).fill(`upgrade apply ${wanted} --yes`));
    await done(host, "Node");
    equal((await host.kubeadmCalls()).length, 2);
  }
});

Deno.test("upgrade hand: an Apply that failed after kubeadm recorded the version is completed by `kubeadm upgrade apply`, although the next order is Node", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  await host.put("fails_late", "");
  equal(refusal(await host.give("Apply"))[0], "KubeadmRefused");
  deepEqual((await host.give("Node", { token: "t-2" })).outcome, "Done");
  deepEqual((await host.give("Node", { token: "t-3" })).outcome, "Done");
  deepEqual(await host.kubeadmCalls(), Array(2).fill(`upgrade apply ${wanted} --yes`));
});

Deno.test("upgrade hand: ignores preflight errors only as far as the machine's own kubeadm-upgrade.yaml defines", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  await host.put("root/etc/kubernetes/kubeadm-upgrade.yaml", "kind: UpgradeConfiguration\n");
  await done(host, "Apply");
  deepEqual(await host.kubeadmCalls(), [
    `upgrade apply ${wanted} --yes --config /etc/kubernetes/kubeadm-upgrade.yaml`,
  ]);
});

for (
  const [state, more] of [["broken", "ends at once"], ["crashing", "ends again and again"], ["unhealthy", ""]] as const
) {
  Deno.test(`upgrade hand: restores the previous kubelet if the new one is ${state}`, async () => {
    await using host = await FakeUpgradeHost.make();
    host.contents.kubelet = kubeletOf(wanted, `${state}: ${more}`);
    await done(host, "Fetch");
    const [reason, message] = refusal(await host.give("Kubelet"));
    equal(reason, "KubeletFailed");
    match(message, /did not come up in 2 s: .*invalid configuration.*the previous kubelet runs again$/);
    equal(await host.get("root/opt/bin/kubelet"), kubeletOf("v1.35.3"));
    deepEqual(await host.lines("restarts"), ["restart", "restart"]);
  });
}

Deno.test("upgrade hand: the replacement of the kubelet continues when its pod is killed, and is completed after a power failure", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  await killed(host, "Kubelet", async () => (await host.lines("started")).length === 1);
  await done(host, "Kubelet");
  equal((await host.lines("started")).length, 1);
  equal(await host.get("root/opt/bin/kubelet"), host.contents.kubelet);
  // The state after a crash between the replacement of the kubelet and its restart.
  host.contents.kubelet = kubeletOf(wanted, "rebuilt");
  await done(host, "Fetch");
  await Deno.rename(host.at("root/opt/bin/kubelet"), host.at("root/opt/bin/kubelet.ostler-old"));
  await host.put("root/opt/bin/kubelet", host.contents.kubelet);
  await chmod(host.at("root/opt/bin/kubelet"), 0o755);
  deepEqual((await host.give("Kubelet", { token: "t-2" })).outcome, "Done");
  deepEqual(await host.lines("restarts"), ["restart", "restart"]);
});

Deno.test("upgrade hand: replaces no file that the kubelet's unit does not run", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  await Deno.remove(host.at("root/opt/bin/kubelet"));
  await host.put("root/opt/bin/kubelet", kubeletOf("v1.34.0"));
  match(refusal(await host.give("Kubelet")).join(": "), /^KubeletFailed: .*kubelet\.service does not run/);
  equal(await host.get("root/opt/bin/kubelet"), kubeletOf("v1.34.0"));
  deepEqual(await host.lines("restarts"), []);
});

Deno.test("upgrade hand: begins nothing after its deadline", async () => {
  await using host = await FakeUpgradeHost.make();
  await done(host, "Fetch");
  for (const verb of ["Plan", "Apply", "Node", "Kubelet"] as const) {
    match(refusal(await host.give(verb, { until: Date.now() - 5_000 }))[1], /after its deadline/);
  }
  deepEqual([await host.kubeadmCalls(), await host.lines("restarts")], [[], []]);
});

Deno.test("upgrade hand: reports a missing tool", async () => {
  await using host = await FakeUpgradeHost.make();
  await host.put("lacks", "curl\n");
  deepEqual(refusal(await host.give("Fetch")), ["ToolMissing", "the host does not have curl"]);
  await Deno.remove(host.at("systemd"));
  deepEqual(refusal(await host.give("Apply")), ["ToolMissing", "the host does not have systemd"]);
});
