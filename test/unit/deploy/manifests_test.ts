import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { loadAllYaml, loadYaml } from "@kubernetes/client-node";
import { leanEnvironment } from "../../../deploy/local/site/ostler_processes.ts";
import type { Kube } from "../../../activities/kube/client.ts";
import { passingTaints } from "../../../activities/node/node_facts.ts";
import { defaultProfiles } from "../../../profiles/mod.ts";
import { readConfig } from "../../../workers/config.ts";
import { admissionsOf } from "../../../workers/webhook.ts";

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  verbs: string[];
}

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: Rule[];
  spec?: unknown;
}

interface CustomResource {
  group: string;
  scope: string;
  names: { kind: string; plural: string; shortNames: string[] };
  versions: { name: string; subresources?: Record<string, unknown> }[];
}

interface HoldPolicy {
  failurePolicy: string;
  reinvocationPolicy: string;
  matchConstraints: { resourceRules: { operations: string[]; resources: string[] }[] };
}

const kubernetes = fileURLToPath(new URL("../../../deploy/kubernetes/", import.meta.url));
const local = fileURLToPath(new URL("../../../deploy/local/manifests/", import.meta.url));

function yamlFiles(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(".yaml"))
    .map((entry) => join(entry.parentPath, entry.name)).sort();
}

function manifestFiles(): string[] {
  return [...yamlFiles(kubernetes), ...yamlFiles(local)].filter((file) => !file.endsWith("kustomization.yaml"));
}

function manifests(file: string): Manifest[] {
  return loadAllYaml(readFileSync(file, "utf8")) as Manifest[];
}

function customResource(file: string): CustomResource {
  const found = manifests(join(kubernetes, file)).find((manifest) => manifest.kind === "CustomResourceDefinition");
  assert.ok(found, file);
  return found.spec as CustomResource;
}

function rules(file: string): Rule[] {
  return manifests(join(kubernetes, file)).flatMap((manifest) => manifest.rules ?? []);
}

Deno.test("manifests: each file parses, and each object has a kind and a name", () => {
  assert.ok(manifestFiles().length >= 15);
  for (const file of manifestFiles()) {
    const objects = manifests(file);
    assert.ok(objects.length > 0, file);
    for (const object of objects) assert.ok(object?.apiVersion && object.kind && object.metadata?.name, file);
  }
});

