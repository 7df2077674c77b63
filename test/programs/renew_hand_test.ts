/**
 * The renewal hand: a pod whose scripts renew the certificates of a control plane. Here the scripts run on a host with
 * strict fakes of kubeadm, kubelet and systemd.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import type { UpgradeOutcome } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeStaticPods, parts } from "../support/fake_static_pods.ts";
import { FakeUpgradeHost } from "../support/fake_upgrade_host.ts";

const renewed = "root/var/lib/ostler/kubernetes/renewed";

interface Scene extends AsyncDisposable {
  host: FakeUpgradeHost;
  pods: FakeStaticPods;
}

/** A control plane of kubeadm with running static pods. */
async function begin(options: Parameters<typeof FakeStaticPods.begin>[1] = {}): Promise<Scene> {
  const host = await FakeUpgradeHost.make();
  await host.isOfKubeadm();
  const pods = await FakeStaticPods.begin(host.at("root"), options);
  return {
    ...{ host, pods },
    [Symbol.asyncDispose]: async () => {
      await pods[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    },
  };
}

function refusal(outcome: UpgradeOutcome | undefined): string {
  if (outcome?.outcome !== "Refused") throw new Error(`Failed to read the reason: ${JSON.stringify(outcome)}`);
  return `${outcome.reason}: ${outcome.message}`;
}

/** Begins a renewal, and kills its pod when the condition holds. */
async function killed({ host }: Scene, when: () => boolean | Promise<boolean>): Promise<void> {
  const pod = new AbortController();
  const said = host.renew({}, { cancel: pod.signal });
  await eventually("the renewal to be under way", when);
  pod.abort();
  equal(await said, undefined);
}

Deno.test("renewal hand: renews all certificates, restarts each static pod once, and does nothing when repeated", async () => {
  await using scene = await begin();
  const { host, pods } = scene;
  for (const token of ["t-1", "t-1", "t-2"]) {
    deepEqual(await host.renew({ token }), {
      outcome: "Done",
      message: "the certificates of kubeadm are new, and the static pods that use them were restarted",
    });
  }
  deepEqual([await host.kubeadmCalls(), pods.begun, pods.violations], [["certs renew all"], [...parts], []]);
  const mark = (await host.get(renewed)).trim();
  for (const part of parts) {
    const text = await readFile(pods.manifest(part), "utf8");
    deepEqual(text.match(/^ {4}ostler\.dev.*$/gm), [`    ostler.dev/certificates-renewed: "${mark}"`]);
    deepEqual([text.match(/^ {2}annotations:$/gm)?.length, text.match(/^ {2}labels:$/gm)?.length], [1, 1]);
    equal((await stat(pods.manifest(part))).mode & 0o777, 0o600);
  }
});

Deno.test("renewal hand: renews again if the last renewal is more than an hour old, and replaces its annotation in the manifests", async () => {
  await using scene = await begin();
  const { host, pods } = scene;
  await host.renew();
  await host.put(renewed, `${Math.floor(Date.now() / 1000) - 3_601}\n`);
  equal((await host.renew({ token: "t-2" }))?.outcome, "Done");
  deepEqual([(await host.kubeadmCalls()).length, pods.begun], [2, [...parts, ...parts]]);
  equal((await readFile(pods.manifest("etcd"), "utf8")).match(/certificates-renewed/g)?.length, 1);
});

Deno.test("renewal hand: restarts no etcd on a control plane without a static pod of etcd", async () => {
  await using scene = await begin({ without: ["etcd"] });
  await Deno.remove(scene.host.at("root/etc/kubernetes/pki/etcd/ca.key"));
  equal((await scene.host.renew())?.outcome, "Done");
  deepEqual(scene.pods.begun, parts.filter((each) => each !== "etcd"));
});

Deno.test("renewal hand: renews the certificates in the folder that the API server uses, also in another than kubeadm's default", async () => {
  await using scene = await begin({ pki: "/etc/kubernetes/certificates" });
  const { host, pods } = scene;
  await Deno.rename(host.at("root/etc/kubernetes/pki"), host.at("root/etc/kubernetes/certificates"));
  equal((await host.renew())?.outcome, "Done");
  deepEqual(await host.kubeadmCalls(), ["certs renew all --cert-dir /etc/kubernetes/certificates"]);
  deepEqual(await host.lines("root/etc/kubernetes/certificates/apiserver.crt"), ["renewed"]);
  deepEqual(pods.begun, [...parts]);
});

Deno.test("renewal hand: does not take a pod such as etcd-backup for the static pod whose restart it waits for", async () => {
  await using scene = await begin();
  const { host, pods } = scene;
  pods.isStopped = true;
  const renewal = host.renew();
  await eventually("the first manifest to change", async () => {
    return (await readFile(pods.manifest("kube-controller-manager"), "utf8")).includes("certificates-renewed");
  });
  await pods.startOther("kube-controller-manager-check-1", "7d4f5a0e-8c0b-4c56-9a54-1f0d9b2c3e4f");
  match(refusal(await renewal), /^RestartFailed: .*kube-controller-manager did not come up again in 6 s/);
});

Deno.test("renewal hand: a renewal outlives its pod, and the next pod with the same order reports its result", async () => {
  await using scene = await begin();
  const { host, pods } = scene;
  await host.put("takes_long", "");
  await killed(scene, async () => (await host.kubeadmCalls()).length === 1);
  equal((await host.renew())?.outcome, "Done");
  deepEqual([await host.kubeadmCalls(), pods.begun], [["certs renew all"], [...parts]]);
  equal((await host.lines("started")).length, 1);
});

Deno.test("renewal hand: after a failed restart of a static pod, the next order does the remaining restarts, and repeats nothing", async () => {
  await using scene = await begin();
  const { host, pods } = scene;
  pods.broken.add("etcd");
  match(refusal(await host.renew()), /^RestartFailed: .*etcd did not come up again in 6 s/);
  deepEqual(pods.begun, ["kube-controller-manager", "kube-scheduler", "etcd"]);
  pods.broken.clear();
  equal((await host.renew({ token: "t-2" }))?.outcome, "Done");
  deepEqual([await host.kubeadmCalls(), pods.begun, pods.violations], [["certs renew all"], [...parts], []]);
});

Deno.test("renewal hand: fails with RestartFailed when the kubelet does not restart a static pod, although the old pod still answers", async () => {
  await using scene = await begin();
  const { host, pods } = scene;
  pods.isStopped = true;
  match(refusal(await host.renew()), /^RestartFailed: .*kube-controller-manager did not come up again in 6 s/);
  deepEqual(pods.begun, []);
});

Deno.test("renewal hand: refuses a control plane without the key of one of its certificate authorities, and changes nothing", async () => {
  for (const key of ["ca", "front-proxy-ca", "etcd/ca"]) {
    await using scene = await begin();
    const { host, pods } = scene;
    await Deno.remove(host.at(`root/etc/kubernetes/pki/${key}.key`));
    const said = refusal(await host.renew());
    match(
      said,
      /^AuthorityExternal: this node does not have \/etc\/kubernetes\/pki\/\S+\.key, so kubeadm cannot renew/,
    );
    deepEqual([await host.kubeadmCalls(), pods.begun], [[], []]);
  }
});

Deno.test("renewal hand: fails with AuthorityExternal when kubeadm succeeds without a renewal, because the CA is external", async () => {
  await using scene = await begin();
  await scene.host.put("is_external", "");
  match(refusal(await scene.host.renew()), /^AuthorityExternal: .*can.t be renewed/);
  deepEqual(scene.pods.begun, []);
});

Deno.test("renewal hand: reports why kubeadm fails, and restarts nothing", async () => {
  await using scene = await begin();
  await scene.host.put("refuses", "no space left on device");
  match(refusal(await scene.host.renew()), /^KubeadmRefused: Failed to renew certificates, .*code 63: .*no space left/);
  deepEqual([scene.pods.begun, await scene.host.get(renewed)], [[], ""]);
});

Deno.test("renewal hand: uses an installed kubeadm of the control plane's minor version, and no other", async () => {
  await using scene = await begin();
  const { host } = scene;
  match(
    refusal(await host.renew({ version: "v1.35.3" })),
    /^ToolMissing: the host does not have a kubeadm of v1\.35 in/,
  );
  deepEqual(await host.kubeadmCalls(), []);
  equal((await host.renew({ version: "v1.36.4" }))?.outcome, "Done");
});

Deno.test("renewal hand: changes nothing on a node with manifests of an unexpected form, or without a control plane", async () => {
  await using scene = await begin();
  const { host, pods } = scene;
  const path = pods.manifest("kube-scheduler");
  const text = await readFile(path, "utf8");
  pods.isStopped = true;
  for (
    const other of [
      text.replace("metadata:\n", "metadata:\n  annotations: {}\n"),
      text.replace(/^ {2}/gm, "    "),
      '{"kind": "Pod"}\n',
    ]
  ) {
    await writeFile(path, other);
    match(
      refusal(await host.renew()),
      /^RestartFailed: .*kube-scheduler\.yaml does not have the form that kubeadm writes/,
    );
  }
  await Deno.remove(path);
  match(refusal(await host.renew()), /^KubeadmRefused: this node does not have .*kube-scheduler\.yaml/);
  deepEqual([await host.kubeadmCalls(), pods.begun], [[], []]);
});

Deno.test("renewal hand: does not begin while a person runs kubeadm, or after its deadline", async () => {
  await using scene = await begin();
  const { host } = scene;
  match(
    refusal(await host.renew({ until: Date.now() - 5_000 })),
    /^KubeadmRefused: the order started after its deadline/,
  );
  await host.put("comms", "systemd\nkubelet\nkubeadm\n");
  match(refusal(await host.renew()), /^KubeadmRefused: another kubeadm runs on this node/);
  deepEqual([await host.kubeadmCalls(), scene.pods.begun], [[], []]);
});

Deno.test("renewal hand: prints no content of keys and certificates", async () => {
  await using scene = await begin();
  await scene.host.put("root/etc/kubernetes/pki/ca.key", "-----BEGIN SECRET-----");
  equal(JSON.stringify(await scene.host.renew()).includes("SECRET"), false);
  equal((await scene.host.get("calls")).includes("SECRET"), false);
});
