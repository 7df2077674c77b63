/**
 * Permissions to create a hand, which is a pod that executes an order on a node, on a real API server. Only the worker
 * may create hands, and only in one form.
 */
import { type Cluster, openCluster } from "../../activities/cluster.ts";
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import { ApiConnection, ApiRefusal } from "../../deploy/local/stack/api_connection.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import { connectKube, loadKubeConfig } from "../../activities/kube/client.ts";
import { HttpsWatch } from "../../activities/kube/https_watch.ts";
import { renewalHandOf, upgradeHandOf } from "../../activities/kubernetes/upgrade_hand.ts";
import { osCommandOf, podOf } from "../../activities/os/hand_pod.ts";
import { givenOrder } from "../../activities/os/hands.ts";
import { handNameOf } from "../../activities/os/order.ts";
import { inActivity } from "../support/activity_context.ts";
import type { OsOrder, UpgradeOrder } from "../../workflows/contracts/mod.ts";
import { type BareApi, withApi } from "./bare_api.ts";
import { installHands, installRights, openAs, rightsOf } from "./identities.ts";
import { handsRights, rights } from "./identity_rights.ts";

const digest = `sha256:${"a".repeat(64)}`;
const image = `registry.example/hands@${digest}`;
const order: OsOrder = {
  ...{ node: "w-1", uid: "u-1", driver: "bootc", verb: "Stage", image: "registry.example/os/worker", digest },
  ...{ bootId: "00000000-0000-4000-8000-000000000001", token: "t-1", until: Date.now() + 3_600_000 },
};

interface Pod {
  metadata: Record<string, unknown>;
  spec: Record<string, unknown> & { containers: (Record<string, unknown> & { args: string[] })[] };
}

const upgrade = {
  ...{ object: { name: "version" }, node: "w-1", uid: "u-1", verb: "Apply", version: "v1.36.1", digest: "d" },
  ...{ token: "t-1", until: order.until },
} as const satisfies UpgradeOrder;
const programs = ["kubeadm", "kubelet", "kubectl"].map((name) => ({
  ...{ path: `/opt/bin/${name}`, hash: digest, url: `https://dl.k8s.io/v1.36.1/bin/linux/amd64/${name}` },
}));

type Change = (pod: Pod) => void;

/** Returns the pod of a hand, changed by `change`. */
function hand(change: Change = () => undefined): Pod {
  const pod = JSON.parse(JSON.stringify(podOf(osCommandOf(order), image, Date.now()))) as Pod;
  change(pod);
  return pod;
}

/** Returns the pod of a hand that upgrades Kubernetes, changed by `change`. */
function upgradeHand(change: Change = () => undefined): Pod {
  const pod = JSON.parse(JSON.stringify(podOf(upgradeHandOf(upgrade, programs), image, Date.now()))) as Pod;
  change(pod);
  return pod;
}

/** Returns the pod of a hand that renews certificates, changed by `change`. */
function renewalHand(change: Change = () => undefined): Pod {
  const { verb: _, digest: __, ...order } = upgrade;
  const pod = JSON.parse(JSON.stringify(podOf(renewalHandOf(order), image, Date.now()))) as Pod;
  change(pod);
  return pod;
}

const inHand = (more: Record<string, unknown>): Change => ({ spec }) => Object.assign(spec.containers[0] ?? {}, more);
const inSpec = (more: Record<string, unknown>): Change => ({ spec }) => void Object.assign(spec, more);
const argument = (at: number, word: string): Change => ({ spec }) =>
  void (spec.containers[0]?.args.splice(at, 1, word));

