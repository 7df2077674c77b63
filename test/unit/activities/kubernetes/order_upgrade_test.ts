/**
 * Steps of a Kubernetes upgrade or certificate renewal that Ostler orders on a node, and the pods that execute them;
 * with an API server in memory.
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { V1Pod } from "@kubernetes/client-node";
import { type Component, componentsIn, upgradeDigestOf } from "../../../../activities/kubernetes/components.ts";
import { awaitRenewalOrdered, awaitUpgradeOrdered } from "../../../../activities/kubernetes/order_upgrade.ts";
import {
  componentsOfHand,
  renewalHandOf,
  upgradeHandOf,
  upgradeNameOf,
  upgradeVerdictIn,
} from "../../../../activities/kubernetes/upgrade_hand.ts";
import { Hand } from "../../../../activities/os/hand.ts";
import type { UpgradeOrder, UpgradeOutcome } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube, type Stored } from "../../../support/fake_kube.ts";
import { node } from "../../../support/machine_objects.ts";

const image = `registry.example/hands@sha256:${"a".repeat(64)}`;
const hash = `sha256:${"b".repeat(64)}`;
const components = ["kubeadm", "kubelet"].map((name) => ({
  ...{ url: `https://dl.k8s.io/v1.36.1/bin/linux/amd64/${name}`, hash, installPath: `/opt/bin/${name}` },
}));
const list = JSON.stringify(components);
const told = { outcome: "Done", reason: "", message: "v1.36.1 is on this node" };

function order(overrides: Partial<UpgradeOrder> = {}): UpgradeOrder {
  return {
    ...{ object: { name: "version" }, node: "cp-1", uid: "uid-of-cp-1", verb: "Fetch", version: "v1.36.1" },
    ...{ digest: upgradeDigestOf("v1.36.1", list), token: "t-1", until: Date.now() + 600_000 },
    ...overrides,
  };
}

function kubeWith(data: string = list, version = "v1.36.1"): FakeKube {
  const kube = new FakeKube();
  kube.put("nodes", node("cp-1"));
  const spec = { kubernetesClusterVersion: version, kubernetesComponentsReference: "k8s-1.36.1" };
  kube.put("nodeversions", { metadata: { name: "version" }, spec } as never);
  kube.put(
    "configmaps",
    { metadata: { namespace: "kube-system", name: "k8s-1.36.1" }, data: { components: data } } as never,
  );
  return kube;
}

function give(kube: FakeKube, overrides: Partial<UpgradeOrder> = {}, by = image): Promise<UpgradeOutcome> {
  return inActivity(() => awaitUpgradeOrdered({ kube: kube.client, image: by }, order(overrides)));
}

/** Lets the container of the pod end at the second read with this message, as the kubelet reports it. */
function answering(kube: FakeKube, message: string, exitCode = 0): void {
  let looks = 0;
  kube.onRequest = (request) => {
    const [pod] = kube.all("pods");
    if (!request.startsWith("get pods") || ++looks < 2 || !pod) return;
    const containerStatuses = [{ state: { terminated: { exitCode, message } } }];
    kube.put("pods", { ...pod, status: { phase: "Succeeded", containerStatuses } } as Stored);
  };
}

Deno.test("awaitUpgradeOrdered: creates one pod with the components as arguments, reads its result, and deletes the pod", async () => {
  const kube = kubeWith();
  answering(kube, JSON.stringify(told));
  deepEqual(await give(kube), { outcome: "Done", message: "v1.36.1 is on this node" });
  equal(kube.writes.filter((write) => write.startsWith("create pods")).length, 1);
  deepEqual(kube.all("pods"), []);
});

Deno.test("awaitUpgradeOrdered: its pod runs upgrade.sh, and gets verb, version, deadline and components only as container arguments", () => {
  const asked = order();
  const hand = upgradeHandOf(asked, [{ path: "/opt/bin/kubeadm", hash, url: "https://dl.k8s.io/kubeadm" }]);
  deepEqual(hand.args(asked.until), [
    ...["Fetch", "v1.36.1", upgradeNameOf(asked), String(Math.ceil(asked.until / 1000)), "90"],
    `/opt/bin/kubeadm ${hash} https://dl.k8s.io/kubeadm`,
  ]);
  deepEqual(hand.command, ["/bin/sh", "-c", 'exec /bin/sh /hands/upgrade.sh "$@" >/dev/termination-log', "hand"]);
  match(hand.name, /^ostler-upgrade-fetch-[0-9a-f]{24}$/);
  equal(new Hand({ kube: kubeWith().client, image }, hand).name, hand.name);
});

