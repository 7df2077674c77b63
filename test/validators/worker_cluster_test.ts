/** The chart for a worker cluster: the objects in the management cluster, and those in the worker cluster. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { chartObjects, deploymentsOf, everything, variablesOf } from "../support/chart_objects.ts";

const { helm } = await resolveTools(["helm"]);

function beside(cluster: string, set: readonly string[] = []): Promise<ManifestObject[]> {
  const own = [
    `workerCluster.kubeconfigSecret.name=${cluster}`,
    `settings.namespace=${cluster}`,
    "webhook.enabled=true",
  ];
  return chartObjects({ helm, namespace: `${cluster}-system`, values: [everything], set: [...own, ...set] });
}

function nameOf({ kind, metadata: { namespace = "", name } }: ManifestObject): string {
  return `${kind} ${namespace}/${name}`;
}

Deno.test("worker cluster: two releases have no object in common, and neither changes shared objects", async () => {
  const [north, south] = await Promise.all([beside("north"), beside("south")]);
  const names = north.map(nameOf);
  equal(new Set(names).size, names.length);
  deepEqual(south.map(nameOf).filter((name) => names.includes(name)), []);
  const wide = north.filter(({ metadata, kind }) => metadata.namespace === undefined && kind !== "Namespace");
  ok(wide.length > 4);
  ok(wide.every(({ metadata: { name } }) => name.includes("north")), wide.map(nameOf).join());
  deepEqual(wide.filter(({ kind }) => kind === "CustomResourceDefinition"), []);
  const namespaces = new Set(north.flatMap(({ metadata }) => metadata.namespace ?? []));
  deepEqual([...namespaces].sort(), ["north", "north-system"]);
});

Deno.test("worker cluster: each process of a release gets its own kubeconfig, and no other", async () => {
  const keys = ["worker", "controller"].map((each) => `workerCluster.kubeconfigSecret.keys.${each}=${each}.yaml`);
  const deployments = deploymentsOf(await beside("north", keys));
  const told = Object.entries(deployments).map(([name, one]) => [
    ...[name, variablesOf(one)["OSTLER_WORKER_CLUSTER_KUBECONFIG"]],
    JSON.stringify(one.spec.template.spec.volumes.find(({ name }) => name === "worker-cluster")?.secret),
  ]);
  const secret = (key: string): string => JSON.stringify({ secretName: "north", items: [{ key, path: key }] });
  const wanted = [["controller", "controller.yaml"], ["webhook", "kubeconfig"], ["worker", "worker.yaml"]] as const;
  for (const [name, key] of wanted) {
    deepEqual(told.find(([each]) => each === `ostler-${name}`), [
      ...[`ostler-${name}`, `/etc/ostler/worker-cluster/${key}`, secret(key)],
    ]);
  }
});

Deno.test("worker cluster: has CRDs, permissions and admission webhooks, and no Deployment or Job", async () => {
  const order = { helm, values: [everything] };
  const address = "settings.worker-webhook-endpoint=https://hook.example:8443";
  const objects = await chartObjects({ ...order, set: ["workerCluster.render=true", address] });
  // The ConfigMaps of hands, the pods that execute orders on nodes, are in the worker cluster, where the hands run.
  const others = objects.filter(({ metadata }) => metadata?.namespace !== "ostler-hands");
  const kinds = new Set(others.map(({ kind }) => kind));
  for (const kind of ["Deployment", "Job", "Service", "ScaledObject", "ValidatingWebhookConfiguration", "ConfigMap"]) {
    ok(!kinds.has(kind), kind);
  }
  const names = objects.map(nameOf);
  for (const name of ["ClusterRole /ostler-worker", "CustomResourceDefinition /rollouts.ostler.dev"]) {
    ok(names.includes(name), name);
  }
  ok(!names.some((name) => name.endsWith("operatingsystemmanager.k8c.io") && name.startsWith("Custom")));
  const asked = objects.find((object) =>
    nameOf(object) === "MutatingWebhookConfiguration /operatingsystemmanager.k8c.io"
  );
  ok(JSON.stringify(asked).includes('"url":"https://hook.example:8443/mutate-v1alpha1-machinedeployment"'));
  const without = await chartObjects({ helm, set: ["workerCluster.render=true", "webhook.enabled=true"] });
  deepEqual(
    without.filter(({ kind }) => kind === "MutatingWebhookConfiguration"),
    [],
    "Expected no webhook without an address",
  );
});

Deno.test("worker cluster: the webhook validates the namespace of profiles, also when its name contains that of the release", async () => {
  const [namespace, profiles] = ["ostler-system-north", "ostler-system-north-profiles"];
  const set = ["workerCluster.kubeconfigSecret.name=north", `settings.namespace=${profiles}`, "webhook.enabled=true"];
  const objects = await chartObjects({ helm, namespace, set });
  const found = objects.find(({ kind }) => kind === "ValidatingWebhookConfiguration");
  equal(found?.metadata.name, `${profiles}.operatingsystemmanager.k8c.io`);
  const { webhooks } = found as unknown as { webhooks: { namespaceSelector: object }[] };
  const selector = { matchLabels: { "kubernetes.io/metadata.name": profiles } };
  deepEqual(webhooks.map(({ namespaceSelector }) => namespaceSelector), [selector, selector]);
});

Deno.test("worker cluster: refuses a release without a namespace for its profiles and configs", async () => {
  const set = ["workerCluster.kubeconfigSecret.name=north"];
  await rejects(chartObjects({ helm, set }), /set settings\.namespace to a namespace for its profiles/);
});