/** Pods that differ from a hand in one property, which the first text names. */
const nearly: [string, Change][] = [
  ["another image", inHand({ image: `registry.example/other@${digest}` })],
  ["the image by tag", inHand({ image: "registry.example/hands:1" })],
  ["another command", inHand({ command: ["/bin/sh", "-c", "nsenter -t 1 -m reboot", "hand"] })],
  ["no command", inHand({ command: null })],
  ["one more argument", ({ spec }) => void spec.containers[0]?.args.push("more")],
  ["another verb", argument(1, "Shell")],
  ["a shell command after the name of the OS image", argument(2, "x; reboot")],
  ["an option in place of the OS image", argument(2, "--help")],
  ["a digest with a line break", argument(3, `${digest}\nreboot`)],
  ["the name of another order", argument(5, "ostler-apply-x")],
  ["a variable", inHand({ env: [{ name: "PATH", value: "/host/evil" }] })],
  ["a hook", inHand({ lifecycle: { preStop: { exec: { command: ["true"] } } } })],
  ["a probe", inHand({ livenessProbe: { exec: { command: ["true"] } } })],
  ["a second container", ({ spec }) => void spec.containers.push({ name: "more", image, args: [] })],
  ["an init container", ({ spec }) => void (spec["initContainers"] = [{ name: "before", image }])],
  ["scripts from another ConfigMap", inSpec({ volumes: [{ name: "scripts", configMap: { name: "mine" } }] })],
  ["the host's files", inSpec({ volumes: [{ name: "scripts", hostPath: { path: "/" } }] })],
  ["one more volume", ({ spec }) => void (spec["volumes"] as object[]).push({ name: "x", hostPath: { path: "/" } })],
  ["another ServiceAccount", inSpec({ serviceAccountName: "default" })],
  ["a token", inSpec({ automountServiceAccountToken: true })],
  ["no node", inSpec({ nodeName: undefined })],
  ["no deadline", inSpec({ activeDeadlineSeconds: undefined })],
  ["no owner", ({ metadata }) => void delete metadata["ownerReferences"]],
];

const kubeadm = (path: string, hash: string, url: string): Change => argument(5, `${path} ${hash} ${url}`);
const [released] = programs.map(({ url }) => url);

/** Pods that differ from a hand that upgrades Kubernetes in one property, which the first text names. */
const nearlyUpgrades: [string, Change][] = [
  ["the script of an OS update", inHand({ command: hand().spec.containers[0]?.["command"] })],
  ["a changed script", inHand({ command: ["/bin/sh", "-c", "exec /bin/sh /hands/upgrade.sh; reboot", "hand"] })],
  ["another verb", argument(0, "Reset")],
  ["the verb of a renewal", argument(0, "Renew")],
  ["an option after the version", argument(1, "v1.36.1 --force")],
  ["the name of another order", argument(2, "ostler-upgrade-x")],
  ["a deadline that is not a number", argument(3, "1;reboot")],
  ["an unbounded stall time", argument(4, "99999")],
  ["no components", ({ spec }) => void spec.containers[0]?.args.splice(5)],
  ["one component too many", ({ spec }) => void spec.containers[0]?.args.push(`${programs[0]?.path}`)],
  ["another program", kubeadm("/usr/bin/sh", digest, `${released}`)],
  ["a path outside the folders for programs", kubeadm("/etc/kubernetes/kubeadm", digest, `${released}`)],
  ["a path that contains ..", kubeadm("/opt/../bin/kubeadm", digest, `${released}`)],
  ["a short hash", kubeadm("/opt/bin/kubeadm", "sha256:0", `${released}`)],
  ["a URL of another server", kubeadm("/opt/bin/kubeadm", digest, "https://evil.example/kubeadm")],
  ["a URL that only begins like the allowed server", kubeadm("/opt/bin/kubeadm", digest, "https://dl.k8s.io.evil/x")],
  [
    "the name of the allowed server before the @ of a URL",
    kubeadm("/opt/bin/kubeadm", digest, "https://dl.k8s.io/@evil.example/x"),
  ],
  ["a URL with a query", kubeadm("/opt/bin/kubeadm", digest, `${released}?token=x`)],
  ["a URL that contains ..", kubeadm("/opt/bin/kubeadm", digest, "https://dl.k8s.io/../kubeadm")],
  ["a URL that contains a shell command", kubeadm("/opt/bin/kubeadm", digest, "https://dl.k8s.io/$(reboot)")],
  ["a file:// URL", kubeadm("/opt/bin/kubeadm", digest, "file:///etc/shadow")],
  ["the image by tag", inHand({ image: "registry.example/hands:1" })],
  ["the host's files", inSpec({ volumes: [{ name: "scripts", hostPath: { path: "/" } }] })],
];

/** Pods that differ from a hand that renews certificates in one property, which the first text names. */
const nearlyRenewals: [string, Change][] = [
  ["the verb of an upgrade", argument(0, "Kubelet")],
  ["another verb", argument(0, "Reset")],
  ["an option after the version", argument(1, "v1.36.1 --config=/tmp/x")],
  ["a component", ({ spec }) => void spec.containers[0]?.args.push(`/opt/bin/kubeadm ${digest} ${released}`)],
  ["one more argument", ({ spec }) => void spec.containers[0]?.args.push("more")],
];