Deno.test("awaitUpgradeOrdered: fails with a non-retryable error, and creates no pod, if the version, the components or the node changed since the survey", async () => {
  const others = [
    kubeWith(list, "v1.36.2"),
    kubeWith(`${list} `),
    kubeWith(list.replace("bbb", "bbc")),
    new FakeKube(),
  ];
  for (const kube of others) {
    await rejects(give(kube), { type: "GenerationStale" });
    deepEqual(kube.writes, []);
  }
  await rejects(give(kubeWith(), { uid: "of-before" }), { type: "MachineGone" });
});

Deno.test("awaitUpgradeOrdered: continues with the existing pod of its order, and with the pod that replaces it, even if the desired version has changed", async () => {
  const kube = kubeWith();
  const asked = order({ verb: "Apply" });
  const { components: own = [] } = componentsIn(list) as { components?: Component[] };
  const upgrade = upgradeHandOf(asked, own);
  const [{ name }, args] = [upgrade, upgrade.args(asked.until)];
  const spec = { containers: [{ name: "hand", args }] };
  kube.put("pods", { metadata: { namespace: "ostler-hands", name }, spec, status: {} } as never);
  answering(kube, JSON.stringify(told));
  kube.put("nodeversions", { metadata: { name: "version" }, spec: { kubernetesClusterVersion: "v1.36.2" } } as never);
  deepEqual((await give(kube, { verb: "Apply", until: asked.until })).outcome, "Done");
  deepEqual(kube.writes.filter((write) => write.startsWith("create pods")), []);
  const pod = { spec } as V1Pod;
  deepEqual(upgradeHandOf(asked, componentsOfHand(pod) ?? []).args(asked.until), args);
});

Deno.test("awaitUpgradeOrdered: ignores components in the arguments of an existing pod when the arguments are malformed", async () => {
  for (const args of [[], ["Apply"], [..."vvvvv", "/opt/bin/kubeadm sha256:0 https://ada:secret@dl.k8s.io/kubeadm"]]) {
    const kube = kubeWith(list, "v1.36.2");
    const metadata = { namespace: "ostler-hands", name: upgradeNameOf(order()) };
    kube.put("pods", { metadata, spec: { containers: [{ name: "hand", args }] }, status: {} } as never);
    await rejects(give(kube), { type: "GenerationStale" });
  }
});

Deno.test("awaitUpgradeOrdered: refuses malformed arguments and components", async () => {
  const wrong: Partial<UpgradeOrder>[] = [
    ...["1.36.1", "v1.36", "v1.36.1; reboot", "v1.36.1\n", "--help", "v2.0.0", ""].map((version) => ({ version })),
    ...[{ node: "../x" }, { token: "A" }, { verb: "Shell" as never }, { uid: "" }, { until: NaN }, { digest: "" }],
  ];
  for (const overrides of wrong) {
    const kube = kubeWith();
    await rejects(give(kube, overrides), { type: "ObjectInvalid" }, JSON.stringify(overrides));
    deepEqual(kube.writes, []);
  }
  const evil = list.replace("https://dl", "https://ada:secret@dl");
  await rejects(give(kubeWith(evil), { digest: upgradeDigestOf("v1.36.1", evil) }), (error: Error) => {
    match(error.message, /^Failed to read the components in ConfigMap "kube-system\/k8s-1\.36\.1": the URL of kubeadm/);
    return !error.message.includes("secret");
  });
  await rejects(give(kubeWith(), {}, "registry.example/hands:1"), {
    type: "HandsMissing",
    message: 'Failed to start an upgrade step on node "cp-1": setting hands-image does not name an image by digest; ' +
      "set it to the image of the pods that run commands on nodes",
  });
});

Deno.test("awaitUpgradeOrdered: uses different pods for different attempts, verbs, components and nodes, and the same pod when only the deadline differs", () => {
  const names = [{}, { token: "t-2" }, { verb: "Apply" as const }, { digest: "d" }, { uid: "u" }].map((overrides) =>
    upgradeNameOf(order(overrides))
  );
  equal(new Set(names).size, names.length);
  equal(upgradeNameOf(order({ until: 1 })), names[0]);
});

