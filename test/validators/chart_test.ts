/** deploy/chart, with Helm and kubectl. */
import { deepEqual, doesNotMatch, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { plainFolder, plainManifests, plainValues } from "../../deploy/release/chart/plain_manifests.ts";
import { runHelm } from "../../deploy/release/chart/render_chart.ts";
import { parseManifests } from "../../deploy/local/stack/manifests.ts";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";
import { definedVariables } from "../../deploy/local/tools/environment.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { runCommand } from "../../deploy/local/tools/run_command.ts";
import { NodeSettings } from "../../profiles/node_settings.ts";
import { settingRows } from "../../profiles/settings/settings_table.ts";
import { readConfig } from "../../workers/config.ts";
import { OsmSettings, ProcessSettings } from "../../workers/process_settings.ts";
import { chartObjects, deploymentsOf, everything, sizes, variablesOf } from "../support/chart_objects.ts";

const temporalByDefault = "temporal-frontend.temporal.svc:7233";

const { helm, kubectl } = await resolveTools(["helm", "kubectl"]);

async function kustomized(folder: string): Promise<ManifestObject[]> {
  const order = { program: kubectl, args: ["kustomize", folder], env: definedVariables(process.env) };
  const { code, stdout, lines } = await runCommand(order);
  equal(code, 0, lines.join("\n"));
  return parseManifests(stdout, folder);
}

function byName(objects: readonly ManifestObject[]): Map<string, ManifestObject> {
  const nameOf = ({ kind, metadata: { namespace, name } }: ManifestObject): string => `${kind} ${namespace}/${name}`;
  const named = new Map(objects.map((object) => [nameOf(object), object]));
  equal(named.size, objects.length, "Expected each object once");
  return new Map([...named].sort(([a], [b]) => a.localeCompare(b)));
}

Deno.test("chart: kubectl apply -k and helm install have the same objects", async () => {
  const folders = [plainFolder, join(plainFolder, "setup"), join(plainFolder, "webhook")];
  const plain = (await Promise.all(folders.map(kustomized))).flat();
  const rendered = await chartObjects({ helm, set: plainValues });
  ok(rendered.length > 40);
  deepEqual(byName(rendered), byName(plain));
});

/** The kustomization for a Kubernetes version without MutatingAdmissionPolicy. */
const before136 = join(plainFolder, "../overlays/before_1.36");

Deno.test("chart: before Kubernetes 1.36 chart and manifests have the webhook instead of a MutatingAdmissionPolicy, which the older API server would refuse", async () => {
  const rendered = await chartObjects({ helm, set: ["namespaces.own=true"], kubeVersion: "1.33.0" });
  deepEqual(byName(rendered), byName(await kustomized(before136)));
  deepEqual(rendered.filter(({ kind }) => kind.startsWith("MutatingAdmission")), []);
  ok(deploymentsOf(rendered)["ostler-webhook"]);
  equal(deploymentsOf(await chartObjects({ helm }))["ostler-webhook"], undefined);
  const order = { helm, set: ["webhook.enabled=false"], kubeVersion: "1.33.0" };
  equal(deploymentsOf(await chartObjects(order))["ostler-webhook"], undefined);
  await rejects(chartObjects({ helm, kubeVersion: "1.32.9" }), /requires kubeVersion: >=1.33/);
});

Deno.test("fault S10: chart: with cert-manager the webhook may update only the MutatingWebhookConfiguration that holds new machines, and no Secret", async () => {
  const managed = ["workerCluster.kubeconfigSecret.name=workers", "settings.namespace=profiles"];
  for (const set of [[], managed]) {
    const objects = await chartObjects({ helm, set: ["webhook.enabled=true", "webhook.certManager=true", ...set] });
    const roles = objects.filter(({ kind, metadata }) =>
      /Role$/.test(kind) && /ostler-webhook/.test(metadata.name)
    ) as (ManifestObject & { rules: { resources: string[]; resourceNames?: string[]; verbs: string[] }[] })[];
    const updates = roles.flatMap(({ rules }) => rules).filter(({ verbs }) =>
      !verbs.every((verb) => /^(get|list|watch)$/.test(verb))
    );
    const hold = { resources: ["mutatingwebhookconfigurations"], resourceNames: ["hold-new-machines.ostler.dev"] };
    deepEqual(
      updates.map(({ resources, resourceNames }) => ({ resources, resourceNames })),
      set.length > 0 ? [] : [hold],
    );
  }
});

Deno.test("chart: with cert-manager, the chart and the manifests have the same objects, and cert-manager injects its CA into the webhook configurations", async () => {
  const webhook = await kustomized(join(plainFolder, "../overlays/cert_manager"));
  const rendered = await chartObjects({
    helm,
    set: [...plainValues, "setup.enabled=false", "webhook.certManager=true"],
  });
  deepEqual(byName(rendered), byName([...await kustomized(plainFolder), ...webhook]));
  const asked = rendered.filter((object) => JSON.stringify(object).includes("inject-ca-from"));
  deepEqual(asked.map(({ kind }) => kind).sort(), [
    ...["MutatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
  ]);
});

Deno.test("fault S1: chart: the controller approves awaited nodes by default; with approve-joining-nodes=false kube-controller-manager approves any node name", async () => {
  const set = [...plainValues, "setup.enabled=false", "webhook.enabled=false"];
  const off = [...set, "settings.approve-joining-nodes=false"];
  const anyName = await kustomized(join(plainFolder, "../overlays/any_name"));
  const all: [ManifestObject[], boolean][] = [
    [await chartObjects({ helm, set }), true],
    [await kustomized(plainFolder), true],
    [await chartObjects({ helm, set: off }), false],
    [anyName, false],
  ];
  for (const [objects, isOn] of all) {
    const names = [...byName(objects).keys()].filter((name) => /node-(client-)?approv/.test(name));
    const approver = [
      "ClusterRole undefined/ostler-node-approver",
      "ClusterRoleBinding undefined/ostler-node-approver",
    ];
    deepEqual(names, isOn ? approver : ["ClusterRoleBinding undefined/ostler-node-client-approval"]);
    const { "ostler-controller": controller, "ostler-worker": worker } = deploymentsOf(objects);
    for (const each of [controller, worker]) {
      equal(each && variablesOf(each)["OSTLER_APPROVE_JOINING_NODES"], String(isOn));
    }
  }
  deepEqual([...byName(await chartObjects({ helm, set: off })).keys()], [...byName(anyName).keys()]);
});

Deno.test("chart: reads approve-joining-nodes as the process does when it is T, True or F", async () => {
  for (const [text, isOn] of [["T", true], ["True", true], ["F", false]] as const) {
    const objects = await chartObjects({ helm, set: [`settings.approve-joining-nodes=${text}`] });
    equal(objects.some(({ metadata }) => metadata.name === "ostler-node-approver"), isOn, text);
  }
});

Deno.test("fault S2: the chart lets the worker change cluster-autoscaler, labels and taints only where a cloud is set", async () => {
  const told = async (set: string[]): Promise<string> => JSON.stringify(await chartObjects({ helm, set }));
  const without = await told([]);
  doesNotMatch(without, /limit-autoscalers|ostler-worker-cloud|cluster-autoscaler"\]/);
  match(without, /"name":"handsOver","expression":"false"/);
  const place = ["settings.cloud=aws", "settings.cloud-place=eu-west-1", "settings.cloud-tag=c"];
  const lists = ["rbac.handOver.annotations={a.example/b,c}", "rbac.handOver.labelDomains={node-role.kubernetes.io}"];
  const withCloud = await told([...place, ...lists]);
  match(withCloud, /"name":"limit-autoscalers\.ostler\.dev".*"name":"limit-autoscalers\.ostler\.dev"/);
  match(withCloud, /"name":"handsOver","expression":"true"/);
  for (const listed of ["key in ['a.example/b', 'c']", "in ['node-role.kubernetes.io']"]) {
    ok(withCloud.includes(listed));
  }
  const managed = ["workerCluster.kubeconfigSecret.name=a", "settings.namespace=north"];
  doesNotMatch(await told([...place, ...managed]), /limit-nodes|limit-autoscalers/);
});

Deno.test("chart: nodes download only from the servers in rbac.handDownloads, whose URLs need a slash after the host", async () => {
  const image = `settings.hands-image=registry.example/hands@sha256:${"c".repeat(64)}`;
  const listed = async (...set: string[]): Promise<unknown> => {
    const objects = await chartObjects({ helm, set: [image, ...set] });
    const map = objects.find(({ metadata }) => metadata.name === "ostler-hands-image") as { data?: object } | undefined;
    return (map?.data as { downloads?: string } | undefined)?.downloads;
  };
  equal(await listed(), "");
  equal(
    await listed("rbac.handDownloads={https://a.example/k8s/,http://10.0.0.1:80/}"),
    "https://a.example/k8s/ http://10.0.0.1:80/",
  );
  equal(await listed("rbac.handDownloads=null"), "");
  for (const url of ["https://a.example", "https://ada@a.example/", "ftp://a.example/"]) {
    await rejects(listed(`rbac.handDownloads={${url}}`), /handDownloads/);
  }
});

Deno.test("fault S2: kustomize component cloud has the same objects as the chart with a cloud", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ostler-cloud-"));
  try {
    const to = (path: string): string => relative(folder, join(plainFolder, path));
    const text = JSON.stringify({ resources: [to(".")], components: [to("cloud")] });
    await writeFile(join(folder, "kustomization.yaml"), text);
    const plain = byName(await kustomized(folder));
    const set = [...plainValues, "setup.enabled=false", "webhook.enabled=false", "settings.cloud=aws"];
    const rendered = byName(await chartObjects({ helm, set }));
    deepEqual([...rendered.keys()], [...plain.keys()]);
    for (const [name, object] of rendered) if (!name.startsWith("Deployment")) deepEqual(object, plain.get(name));
  } finally {
    await rm(folder, { recursive: true });
  }
});

Deno.test("chart: a Helm package renders the same objects as the chart's folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ostler-chart-"));
  try {
    await runHelm(["package", `--destination=${folder}`, "--version=9.9.9"], { helm });
    const chart = join(folder, "ostler-9.9.9.tgz");
    const order = { helm, values: [everything] };
    deepEqual(await chartObjects({ ...order, chart }), await chartObjects(order));
  } finally {
    await rm(folder, { recursive: true });
  }
});