const pods = (namespace = "ostler-hands"): string => `/api/v1/namespaces/${namespace}/pods`;

/** Creates the pod as a dry run; returns the API server's refusal, or "" if the API server accepts the pod. */
async function refusalOf(api: ApiConnection, pod: Pod, namespace = "ostler-hands"): Promise<string> {
  return await refused(() => api.call({ method: "POST", path: `${pods(namespace)}?dryRun=All`, body: pod }));
}

async function refused(attempt: () => Promise<unknown>): Promise<string> {
  try {
    await attempt();
    return "";
  } catch (error) {
    if (error instanceof ApiRefusal && [403, 422].includes(error.status)) return error.message;
    throw error;
  }
}

/** Opens a connection as a ServiceAccount with all permissions on the core, apps and batch objects of the namespace. */
async function openAsNamespaceAdmin({ api, apiServer, directory, kubeconfig }: BareApi): Promise<ApiConnection> {
  const [namespace, serviceAccount] = ["ostler-hands", "tenant"];
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const metadata = { name: serviceAccount };
  const rules = [{ apiGroups: ["", "apps", "batch"], resources: ["*"], verbs: ["*"] }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: serviceAccount };
  const subjects = [{ kind: "ServiceAccount", name: serviceAccount, namespace }];
  await api.call({ method: "POST", path: `/api/v1/namespaces/${namespace}/serviceaccounts`, body: { metadata } });
  await api.call({ method: "POST", path: `${rbac}/roles`, body: { metadata, rules } });
  await api.call({ method: "POST", path: `${rbac}/rolebindings`, body: { metadata, roleRef, subjects } });
  return await ApiConnection.open(
    await kubeconfigFor({ directory, apiServer, adminKubeconfig: kubeconfig }, { serviceAccount, namespace }),
  );
}

async function nameImage(api: ApiConnection, data: { image?: string; downloads?: string | null }): Promise<void> {
  const path = "/api/v1/namespaces/ostler-hands/configmaps/ostler-hands-image";
  const contentType = "application/merge-patch+json";
  await api.call({ method: "PATCH", path, contentType, body: { data } });
}

/** Creates a node, and the ServiceAccount `default`, which every namespace of a real cluster has. */
async function settle({ api }: BareApi): Promise<void> {
  await api.call({ method: "POST", path: "/api/v1/nodes", body: { metadata: { name: "w-1" } } });
  const path = "/api/v1/namespaces/ostler-hands/serviceaccounts";
  await api.call({ method: "POST", path, body: { metadata: { name: "default" } } });
}

