/** Values of deploy/chart in edge cases: empty, zero, repeated, or in a foreign namespace. */
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chartFolder, renderChart } from "../../deploy/release/chart/render_chart.ts";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import {
  chartObjects,
  type Deployment,
  deploymentsOf,
  everything,
  setupJobIn,
  variablesOf,
} from "../support/chart_objects.ts";

interface Role extends ManifestObject {
  rules: { resources: string[]; resourceNames?: string[] }[];
}

interface ScaledObject extends ManifestObject {
  spec: { triggers: [{ metadata: Record<string, string> }] };
}

const { helm } = await resolveTools(["helm"]);

function nameOf({ kind, metadata: { namespace, name } }: ManifestObject): string {
  return `${kind} ${namespace}/${name}`;
}

function rolesIn(objects: readonly ManifestObject[], namespace: string): Role[] {
  return objects.filter(({ kind, metadata }) => kind === "Role" && metadata.namespace === namespace) as Role[];
}

/**
 * Returns the names of the OSTLER_ variables of a process, including those whose value comes from a field of the pod.
 */
function namesSetFor({ spec: { template } }: Deployment): string[] {
  return template.spec.containers[0].env.map(({ name }) => name).filter((name) => name.startsWith("OSTLER_"));
}

/** Renders with values that `--set` cannot write. */
async function objectsWith(values: object): Promise<ManifestObject[]> {
  const folder = await mkdtemp(join(tmpdir(), "ostler-values-"));
  try {
    const file = join(folder, "values.json");
    await writeFile(file, JSON.stringify(values));
    return await chartObjects({ helm, values: [file] });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function triggerWith(set: string[]): Promise<Record<string, string>> {
  const objects = await chartObjects({ helm, set: ["worker.autoscaling.enabled=true", ...set] });
  const scaled = objects.find(({ kind }) => kind === "ScaledObject") as ScaledObject | undefined;
  ok(scaled);
  return scaled.spec.triggers[0].metadata;
}

Deno.test("chart: ignores an empty setting, so that the chart's own value appears exactly once", async () => {
  const flags = ["cert-dir", "identity", "system-namespace", "trusted-users", "health-probe-address"];
  const set = flags.map((flag) => `settings.${flag}=`);
  const order = { helm, namespace: "elsewhere" };
  const plain = deploymentsOf(await chartObjects({ ...order, set: ["webhook.enabled=true"] }));
  deepEqual(deploymentsOf(await chartObjects({ ...order, set: ["webhook.enabled=true", ...set] })), plain);
  const { "ostler-webhook": webhook } = plain;
  ok(webhook);
  for (const name of ["CERT_DIR", "TRUSTED_USERS", "SYSTEM_NAMESPACE"]) {
    ok(namesSetFor(webhook).includes(`OSTLER_${name}`));
  }
});

Deno.test("fault G10: chart: the worker alone gets a cloud's identity and credentials", async () => {
  const identity = { "eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/ostler" };
  const credentials = { env: [{ name: "AWS_SHARED_CREDENTIALS_FILE", value: "/etc/cloud/credentials" }] };
  const worker = {
    ...{ serviceAccount: { annotations: identity }, podLabels: { "azure.workload.identity/use": "true" } },
    ...{ ...credentials, versionsBeside: ["0.9.0"] },
    volumes: [{ name: "cloud", secret: { secretName: "cloud" } }],
    volumeMounts: [{ name: "cloud", mountPath: "/etc/cloud", readOnly: true }],
  };
  const own = { webhook: { enabled: true }, setup: { enabled: true } };
  const managed = { workerCluster: { kubeconfigSecret: { name: "workers" } }, settings: { namespace: "profiles" } };
  for (const more of [{}, managed]) {
    const objects = await objectsWith({ worker, ...own, ...more });
    const accounts = objects.filter((each) =>
      each.kind === "ServiceAccount" && JSON.stringify(each).includes("role-arn")
    );
    deepEqual(accounts.map(({ metadata }) => metadata), [
      { name: "ostler-worker", namespace: "ostler-system", annotations: identity },
    ]);
    const processes = objects.filter(({ kind }) => kind === "Deployment" || kind === "Job");
    for (const kept of ["azure.workload.identity/use", "AWS_SHARED_CREDENTIALS_FILE", "/etc/cloud"]) {
      const having = processes.filter((each) => JSON.stringify(each).includes(kept));
      deepEqual(having.map(({ metadata }) => metadata.name).sort(), ["ostler-worker", "ostler-worker-0.9.0"], kept);
    }
  }
  await rejects(objectsWith(credentials), /Failed to set AWS_SHARED_CREDENTIALS_FILE for every process.*worker\.env/);
  await rejects(objectsWith({ worker: { podLabels: { "ostler.dev/process": "webhook" } } }));
});

Deno.test("chart: with an empty build ID neither workers nor KEDA's trigger have a version", async () => {
  const { "ostler-worker": worker } = deploymentsOf(await chartObjects({ helm, set: ["settings.build-id="] }));
  ok(worker && !namesSetFor(worker).includes("OSTLER_BUILD_ID"));
  const fields = ["workerDeploymentName", "workerDeploymentBuildId"];
  deepEqual(Object.keys(await triggerWith(["settings.build-id="])).filter((name) => fields.includes(name)), []);
  deepEqual(Object.keys(await triggerWith([])).filter((name) => fields.includes(name)), fields);
});

Deno.test("chart: a build ID or name that YAML reads as a number is written as the same digits for processes and for KEDA", async () => {
  const settings = { "build-id": 20261122, cluster: 1000000, namespace: 77777777 };
  const objects = await objectsWith({ settings, worker: { autoscaling: { enabled: true } } });
  const { triggers: [{ metadata }] } = (objects.find(({ kind }) => kind === "ScaledObject") as ScaledObject).spec;
  const { taskQueue, workerDeploymentName, workerDeploymentBuildId } = metadata;
  deepEqual([taskQueue, workerDeploymentName, workerDeploymentBuildId], [
    ...["ostler-1000000", "ostler-1000000", "20261122"],
  ]);
  equal(rolesIn(objects, "77777777").length, 2);
});

for (const namespace of ["kube-system", "default", "elsewhere"]) {
  Deno.test(`chart: has no object twice when installed into ${namespace}`, async () => {
    const names = (await chartObjects({ helm, namespace, values: [everything] })).map(nameOf);
    deepEqual(names.filter((name, at) => names.indexOf(name) !== at), []);
    ok(names.includes(`Role ${namespace}/ostler-controller-lease`));
  });
}

Deno.test("chart: the controller has permission for its Lease in the namespace that system-namespace names", async () => {
  const set = ["settings.system-namespace=leases"];
  const objects = await chartObjects({ helm, set });
  deepEqual(rolesIn(objects, "leases").map(({ rules }) => rules), [
    rolesIn(objects, "ostler-system").find(({ metadata }) => metadata.name.endsWith("-lease"))?.rules,
  ]);
  const binding = objects.find((object) => nameOf(object) === "RoleBinding leases/ostler-controller-lease");
  match(JSON.stringify(binding), /"name":"ostler-controller","namespace":"ostler-system"/);
});

Deno.test("chart: the worker has permission for the shared budgets in the namespace of profiles", async () => {
  const [role] = rolesIn(await chartObjects({ helm, set: ["settings.namespace=profiles"] }), "profiles")
    .filter(({ metadata }) => metadata.name === "ostler-worker-profiles");
  const ofMaps = role?.rules.filter(({ resources }) => resources.includes("configmaps"));
  deepEqual(ofMaps, [
    { apiGroups: [""], resources: ["configmaps"], verbs: ["create"] },
    {
      ...{ apiGroups: [""], resources: ["configmaps"], resourceNames: ["ostler-budget", "ostler-control-planes"] },
      verbs: ["get", "patch"],
    },
  ]);
});

Deno.test("chart: writes values that contain ostler-system unchanged when installed into another namespace", async () => {
  const image = `registry.example/ostler-system/ostler@sha256:${"c".repeat(64)}`;
  const role = "arn:aws:iam::123456789012:role/ostler-system-worker";
  const annotations = `worker.serviceAccount.annotations.role=${role}`;
  const set = [`settings.hands-image=${image}`, annotations];
  const objects = await chartObjects({ helm, namespace: "ostler", set });
  const named = (name: string): object => objects.find((object) => nameOf(object) === name) ?? {};
  const { data } = named("ConfigMap ostler-hands/ostler-hands-image") as { data?: { image?: string } };
  const { metadata } = named("ServiceAccount ostler/ostler-worker") as { metadata?: object };
  deepEqual([data?.image, metadata], [image, { name: "ostler-worker", namespace: "ostler", annotations: { role } }]);
});

Deno.test("chart: provider references to one namespace become one Role, however many entries name that namespace", async () => {
  const providerReferences = [
    { namespace: "clouds", secrets: ["aws"] },
    { namespace: "others", configMaps: ["zones"] },
    { namespace: "clouds", secrets: ["gcp"], configMaps: ["regions"] },
  ];
  const objects = await objectsWith({ rbac: { providerReferences } });
  const granted = (namespace: string): string[][] =>
    rolesIn(objects, namespace).map(({ rules }) => rules.flatMap(({ resourceNames = [] }) => resourceNames));
  deepEqual([granted("clouds"), granted("others")], [[["aws", "gcp", "regions"]], [["zones"]]]);
});

Deno.test("chart: the setup Job has another name whenever it would act differently, because a Job is immutable", async () => {
  const nameWith = async (...set: string[]): Promise<string> => {
    const job = setupJobIn(await chartObjects({ helm, set: ["setup.enabled=true", ...set] }));
    ok(job);
    return job.metadata.name;
  };
  const own = await nameWith();
  match(own, /^ostler-setup-[0-9a-f]{8}$/);
  equal(await nameWith("worker.replicas=5"), own);
  const changes = ["image.tag=9.9.9", "setup.retention=3d", "settings.cluster=north", "temporal.apiKeySecret=key"];
  const names = await Promise.all(changes.map((change) => nameWith(change)));
  equal(new Set([own, ...names]).size, 1 + changes.length);
  equal(setupJobIn(await chartObjects({ helm })), undefined);
});

Deno.test("chart: the setup Job may have credentials of its own, which no Deployment gets", async () => {
  const objects = await chartObjects({ helm, values: [everything] });
  const job = setupJobIn(objects);
  ok(job);
  const secretsOf = ({ spec: { template } }: Deployment): unknown[] =>
    template.spec.volumes.flatMap(({ secret }) => secret?.secretName ?? []);
  deepEqual(secretsOf(job), ["temporal-administrator"]);
  const { args } = job.spec.template.spec.containers[0] as { args?: string[] };
  deepEqual(args, [
    "setup",
    ...["system-namespace=ostler-system", "profile-namespace=profiles", "retention=3d"].map((it) => `--${it}`),
  ]);
  const processes = Object.values(deploymentsOf(objects));
  equal(processes.flatMap(secretsOf).includes("temporal-administrator"), false);
});

Deno.test("fault S3: controller and worker may have a Temporal credential each, and neither gets the other's", async () => {
  const set = ["controller.temporal.clientCertificateSecret=c", "worker.temporal.apiKeySecret=w"];
  const { "ostler-controller": controller, "ostler-worker": worker } = deploymentsOf(await chartObjects({ helm, set }));
  const secretsOf = (one: Deployment | undefined): unknown[] =>
    (one?.spec.template.spec.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? []);
  deepEqual([secretsOf(controller), secretsOf(worker)], [["c"], ["w"]]);
  ok(controller && worker);
  ok(
    "TEMPORAL_TLS_CLIENT_CERT_PATH" in variablesOf(controller) && !("TEMPORAL_API_KEY_PATH" in variablesOf(controller)),
  );
  ok("TEMPORAL_API_KEY_PATH" in variablesOf(worker) && !("TEMPORAL_TLS_CLIENT_CERT_PATH" in variablesOf(worker)));
});

/**
 * Renders NOTES.txt of the chart. Helm prints the notes only when it installs into a cluster, so they are rendered as a
 * template in a copy of the chart.
 */
async function notesWith(...set: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "ostler-notes-"));
  try {
    await cp(chartFolder, folder, { recursive: true, dereference: true });
    const notes = await readFile(join(folder, "templates/NOTES.txt"), "utf8");
    await writeFile(join(folder, "templates/probe.yaml"), `notes: |\n${notes.replaceAll(/^/gm, "  ")}`);
    const rendered = await renderChart({ helm, set, chart: folder });
    return rendered.find(({ template }) => template === "probe.yaml")?.text ?? "";
  } finally {
    await rm(folder, { recursive: true });
  }
}