Deno.test("chart: the plain manifests match the chart; deno task manifests updates them", async () => {
  for (const [file, text] of await plainManifests(helm)) equal(await readFile(join(plainFolder, file), "utf8"), text);
});

for (const values of [[], ...sizes.map((size) => [size]), [everything]]) {
  Deno.test(`chart: Helm's lint accepts ${values.at(0)?.split("/").at(-1) ?? "its own values"}`, async () => {
    match(await runHelm(["lint", "--strict", "--quiet"], { helm, values }), /^$|0 chart\(s\) failed/);
  });
}

Deno.test("chart: refuses unknown, invalid and missing values, and names them", async () => {
  const wrong: [string, RegExp][] = [
    ["settings.temporal-adress=x", /temporal-adress/],
    ["workers.replicas=3", /workers/],
    ["image.tag=a/b", /image\/tag|image\.tag/],
    ["worker.replicas=many", /replicas/],
    ["serviceMonitor.enabled=true", /settings\.metrics-address/],
  ];
  for (const [value, reason] of wrong) await rejects(runHelm(["template", "ostler"], { helm, set: [value] }), reason);
});

Deno.test("chart: passes every setting to every process in an environment variable", async () => {
  const rows = [NodeSettings, ProcessSettings, OsmSettings].flatMap((shape) => settingRows(shape));
  // Settings that name a Secret or an address need a valid value here, because the chart uses the value in more places
  // than the variable.
  const values = rows.map(({ flag }) => ({ flag, value: flag.endsWith("-address") ? "0.0.0.0:1234" : `its/${flag}` }));
  const set = [...values.map(({ flag, value }) => `settings.${flag}=${value}`), "webhook.enabled=true"];
  const wanted = Object.fromEntries(rows.map(({ variable }, at) => [variable, values[at]?.value]));
  for (const process of Object.values(deploymentsOf(await chartObjects({ helm, set })))) {
    const set = variablesOf(process);
    deepEqual(Object.fromEntries(Object.keys(wanted).map((name) => [name, set[name]])), wanted, process.metadata.name);
    equal(
      process.spec.template.spec.containers[0].env.length,
      new Set(Object.keys(set)).size,
      "Expected each variable once",
    );
  }
});

