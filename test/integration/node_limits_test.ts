/**
 * On a real API server with the permissions and admission policies that Ostler installs, its worker may change only
 * some fields of nodes and of cluster-autoscaler's Deployment.
 */
import { deepEqual, match } from "node:assert/strict";
import { ensureAutoscalerKept } from "../../activities/autoscaler/keep_autoscaler.ts";
import { type Cluster, openCluster } from "../../activities/cluster.ts";
import { readRemovedApis, removedIn } from "../../activities/kubernetes/removed_apis.ts";
import { connectKube, loadKubeConfig } from "../../activities/kube/client.ts";
import { HttpsWatch } from "../../activities/kube/https_watch.ts";
import { ensureNodeCordoned, ensureNodeUncordoned } from "../../activities/node/cordon.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import { type ApiConnection, ApiRefusal } from "../../deploy/local/stack/api_connection.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import { type BareApi, withApi } from "./bare_api.ts";
import { installCloud, installRights, openAs, rightsOf } from "./identities.ts";
import { cloudRights, rights } from "./identity_rights.ts";

const node = "/api/v1/nodes/w-1";
const deployment = "/apis/apps/v1/namespaces/kube-system/deployments/constellation-cluster-autoscaler";
const strategies = "/apis/update.edgeless.systems/v1alpha1/autoscalingstrategies";

type Change = [what: string, change: object];

/** Changes of a node that the worker needs in every cluster. */
const needed: Change[] = [
  ["cordon a node", { spec: { unschedulable: true }, metadata: { annotations: { "ostler.dev/cordoned-by": "x" } } }],
  ["annotate a node with its OS", { metadata: { annotations: { "ostler.dev/node-os": "{}" } } }],
  ["annotate a node so that machine-controller does not drain it again", {
    metadata: { annotations: { "kubermatic.io/skip-eviction": "true" } },
  }],
  ["change the label that names the owner of a node (fault E16)", {
    metadata: { labels: { "machine-controller/owned-by": "b" } },
  }],
  ["remove the label that names the owner of a node", {
    metadata: { labels: { "machine-controller/owned-by": null } },
  }],
  ["annotate a node with the name of the node that replaces it", {
    metadata: { annotations: { "constellation.edgeless.systems/heir": "w-2" } },
  }],
];

/** A taint that the API server gives to each new node. */
const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

/** A taint that Kubernetes adds, with the time, to a node that the worker has cordoned. */
const cordoned = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Changes of a node that the worker must not make; with some of them Pods of other users could be moved. */
const hostile: Change[] = [
  ["make a node a control plane", { metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } }],
  ["label a node as a target for isolated Pods", {
    metadata: { labels: { "a.node-restriction.kubernetes.io/tenant": "b" } },
  }],
  ["remove a label of a node", { metadata: { labels: { pool: null } } }],
  ["remove all taints of a node", { spec: { taints: null } }],
  ["remove one taint of a node", { spec: { taints: [{ key: "b", effect: "NoExecute" }] } }],
  ["change a taint that Kubernetes set on a node", {
    spec: {
      taints: [
        { ...notReady, value: "x" },
        cordoned,
        { key: "a", effect: "NoSchedule" },
        { key: "b", effect: "NoExecute" },
      ],
    },
  }],
  ["redirect the Pod traffic of a node", {
    metadata: { annotations: { "flannel.alpha.coreos.com/public-ip": "192.0.2.1" } },
  }],
  ["remove an annotation of a node", { metadata: { annotations: { "example.com/owner": null } } }],
  ["change the Pod network of a node", { spec: { podCIDR: "10.9.0.0/24", podCIDRs: ["10.9.0.0/24"] } }],
  ["change the provider ID of a node", { spec: { providerID: "aws:///eu/i-2" } }],
  ["add a finalizer to a node", { metadata: { finalizers: ["example.com/keep"] } }],
];