Deno.test("awaitUpgradeOrdered: replaces a pod that ended without a result, for each verb, and finally returns Unknown", async () => {
  for (const verb of ["Apply", "Kubelet"] as const) {
    const kube = kubeWith();
    const hand = new Hand({ kube: kube.client, image }, upgradeHandOf(order({ verb }), []));
    const now = Date.now();
    let seen: Awaited<ReturnType<typeof hand.look>> = { missing: "" };
    for (let round = 0; round < 12 && "missing" in seen; round++) {
      seen = await hand.look(now + round * 31_000);
      const [pod] = kube.all("pods");
      const containerStatuses = [{ state: { terminated: { exitCode: round % 2 === 0 ? 2 : 137, message: "sh: no" } } }];
      if (pod) kube.put("pods", { ...pod, status: { phase: "Failed", containerStatuses } } as Stored);
    }
    ok("answer" in seen && seen.answer.outcome === "Unknown", JSON.stringify(seen));
    equal(kube.writes.filter((write) => write.startsWith("create pods")).length, 4);
  }
});

Deno.test("upgradeVerdictIn: accepts only a well-formed result of the pod, and removes control characters, tokens and credentials from its message", () => {
  const said = (more: object): string => JSON.stringify({ ...told, ...more });
  const hostile = [
    ...["", "null", "[]", "{", "x".repeat(5000), said({ message: "x".repeat(4096) }), said({ extra: 1 })],
    ...[said({ outcome: "Unknown" }), said({ reason: "HashMismatch" }), said({ outcome: "Refused" })],
    ...[said({ outcome: "Refused", reason: "Constructor" }), said({ message: 1 })],
  ];
  for (const each of hostile) equal(upgradeVerdictIn(each), undefined, each.slice(0, 80));
  deepEqual(
    upgradeVerdictIn(said({
      ...{ outcome: "Refused", reason: "KubeadmRefused" },
      message: "a\u0000b\u202e token abcdef.0123456789abcdef at https://ada:secret@registry.example/v2, Bearer abc",
    })),
    {
      ...{ outcome: "Refused", reason: "KubeadmRefused" },
      message: "a b token … at https://registry.example/v2, Bearer …",
    },
  );
});

const renewal = {
  ...{ object: { name: "version" }, node: "cp-1", uid: "uid-of-cp-1", version: "v1.36.1", token: "t-1" },
  until: Date.now() + 600_000,
};

Deno.test("awaitRenewalOrdered: creates one pod without components, reads its result, and deletes the pod", async () => {
  const kube = kubeWith();
  let args: string[] = [];
  answering(kube, JSON.stringify({ ...told, message: "renewed" }));
  const { onRequest } = kube;
  kube.onRequest = (request) => {
    args = (kube.all("pods")[0] as V1Pod | undefined)?.spec?.containers[0]?.args ?? args;
    return onRequest?.(request);
  };
  const give = (): Promise<UpgradeOutcome> =>
    inActivity(() => awaitRenewalOrdered({ kube: kube.client, image }, renewal));
  deepEqual(await give(), { outcome: "Done", message: "renewed" });
  const { name } = renewalHandOf(renewal);
  match(name, /^ostler-upgrade-renew-[0-9a-f]{24}$/);
  deepEqual(args, ["Renew", "v1.36.1", name, String(Math.ceil(renewal.until / 1000)), "90"]);
  deepEqual(kube.all("pods"), []);
});

Deno.test("awaitRenewalOrdered: refuses an invalid order, and every order while setting hands-image is empty", async () => {
  const give = (more: object, by = image): Promise<UpgradeOutcome> =>
    inActivity(() => awaitRenewalOrdered({ kube: kubeWith().client, image: by }, { ...renewal, ...more }));
  await rejects(give({ version: "v1.36.1; reboot" }), { type: "ObjectInvalid", message: /invalid fields: version$/ });
  await rejects(give({ token: "../x" }), { type: "ObjectInvalid", message: /invalid fields: token$/ });
  await rejects(give({}, ""), { type: "HandsMissing" });
});

Deno.test("upgradeVerdictIn: accepts the refusals AuthorityExternal and RestartFailed of a certificate renewal", () => {
  for (const reason of ["AuthorityExternal", "RestartFailed"] as const) {
    deepEqual(upgradeVerdictIn(JSON.stringify({ outcome: "Refused", reason, message: "m" })), {
      ...{ outcome: "Refused", reason, message: "m" },
    });
  }
});