Deno.test("chart: a setting may be a YAML number, boolean, list or mapping", async () => {
  const { "ostler-worker": worker } = deploymentsOf(await chartObjects({ helm, values: [everything] }));
  ok(worker);
  const set = variablesOf(worker);
  equal(set["OSTLER_CREDENTIAL_SECONDS"], "1000000");
  equal(set["OSTLER_DISABLE_DEFAULT_OSPS"], "true");
  equal(set["OSTLER_DEADLINES"], '{"drain":"30m"}');
  equal(set["OSTLER_NODE_CONTAINERD_REGISTRY_MIRRORS"], "docker.io=https://a.example quay.io=https://b.example");
});

Deno.test("chart: processes accept the settings of every values file without a warning", async () => {
  for (const values of [...sizes, everything]) {
    for (const process of Object.values(deploymentsOf(await chartObjects({ helm, values: [values] })))) {
      // These variables name files that exist only in a pod, so the test leaves them out.
      const { OSTLER_HOST_CA_BUNDLE: _, ...set } = variablesOf(process);
      const read = readConfig(Object.fromEntries(Object.entries(set).filter(([name]) => !/_TLS|_PATH$/.test(name))));
      deepEqual(read.warnings, [], `${values}: ${process.metadata.name}`);
      equal(read.temporal.address, values === everything ? "temporal.example:7234" : temporalByDefault);
    }
  }
});