/** Changes of a node that the worker needs only if the setting `cloud` is set. */
const handedOver: Change[] = [
  ["add a label to a node", { metadata: { labels: { team: "a" } } }],
  ["change the value of a node's taint whose key Kubernetes does not use", {
    spec: {
      taints: [notReady, cordoned, { key: "a", effect: "NoSchedule" }, { key: "b", effect: "NoExecute", value: "c" }],
    },
  }],
];

const stranger = { name: "ostler", image: "images.example/mine", command: ["/mine"] };
const container = {
  name: "cluster-autoscaler",
  image: "images.example/autoscaler:1",
  command: ["./cluster-autoscaler"],
};

/**
 * Changes of cluster-autoscaler's Deployment that would run another program, or let another server control the
 * autoscaler.
 */
const takeovers: Change[] = [
  ["run another image as cluster-autoscaler", patched({ ...container, image: "images.example/mine" })],
  ["run another binary as cluster-autoscaler", patched({ ...container, command: ["/bin/sh", "--c=x"] })],
  ["run a script as cluster-autoscaler", patched({ ...container, command: [...container.command, "-c", "x"] })],
  [
    "send the autoscaler's token to another server",
    patched({ ...container, command: [...container.command, "--kubernetes=https://mine"] }),
  ],
  [
    "let another server decide which group the autoscaler scales up",
    patched({
      ...container,
      command: [...container.command, "--grpc_expander-url=mine:443"],
    }),
  ],
  ["add args to the autoscaler's container", patched({ ...container, args: ["--v=9"] })],
  [
    "add an environment variable to the autoscaler's container",
    patched({ ...container, env: [{ name: "LD_PRELOAD", value: "/mine" }] }),
  ],
  ["run the autoscaler privileged", patched({ ...container, securityContext: { privileged: true } })],
  ["add a container to the autoscaler's Pods", { spec: { template: { spec: { containers: [container, stranger] } } } }],
  ["add an init container to the autoscaler's Pods", { spec: { template: { spec: { initContainers: [stranger] } } } }],
  ["use another ServiceAccount for the autoscaler", {
    spec: { template: { spec: { serviceAccountName: "clusterrole-aggregation-controller" } } },
  }],
  ["mount a Secret in the autoscaler's Pods", {
    spec: { template: { spec: { volumes: [{ name: "a", secret: { secretName: "b" } }] } } },
  }],
  ["bind the autoscaler's Pods to a node", { spec: { template: { spec: { nodeName: "w-1" } } } }],
  ["label the autoscaler's Pods", { spec: { template: { metadata: { labels: { app: "autoscaler", more: "x" } } } } }],
  ["change a label of the autoscaler's Deployment", { metadata: { labels: { owner: "mine" } } }],
];

function patched(one: object): object {
  return { spec: { template: { spec: { containers: [one] } } } };
}

/** Returns the refusal of the API server, or "" if it accepts; the dry run changes nothing. */
async function refusalOf(api: ApiConnection, path: string, body: object): Promise<string> {
  try {
    const contentType = "application/merge-patch+json";
    await api.call({ method: "PATCH", path: `${path}?dryRun=All`, body, contentType });
    return "";
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 403) return error.message;
    throw error;
  }
}

async function settle({ api }: BareApi): Promise<void> {
  const taints = [
    { key: "a", effect: "NoSchedule" },
    { key: "b", effect: "NoExecute" },
    { ...cordoned, timeAdded: "2026-01-01T00:00:00Z" },
  ];
  const metadata = {
    name: "w-1",
    labels: { pool: "a", "machine-controller/owned-by": "a" },
    annotations: { "example.com/owner": "b" },
  };
  await api.call({ method: "POST", path: "/api/v1/nodes", body: { metadata, spec: { taints } } });
  const labels = { app: "autoscaler" };
  const template = { metadata: { labels }, spec: { containers: [container] } };
  const body = {
    metadata: { name: "constellation-cluster-autoscaler" },
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  };
  await api.call({ method: "POST", path: "/apis/apps/v1/namespaces/kube-system/deployments", body });
  const strategy = { enabled: true, autoscalerExtraArgs: { v: "2", "cloud-provider": "aws" } };
  const at = { deploymentName: "constellation-cluster-autoscaler", deploymentNamespace: "kube-system" };
  const kind = { apiVersion: "update.edgeless.systems/v1alpha1", kind: "AutoscalingStrategy" };
  await api.call({
    method: "POST",
    path: strategies,
    body: { ...kind, metadata: { name: "a" }, spec: { ...strategy, ...at } },
  });
}