async function workerMakesHands(t: Deno.TestContext, server: BareApi): Promise<void> {
  using api = await openAs(server, "worker");
  const all = [...rights.worker, ...handsRights].sort();
  await t.step(
    "H12 hands: the worker has the permissions for pods of hands, and no others",
    async () => deepEqual(await rightsOf(api), all),
  );
  const isTaken = async (): Promise<void> => equal(await refusalOf(api, hand()), "");
  await t.step("hands: the worker cannot create a hand while no image is configured", async () => {
    const isRefused = async (): Promise<void> => match(await refusalOf(api, hand()), /a hand must have the image/);
    await waitUntil(isRefused, { what: "the limits", timeoutMs: 20_000 });
  });
  await nameImage(server.api, { image });
  await waitUntil(isTaken, { what: "a hand to be accepted", timeoutMs: 20_000 });
  for (const [what, change] of nearly) {
    await t.step(`hands: the worker cannot create the pod of a hand with ${what}`, async () => {
      match(await refusalOf(api, hand(change)), /403 .*: a hand /);
    });
  }
  await t.step(
    "hands: the worker can create a hand that renews certificates, because it downloads nothing",
    async () => {
      equal(await refusalOf(api, renewalHand()), "");
    },
  );
  for (const [what, change] of nearlyRenewals) {
    await t.step(`hands: the worker cannot create the pod of a certificate renewal with ${what}`, async () => {
      match(await refusalOf(api, renewalHand(change)), /403 .*: a hand /);
    });
  }
  await t.step(
    "hands: the worker cannot create a hand that upgrades Kubernetes without a list of allowed download servers",
    async () => {
      match(await refusalOf(api, upgradeHand()), /403 .*: a hand must download only from/);
    },
  );
  await nameImage(server.api, { downloads: "https://dl.k8s.io/" });
  const isUpgraded = async (): Promise<void> => equal(await refusalOf(api, upgradeHand()), "");
  await waitUntil(isUpgraded, { what: "an upgrade to be accepted", timeoutMs: 20_000 });
  for (const [what, change] of nearlyUpgrades) {
    await t.step(`hands: the worker cannot create the pod of a Kubernetes upgrade with ${what}`, async () => {
      match(await refusalOf(api, upgradeHand(change)), /403 .*: a hand /);
    });
  }
  await t.step(
    "hands: an administrator can allow other download servers for components, or none",
    async () => {
      const mirror = upgradeHand(kubeadm("/opt/bin/kubeadm", digest, "http://10.0.0.1:5000/k8s/kubeadm"));
      const becomes = (pod: Pod, pattern: RegExp): Promise<void> =>
        waitUntil(async () => match(await refusalOf(api, pod), pattern), { what: "the new limits", timeoutMs: 20_000 });
      await becomes(mirror, /a hand must download only from/);
      await nameImage(server.api, { downloads: "https://dl.k8s.io/ http://10.0.0.1:5000/k8s/" });
      await becomes(mirror, /^$/);
      for (const downloads of ["https://dl.k8s.io", "https://", null]) {
        await nameImage(server.api, { downloads });
        await becomes(upgradeHand(), /a hand must download only from/);
      }
      await nameImage(server.api, { downloads: "https://dl.k8s.io/" });
      await becomes(upgradeHand(), /^$/);
    },
  );
  for (const namespace of ["default", "kube-system", "ostler-system"]) {
    const pod = hand(({ metadata }) => void (metadata["namespace"] = namespace));
    await t.step(
      `hands: the worker cannot create a pod in namespace ${namespace}`,
      async () => match(await refusalOf(api, pod, namespace), /403/),
    );
  }
  await t.step("hands: the pod of a hand cannot be changed, and allows no exec", async () => {
    await api.call({ method: "POST", path: pods(), body: hand() });
    const [path, contentType] = [`${pods()}/${String(hand().metadata["name"])}`, "application/merge-patch+json"];
    const containers = [{ ...hand().spec.containers[0], image: "registry.example/mine:1" }];
    const change = { method: "PATCH", path, contentType, body: { spec: { containers } } } as const;
    match(await refused(() => server.api.call(change)), /a hand cannot be changed/);
    match(
      await refused(() => server.api.call({ method: "POST", path: `${path}/exec?command=sh` })),
      /a hand allows no exec/,
    );
    match(await refused(() => api.call({ method: "POST", path: `${path}/exec?command=sh` })), /403/);
    await api.call({ method: "DELETE", path });
  });
}

/** Acts as the kubelet: reports that the pod has succeeded, with this termination message. */
async function endHand({ api }: BareApi, name: string, said: string): Promise<void> {
  const path = `${pods()}/${name}/status`;
  const state = { terminated: { exitCode: 0, message: said, containerID: "x://y" } };
  const status = {
    phase: "Succeeded",
    containerStatuses: [{ name: "hand", image, imageID: image, ready: false, restartCount: 0, state }],
  };
  await api.call({ method: "PATCH", path, contentType: "application/merge-patch+json", body: { status } });
}

/** Returns clients with the worker's identity, and the UID of the existing node. */
async function workerAndNode(server: BareApi): Promise<{ kube: Cluster; uid: string }> {
  const account = { serviceAccount: "ostler-worker", namespace: "ostler-system" };
  const config = loadKubeConfig(await kubeconfigFor({ ...server, adminKubeconfig: server.kubeconfig }, account));
  const kube = openCluster({ ...connectKube(config), watch: new HttpsWatch(config) });
  const { uid = "" } = (await kube.core.readNode({ name: "w-1" })).metadata ?? {};
  return { kube, uid };
}