Deno.test("chart: no object names ostler-system when the chart is installed into another namespace", async () => {
  const objects = await chartObjects({ helm, namespace: "elsewhere", values: [everything] });
  deepEqual(objects.filter((object) => JSON.stringify(object).includes("ostler-system")), []);
  const trusted = JSON.stringify(objects.find(({ kind }) => kind === "ValidatingWebhookConfiguration"));
  const { "ostler-webhook": webhook } = deploymentsOf(objects);
  ok(webhook);
  for (const user of variablesOf(webhook)["OSTLER_TRUSTED_USERS"]?.split(",") ?? [""]) {
    match(user, /^system:serviceaccount:elsewhere:ostler-(controller|worker)$/);
    ok(trusted.includes(`'${user}'`));
  }
});

Deno.test("chart: workers of other versions have their own pods, image and build ID", async () => {
  const deployments = deploymentsOf(await chartObjects({ helm, values: [everything] }));
  const workers = Object.values(deployments).filter(({ metadata }) => metadata.name.startsWith("ostler-worker"));
  deepEqual(workers.map(({ metadata, spec: { template } }) => [metadata.name, template.spec.containers[0].image]), [
    ["ostler-worker", `registry.example:5000/ostler:1.4.0@sha256:${"a".repeat(64)}`],
    ["ostler-worker-1.3.0", "registry.example:5000/ostler:1.3.0"],
    ["ostler-worker-1.5.0-rc.1", "registry.example:5000/ostler:1.5.0-rc.1"],
  ]);
  const chosenBy = workers.map(({ spec: { selector, template } }) =>
    workers.filter((other) =>
      Object.entries(selector.matchLabels).every(([label, value]) => {
        return other.spec.template.metadata.labels[label] === value;
      })
    ).map(({ spec }) => spec.template.metadata.labels["app.kubernetes.io/version"]).concat("|").concat(
      template.metadata.labels["app.kubernetes.io/version"] ?? "",
    )
  );
  deepEqual(chosenBy, [["1.4.0", "|", "1.4.0"], ["1.3.0", "|", "1.3.0"], ["1.5.0-rc.1", "|", "1.5.0-rc.1"]]);
});

Deno.test("chart: an update of image.tag changes images and labels, but no selector, because selectors are immutable", async () => {
  const [before, after] = await Promise.all(
    ["1.0.0", "2.0.0"].map(async (tag) => deploymentsOf(await chartObjects({ helm, set: [`image.tag=${tag}`] }))),
  );
  notEqual(JSON.stringify(before), JSON.stringify(after));
  equal(JSON.stringify(before).replaceAll("1.0.0", "2.0.0"), JSON.stringify(after));
  for (const [name, { spec }] of Object.entries(before ?? {})) deepEqual(spec.selector, after?.[name]?.spec.selector);
});

Deno.test("chart: only workers get the targets of notifications", async () => {
  const deployments = deploymentsOf(await chartObjects({ helm, set: ["notices.secret=chat"] }));
  const mounted = Object.entries(deployments).filter(([, { spec }]) =>
    spec.template.spec.volumes.some(({ secret }) => secret?.secretName === "chat")
  );
  deepEqual(mounted.map(([name]) => name), ["ostler-worker"]);
});

Deno.test("chart: controller and workers get the Temporal credentials, and the webhook does not", async () => {
  const deployments = deploymentsOf(await chartObjects({ helm, values: [everything] }));
  const opened = Object.entries(deployments).filter(([, deployment]) =>
    /temporal-(login|certificate)/.test(JSON.stringify(deployment))
  ).map(([name]) => name);
  deepEqual(opened, Object.keys(deployments).filter((name) => name !== "ostler-webhook"));
  ok(opened.includes("ostler-controller"));
  for (const name of opened) {
    const { template: { spec } } = deployments[name]!.spec;
    const mounts = (spec.containers[0] as { volumeMounts?: { mountPath: string }[] }).volumeMounts ?? [];
    const files = Object.entries(variablesOf(deployments[name]!)).filter(([name]) => /^TEMPORAL_.*_PATH$/.test(name));
    equal(files.length, 4);
    for (const [variable, file = ""] of files) {
      ok(
        mounts.some(({ mountPath }) => file.startsWith(`${mountPath}/`)),
        `Expected ${variable} to be a file of a Secret`,
      );
    }
    equal(JSON.stringify(spec).includes("secretKeyRef"), true, "Expected a reference to the Secret of the values");
    equal(
      JSON.stringify(spec.containers).includes("temporal-login"),
      false,
      "Expected a mounted file, because an environment variable does not follow changes of the Secret",
    );
  }
});