const awaited = (what: string): { what: string; timeoutMs: number } => ({ what, timeoutMs: 20_000 });

/** Runs the activities that change nodes, with the permissions and limits of the worker. */
async function worksAsWorker(server: BareApi): Promise<void> {
  const account = { serviceAccount: "ostler-worker", namespace: "ostler-system" };
  const config = loadKubeConfig(await kubeconfigFor({ ...server, adminKubeconfig: server.kubeconfig }, account));
  const kube = openCluster({ ...connectKube(config), watch: new HttpsWatch(config) });
  const pool = { namespace: "ns", name: "a" };
  await ensureNodeCordoned(kube, { pool, node: "w-1" });
  await ensureNodeUncordoned(kube, { pool, node: "w-1" });
  const object = { kind: "AutoscalingStrategy", name: "a" } as const;
  deepEqual((await ensureAutoscalerKept(kube, { object })).outcome, "Kept");
  await readsApisInUse(server, kube);
}

/**
 * Requests a deprecated API that no version removes yet, and expects the metrics of the API server to count the
 * request.
 */
async function readsApisInUse({ api }: BareApi, kube: Cluster): Promise<void> {
  await api.call({ method: "GET", path: "/api/v1/componentstatuses" });
  deepEqual(await readRemovedApis(kube, "v1.99.0"), { inUse: [], unread: [] });
  const line = /^apiserver_requested_deprecated_apis\{.*resource="componentstatuses".*$/m.exec(
    await kube.metrics.read(),
  );
  const removed = line?.[0].replace('removed_release=""', 'removed_release="1.99"') ?? "";
  deepEqual(removedIn(removed, "v1.99.0"), ["componentstatuses of v1"]);
}

Deno.test("fault S2: the worker may change only its own fields of nodes and of cluster-autoscaler", async (t) => {
  await withApi(async (server) => {
    await installRights(server);
    await settle(server);
    using api = await openAs(server, "worker");
    const [, first] = hostile[0]!;
    await waitUntil(async () => match(await refusalOf(api, node, first), /403/), awaited("the limits"));
    const allows = async (path: string, changes: Change[], can: boolean): Promise<void> => {
      for (const [what, change] of changes) {
        await t.step(`the worker ${can ? "can" : "cannot"} ${what}`, async () => {
          match(await refusalOf(api, path, change), can ? /^$/ : /403/);
        });
      }
    };
    await allows(node, needed, true);
    await allows(node, [...hostile, ...handedOver], false);
    await t.step("the worker cannot change any Deployment if the cloud setting is not set", async () => {
      match(await refusalOf(api, deployment, { spec: { replicas: 1 } }), /403/);
    });
    await installCloud(server);
    const all = [...rights.worker, ...cloudRights].sort();
    await waitUntil(async () => deepEqual(await rightsOf(api), all), awaited("the permissions"));
    const [, another] = takeovers[0]!;
    await waitUntil(async () => match(await refusalOf(api, deployment, another), /403/), awaited("the limits"));
    const [, label] = handedOver[0]!;
    await waitUntil(async () => match(await refusalOf(api, node, label), /^$/), awaited("the limits with a cloud"));
    await allows(node, [...needed, ...handedOver], true);
    await allows(node, hostile, false);
    await allows(deployment, takeovers, false);
    await allows(deployment, [["scale the autoscaler's Deployment", { spec: { replicas: 1 } }]], true);
    await t.step(
      "the worker cordons, uncordons, configures the autoscaler and reads which APIs are in use",
      () => worksAsWorker(server),
    );
  });
});