async function orderIsCarriedOut(t: Deno.TestContext, server: BareApi): Promise<void> {
  const { kube, uid } = await workerAndNode(server);
  await t.step(
    "hands: the worker's permissions suffice to create the pod of an order, to read its result, and to delete the pod",
    async () => {
      const status = { bootId: order.bootId, booted: digest, staged: "", fallback: "" };
      const given = inActivity(() => givenOrder({ kube, image }, { ...order, uid }));
      const said = JSON.stringify({ outcome: "Done", reason: "", message: "", ...status, findings: [] });
      const name = handNameOf({ ...order, uid });
      const there = async (): Promise<void> => void await server.api.call({ method: "GET", path: `${pods()}/${name}` });
      await waitUntil(there, { what: "the hand", timeoutMs: 20_000 });
      await endHand(server, name, said);
      deepEqual(await given, { outcome: "Done", status, findings: [] });
      match(await server.api.call({ method: "GET", path: `${pods()}/${name}` }).then(() => "", String), /404/);
    },
  );
}

/**
 * Tests the moments after hands were installed, in which the API server may know their admission policy, but not yet
 * the ConfigMap with the parameters of the policy.
 */
async function triesAgainWithoutImage(t: Deno.TestContext, server: BareApi): Promise<void> {
  const path = "/api/v1/namespaces/ostler-hands/configmaps";
  await server.api.call({ method: "DELETE", path: `${path}/ostler-hands-image` });
  using api = await openAs(server, "worker");
  const isRefused = async (): Promise<void> => match(await refusalOf(api, hand()), /no params found/);
  await waitUntil(isRefused, { what: "the missing image to be detected", timeoutMs: 20_000 });
  await t.step(
    "hands: an order fails as retryable while the API server does not know the configured image",
    async () => {
      const { kube, uid } = await workerAndNode(server);
      const given = inActivity(() => givenOrder({ kube, image }, { ...order, uid }));
      await rejects(given, { type: "AccessDenied", nonRetryable: false, message: /HTTP 422, .*no params found/ });
    },
  );
  const metadata = { name: "ostler-hands-image" };
  await server.api.call({ method: "POST", path, body: { metadata, data: { image } } });
  // A refusal with 409 also shows that the pod was admitted: only after admission does the API server find that a pod
  // of the same name is still being deleted.
  const isLetPass = async (): Promise<void> => match(await refusalOf(api, hand()).catch(String), /^$| 409 /);
  await waitUntil(isLetPass, { what: "a hand to be admitted", timeoutMs: 20_000 });
}

async function nobodyElseDoes(t: Deno.TestContext, server: BareApi): Promise<void> {
  using tenant = await openAsNamespaceAdmin(server);
  using controller = await openAs(server, "controller");
  await waitUntil(async () => match(await refusalOf(tenant, hand()), /only Ostler's worker/), {
    ...{ what: "the permissions of the tenant", timeoutMs: 20_000 },
  });
  await t.step("hands: a cluster administrator cannot create a hand", async () => {
    match(await refusalOf(server.api, hand()), /only Ostler's worker may create pods/);
  });
  await t.step(
    "hands: Ostler's controller cannot create a hand",
    async () => match(await refusalOf(controller, hand()), /403/),
  );
  for (const serviceAccount of ["default", "ostler-hand"]) {
    const account = { serviceAccount, namespace: "ostler-hands" };
    using api = await ApiConnection.open(
      await kubeconfigFor({ ...server, adminKubeconfig: server.kubeconfig }, account),
    );
    await t.step(
      `hands: the ServiceAccount ${serviceAccount} cannot create a hand`,
      async () => match(await refusalOf(api, hand()), /403/),
    );
  }
  await t.step(
    "hands: an administrator of the namespace can change neither the scripts nor the image of hands",
    async () => {
      for (const name of ["ostler-hands-scripts", "ostler-hands-image"]) {
        const path = `/api/v1/namespaces/ostler-hands/configmaps/${name}?dryRun=All`;
        const contentType = "application/merge-patch+json";
        const change = { method: "PATCH", path, contentType, body: { data: { "hand.sh": "reboot", image } } } as const;
        match(await refused(() => tenant.call(change)), /permission to update limit-hands.ostler.dev/);
        equal(await refused(() => server.api.call(change)), "");
      }
    },
  );
}

Deno.test("hands: only the worker can create the pods that execute orders on nodes, and only in one form", async (t) => {
  await withApi(async (server) => {
    await installRights(server);
    await installHands(server);
    await settle(server);
    await workerMakesHands(t, server);
    await triesAgainWithoutImage(t, server);
    await orderIsCarriedOut(t, server);
    await nobodyElseDoes(t, server);
  });
});