Deno.test("manifests: begin with a comment that explains their purpose", () => {
  for (const file of manifestFiles()) assert.match(readFileSync(file, "utf8"), /^# \S/, file);
});

Deno.test("kustomizations: each one lists every file of its folder once", () => {
  const listed = (folder: string): string[] => {
    const text = readFileSync(join(kubernetes, folder, "kustomization.yaml"), "utf8");
    const { resources } = loadYaml<{ resources: string[] }>(text);
    return resources.map((file) => join(folder, file)).sort();
  };
  const files = yamlFiles(kubernetes).map((file) => relative(kubernetes, file)).filter((file) =>
    !file.endsWith("kustomization.yaml")
  );
  const isOf = (...folders: string[]) => (file: string): boolean => folders.some((it) => file.startsWith(`${it}/`));
  const isOfCertManager = isOf("webhook/cert_manager");
  assert.deepEqual(listed("setup"), files.filter(isOf("setup")));
  assert.deepEqual(listed("webhook"), files.filter((file) => isOf("webhook")(file) && !isOfCertManager(file)));
  assert.deepEqual(listed("webhook/cert_manager"), files.filter(isOfCertManager));
  assert.deepEqual(listed("any_name"), files.filter(isOf("any_name")));
  assert.deepEqual(listed("cloud"), files.filter(isOf("cloud")));
  assert.deepEqual(listed("hands"), files.filter(isOf("hands")));
  assert.deepEqual(listed(""), files.filter((file) => !isOf("any_name", "cloud", "hands", "setup", "webhook")(file)));
});

Deno.test("kustomization: applies CRDs before permissions and permissions before processes", () => {
  const { resources } = loadYaml<{ resources: string[] }>(readFileSync(join(kubernetes, "kustomization.yaml"), "utf8"));
  const places = ["namespace.yaml", "crds/rollouts.yaml", "rbac/worker.yaml", "admission/hold_new_machines.yaml"]
    .map((file) => resources.indexOf(file));
  places.push(resources.indexOf("worker.yaml"));
  assert.ok(!places.includes(-1));
  assert.deepEqual(places, [...places].sort((a, b) => a - b));
});

for (
  const file of [
    ...["rbac/controller.yaml", "rbac/worker.yaml", "setup/rbac.yaml", "webhook/rbac.yaml", "hands/rbac.yaml"],
    "cloud/rbac.yaml",
  ]
) {
  Deno.test(`${file}: grants nothing by wildcard`, () => {
    assert.ok(rules(file).length > 0);
    for (const rule of rules(file)) {
      const words = [...rule.verbs, ...(rule.resources ?? []), ...(rule.apiGroups ?? [])];
      assert.deepEqual(words.filter((word) => word.includes("*")), [], JSON.stringify(rule));
    }
  });
}

Deno.test("rbac/worker.yaml: allows no read of secrets in a ClusterRole", () => {
  const cluster = manifests(join(kubernetes, "rbac/worker.yaml")).filter((object) => object.kind === "ClusterRole");
  assert.equal(cluster.length, 1);
  const resources = cluster.flatMap((object) => object.rules ?? []).flatMap((rule) => rule.resources ?? []);
  assert.ok(resources.includes("machines"));
  assert.ok(!resources.includes("secrets"));
});

Deno.test("fault S5: the controller may write exactly the default profiles, by RBAC and by its policy", async () => {
  const names = (await defaultProfiles()).map(({ metadata: { name } }) => name);
  const update = rules("rbac/controller.yaml").find(({ verbs }) => verbs.includes("update") && verbs.length === 1);
  assert.deepEqual(update?.resourceNames, names);
  const policy = readFileSync(join(kubernetes, "admission/limit_profiles.yaml"), "utf8");
  assert.deepEqual([...policy.matchAll(/'(osp-[a-z0-9-]+)'/g)].map(([, name]) => name), names);
});

Deno.test("fault S2: limit_nodes.yaml names every taint of Kubernetes that Ostler does not copy from node to node", () => {
  const policy = readFileSync(join(kubernetes, "admission/limit_nodes.yaml"), "utf8");
  for (const taint of [...passingTaints, "node.kubernetes.io/unschedulable"]) assert.ok(policy.includes(`'${taint}'`));
});

Deno.test("fault S2: limit_nodes.yaml compares labels and annotations as a whole before each of them, because a node can have so many that the API server denies a cordon", () => {
  const policy = readFileSync(join(kubernetes, "admission/limit_nodes.yaml"), "utf8");
  for (const [all, old] of [["annotations", "oldAnnotations"], ["labels", "oldLabels"]]) {
    const rules = policy.split("- expression: |-\n").filter((rule) =>
      rule.includes(`variables.changed${old?.slice(3)}.all`)
    );
    assert.deepEqual(
      rules.map((rule) => rule.trimStart().startsWith(`variables.${all} == variables.${old} || `)),
      [true],
    );
  }
});

Deno.test("rbac/controller.yaml: allows no access to Secrets, and no changes to MachineDeployments, Machines and Nodes", () => {
  const granted = rules("rbac/controller.yaml");
  const reads = new Set(["get", "list", "watch"]);
  const changed = granted.filter((rule) => rule.verbs.some((verb) => !reads.has(verb)));
  const resources = (some: Rule[]): string[] => [...new Set(some.flatMap((rule) => rule.resources ?? []))].sort();
  assert.deepEqual(resources(changed), ["leases", "operatingsystemprofiles"]);
  assert.deepEqual(resources(granted), [
    ...[
      "autoscalingstrategies",
      "joiningnodes",
      "leases",
      "machinedeployments",
      "machines",
      "machinesets",
      "namespaces",
    ],
    ...["nodepools", "nodes", "nodeversions", "operatingsystemprofiles", "osimages", "pendingnodes"],
    ...["rolloutpolicies", "rollouts"],
    ...["scalinggroups"],
  ]);
  assert.deepEqual(granted.filter(({ resources }) => resources?.includes("namespaces")).map(({ verbs }) => verbs), [[
    "get",
  ]]);
});

Deno.test("rbac/worker.yaml: allows patches of a NodeVersion's status but not of its spec, and only deletion of a JoiningNode", () => {
  const ofUpdates = rules("rbac/worker.yaml").filter(({ apiGroups }) => apiGroups?.includes("update.edgeless.systems"));
  const written = (resource: string): string[] =>
    ofUpdates.filter(({ resources }) => resources?.includes(resource)).flatMap(({ verbs }) => verbs)
      .filter((verb) => !["get", "list", "watch"].includes(verb));
  assert.deepEqual(written("nodeversions"), []);
  assert.deepEqual(written("nodeversions/status"), ["patch"]);
  assert.deepEqual(written("joiningnodes"), ["delete"]);
  assert.deepEqual(written("joiningnodes/status"), []);
});

Deno.test("custom resources: keep the group, scope, kind, plural, short name and version that other clients rely on", () => {
  const files = readdirSync(join(kubernetes, "crds")).sort();
  const named = files.map((file) => customResource(`crds/${file}`)).map((crd) =>
    [
      ...[crd.group, crd.scope, crd.names.kind, crd.names.plural],
      ...crd.names.shortNames,
      crd.versions.map((version) => version.name).join(),
    ].join(" ")
  );
  assert.deepEqual(named, [
    "update.edgeless.systems Cluster AutoscalingStrategy autoscalingstrategies astrat v1alpha1",
    "update.edgeless.systems Cluster JoiningNode joiningnodes jnode v1alpha1",
    "ostler.dev Namespaced NodePool nodepools npool v1alpha1",
    "update.edgeless.systems Cluster NodeVersion nodeversions nver v1alpha1",
    "operatingsystemmanager.k8c.io Namespaced OperatingSystemConfig operatingsystemconfigs osc v1alpha1",
    "operatingsystemmanager.k8c.io Namespaced OperatingSystemProfile operatingsystemprofiles osp v1alpha1",
    "ostler.dev Cluster OSImage osimages osi v1alpha1",
    "update.edgeless.systems Cluster PendingNode pendingnodes pnode v1alpha1",
    "ostler.dev Namespaced RolloutPolicy rolloutpolicies rop v1alpha1",
    "ostler.dev Namespaced Rollout rollouts ro v1alpha1",
    "update.edgeless.systems Cluster ScalingGroup scalinggroups sgrp v1alpha1",
  ]);
  // These CRDs have no status; the status of a NodePool is in its Rollout.
  const plain = ["rollout_policies.yaml", "node_pools.yaml"];
  for (const file of files.filter((name) => !name.startsWith("operating_system") && !plain.includes(name))) {
    assert.ok(customResource(`crds/${file}`).versions[0]?.subresources?.["status"], file);
  }
});

Deno.test("hold_new_machines: applies only to the creation of Machines, and a failure of the policy blocks nothing", () => {
  const [policy, binding] = manifests(join(kubernetes, "admission/hold_new_machines.yaml"));
  const spec = policy?.spec as HoldPolicy;
  assert.equal(spec.failurePolicy, "Ignore");
  assert.equal(spec.reinvocationPolicy, "Never");
  const rule = spec.matchConstraints.resourceRules;
  assert.deepEqual(rule.map(({ operations, resources }) => ({ operations, resources })), [
    { operations: ["CREATE"], resources: ["machines"] },
  ]);
  assert.equal((binding?.spec as { policyName: string }).policyName, policy?.metadata.name);
});

interface Process {
  template: {
    metadata: { labels: Record<string, string> };
    spec: {
      containers: {
        image: string;
        env: { name: string; value?: string; valueFrom?: { fieldRef?: { fieldPath: string } } }[];
      }[];
    };
  };
  selector: { matchLabels: Record<string, string> };
}

function processOf(file: string): Process {
  return manifests(join(kubernetes, file)).find(({ kind }) => kind === "Deployment")?.spec as Process;
}

const versionLabel = "app.kubernetes.io/version";

for (const file of ["controller.yaml", "worker.yaml"]) {
  Deno.test(`${file}: gives its process the tag of its image as build ID`, () => {
    const { template: { metadata: { labels }, spec: { containers: [container] } }, selector } = processOf(file);
    assert.equal(container?.image.split(":").at(-1), labels[versionLabel]);
    const told = container?.env.find(({ name }) => name === "OSTLER_BUILD_ID")?.valueFrom?.fieldRef?.fieldPath;
    assert.equal(told, `metadata.labels['${versionLabel}']`);
    assert.equal(
      selector.matchLabels[versionLabel],
      undefined,
      "Expected no version in the selector, which is immutable",
    );
  });
}

Deno.test("manifests: drains may always evict pods of Ostler that are not Ready, for example while Temporal refuses them", () => {
  const budgets = ["controller.yaml", "worker.yaml", "webhook/webhook.yaml"].flatMap((file) =>
    manifests(join(kubernetes, file)).filter(({ kind }) => kind === "PodDisruptionBudget")
  );
  assert.equal(budgets.length, 3);
  for (const { metadata: { name }, spec } of budgets) {
    assert.equal((spec as { unhealthyPodEvictionPolicy?: string }).unhealthyPodEvictionPolicy, "AlwaysAllow", name);
  }
});

Deno.test("manifests: controller and worker have the same version and Worker Deployment, so that the version can become current", () => {
  const [controller, worker] = ["controller.yaml", "worker.yaml"].map((file) => {
    const { metadata, spec: { containers: [container] } } = processOf(file).template;
    const naming = /^OSTLER_(BUILD_ID|DEPLOYMENT|CLUSTER|TASK_QUEUE)$|^TEMPORAL_/;
    return [metadata.labels[versionLabel], container?.image, container?.env.filter(({ name }) => naming.test(name))];
  });
  assert.deepEqual(controller, worker);
});

interface Webhook {
  name: string;
  failurePolicy: string;
  timeoutSeconds: number;
  clientConfig: { service: { name: string; namespace: string; path: string } };
  matchConditions?: { expression: string }[];
}

Deno.test("H18 manifests: limit the memory of Ostler's processes in a cluster as on the embedded stack", () => {
  for (const file of ["controller.yaml", "worker.yaml", "webhook/webhook.yaml"]) {
    const [container] = processOf(file).template.spec.containers;
    const set = Object.fromEntries(container?.env.map(({ name, value }) => [name, value]) ?? []);
    for (const [name, value] of Object.entries(leanEnvironment)) assert.equal(set[name], value, `${file}: ${name}`);
  }
});

function webhooks(): Webhook[] {
  return ["webhook/mutating.yaml", "webhook/validating.yaml"].flatMap((file) =>
    (manifests(join(kubernetes, file))[0] as unknown as { webhooks: Webhook[] }).webhooks
  );
}

Deno.test("webhooks: keep the names of Operating System Manager, so that they replace its webhooks", () => {
  const configurations = ["webhook/mutating.yaml", "webhook/validating.yaml"].map((file) =>
    manifests(join(kubernetes, file))[0]?.metadata.name
  );
  assert.deepEqual(configurations, ["operatingsystemmanager.k8c.io", "operatingsystemmanager.k8c.io"]);
  assert.deepEqual(webhooks().map(({ name, failurePolicy }) => `${name} ${failurePolicy}`), [
    "machinedeployments.cluster.k8s.io Ignore",
    "operatingsystemprofiles.operatingsystemmanager.k8c.io Fail",
    "operatingsystemconfigs.operatingsystemmanager.k8c.io Fail",
  ]);
});

Deno.test("webhooks: have the paths and the service that the webhook process serves", () => {
  const served = Object.keys(admissionsOf({} as Kube, readConfig({}), { warn: () => {} }));
  const paths = webhooks().map(({ clientConfig }) => clientConfig.service.path);
  // The manifests have no webhook with this path, because the webhook process itself writes it.
  assert.deepEqual([...paths, "/mutate-v1alpha1-machine"], served);
  const service = manifests(join(kubernetes, "webhook/webhook.yaml")).find(({ kind }) => kind === "Service");
  assert.ok(service);
  for (const { clientConfig: { service: { name, namespace } }, timeoutSeconds } of webhooks()) {
    assert.deepEqual([name, namespace], [service.metadata.name, service.metadata.namespace]);
    assert.ok(timeoutSeconds <= 10);
  }
});

Deno.test("webhooks: with failurePolicy Fail exclude requests of Ostler's own users", () => {
  for (const { failurePolicy, matchConditions = [] } of webhooks().filter((hook) => hook.failurePolicy === "Fail")) {
    const names = [...(matchConditions[0]?.expression ?? "").matchAll(/'([^']+)'/g)].map(([, name]) => name);
    assert.deepEqual(names, readConfig({}).trustedUsers, failurePolicy);
  }
});