Deno.test("fault S3: the notes of the chart warn of each process without credentials of Temporal", async () => {
  const warned = async (...set: string[]): Promise<string[]> =>
    [...(await notesWith(...set)).matchAll(/WARNING: the (\w+) has no credentials of Temporal/g)].map(([, who = ""]) =>
      who
    );
  deepEqual(await warned(), ["controller", "worker"]);
  deepEqual(await warned("temporal.apiKeySecret=key"), []);
  deepEqual(await warned("worker.temporal.clientCertificateSecret=w"), ["controller"]);
});

Deno.test("fault S1: the notes of the chart warn while any node name is approved", async () => {
  match(
    await notesWith("settings.approve-joining-nodes=false"),
    /WARNING: kube-controller-manager approves any node name/,
  );
  doesNotMatch(await notesWith(), /approves any node name/);
});

Deno.test("chart: refuses values that would fail only later", async () => {
  const wrong: [object, RegExp][] = [
    [{ rbac: { providerReferences: [{ namespace: "clouds", secrets: [] }] } }, /secrets/],
    [{ rbac: { providerReferences: [{ namespace: "clouds", configMaps: [] }] } }, /configMaps/],
    [{ settings: { "health-probe-address": 8081 } }, /health-probe-address.*(string|integer|number)/s],
    [{ settings: { "temporal-address": 7233 } }, /temporal-address.*(string|integer|number)/s],
    [{ settings: { "bootstrap-token-service-account-name": 1 } }, /bootstrap-token.*(string|integer|number)/s],
  ];
  for (const [values, reason] of wrong) {
    await rejects(objectsWith(values), (error: Error) => {
      match(error.message, /don't meet the specifications of the schema/);
      match(error.message, reason);
      return true;
    });
  }
});

Deno.test("chart: a setting that disables probes removes them and their port", async () => {
  const set = ["settings.health-probe-address=0.0.0.0:0", "webhook.enabled=true"];
  const deployments = deploymentsOf(await chartObjects({ helm, set }));
  equal(Object.keys(deployments).length, 3);
  for (const deployment of Object.values(deployments)) {
    const text = JSON.stringify(deployment);
    ok(!/Probe"|"health"|"ports":(null|\[\])/.test(text), text);
  }
  match(JSON.stringify(deployments["ostler-webhook"]), /"ports":\[\{"name":"https","containerPort":9443\}\]/);
});

Deno.test("chart: an address without a port gets the default port, even if the host name ends in a number", async () => {
  const set = ["settings.temporal-address=temporal-0", "networkPolicy.enabled=true"];
  const policies = (await chartObjects({ helm, set })).filter(({ kind }) => kind === "NetworkPolicy");
  match(JSON.stringify(policies.find(({ metadata }) => metadata.name === "ostler-temporal")), /"port":7233/);
});

Deno.test("chart: each network policy allows what its processes need, and what the values add", async () => {
  type Policy = ManifestObject & { spec: { egress?: { ports: { port: number }[]; to?: unknown[] }[] } };
  const policies = (await chartObjects({ helm, values: [everything] })).filter(({ kind }) => kind === "NetworkPolicy");
  const outs = policies.map(({ metadata, ...rest }) => {
    const rules = (rest as Policy).spec.egress ?? [];
    return [
      metadata.name,
      ...rules.flatMap(({ ports, to }) => ports.map(({ port }) => `${port}${to ? " there" : ""}`)),
    ];
  });
  deepEqual(outs.sort(), [
    ["ostler", "53", "53", "443 there", "6443 there", "4318 there"],
    ["ostler-temporal", "7234 there"],
    ["ostler-webhook"],
    ["ostler-worker", "2379 there", "6443 there", "10250 there", "9090"],
  ]);
});

Deno.test("chart: workers can connect to control planes only when the values name their addresses", async () => {
  const set = ["networkPolicy.enabled=true"];
  const policies = (await chartObjects({ helm, set })).filter(({ kind }) => kind === "NetworkPolicy");
  const worker = policies.find(({ metadata }) => metadata.name === "ostler-worker") as { spec?: object } | undefined;
  deepEqual(Object.keys(worker?.spec ?? {}), ["podSelector", "policyTypes"]);
  // By default no policy allows the ports of etcd and of the kubelet.
  ok(!/"port":(2379|10250)/.test(JSON.stringify(policies)));
});

Deno.test("fault S10: chart: only the given peers may call the webhook", async () => {
  type Policy = ManifestObject & { spec: { ingress?: { from?: unknown[] }[] } };
  const policies = (await chartObjects({ helm, values: [everything] })).filter(({ kind }) => kind === "NetworkPolicy");
  const webhook = policies.find(({ metadata }) => metadata.name === "ostler-webhook") as Policy | undefined;
  deepEqual(webhook?.spec.ingress?.map(({ from }) => from), [[{ ipBlock: { cidr: "10.0.0.1/32" } }]]);
});

Deno.test("chart: has a PodDisruptionBudget for every Deployment, also for workers of other versions", async () => {
  const objects = await chartObjects({ helm, values: [everything] });
  const selectors = (kind: string): [string, unknown][] =>
    objects.filter((object) => object.kind === kind).map((object) => {
      const { selector } = (object as Deployment).spec;
      return [object.metadata.name, selector] as [string, unknown];
    }).sort(([a], [b]) => a.localeCompare(b));
  deepEqual(selectors("PodDisruptionBudget"), selectors("Deployment"));
  equal(selectors("Deployment").length, 5);
});

Deno.test("chart: sets no replicas of workers when KEDA scales them and no release is installed", async () => {
  const set = ["worker.autoscaling.enabled=true"];
  const { "ostler-worker": worker } = deploymentsOf(await chartObjects({ helm, set }));
  ok(worker && !("replicas" in worker.spec));
});
