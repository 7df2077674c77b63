import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultNodeSettings } from "../../../profiles/node_settings.ts";
import { readConfig } from "../../../workers/config.ts";
import { patchesOf, versionOf } from "../../../workers/worker_options.ts";

function withFile(text: string, story: (path: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), "ostler-config-"));
  try {
    const path = join(directory, "settings.yaml");
    writeFileSync(path, text);
    story(path);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function fault(env: Record<string, string>, argv: string[] = []): string {
  let message = "";
  throws(() => readConfig(env, argv), (error: Error) => {
    message = error.message;
    return true;
  });
  return message;
}

Deno.test("readConfig: has a default for every setting", () => {
  const config = readConfig({});
  deepEqual([config.temporal.address, config.taskQueue, config.namespace, config.kubeconfig], [
    ...["127.0.0.1:7233", "ostler", "kube-system", ""],
  ]);
  deepEqual([config.deadlines, config.credentialSeconds, config.warnings], [{}, 86_400, []]);
  deepEqual([config.healthProbeAddress, config.leaderElect], [{ host: "0.0.0.0", port: 8081 }, true]);
  deepEqual(config.node, defaultNodeSettings);
});

Deno.test("readConfig: gives a named cluster its own task queue by default", () => {
  const queueOf = (settings: Record<string, string>): string => readConfig(settings).taskQueue;
  equal(queueOf({ OSTLER_CLUSTER: "north-1" }), "ostler-north-1");
  equal(queueOf({ OSTLER_CLUSTER: "north-1", OSTLER_TASK_QUEUE: "mine" }), "mine");
  for (const cluster of ["North", "north.1", "a/b", "-north", "n".repeat(64), "waits", "north-waits"]) {
    match(fault({ OSTLER_CLUSTER: cluster }), /must be a DNS label such as north-1/);
  }
});

Deno.test("readConfig: treats an empty variable as not set", () => {
  deepEqual(readConfig({ TEMPORAL_ADDRESS: "", OSTLER_HEALTH_PROBE_ADDRESS: "" }), readConfig({}));
});

Deno.test("readConfig: reads settings from environment variables", () => {
  const config = readConfig({
    KUBECONFIG: "/etc/kubeconfig",
    TEMPORAL_ADDRESS: "temporal:7233",
    OSTLER_CLUSTER_DNS: "10.0.0.10, 10.0.0.11,",
    OSTLER_EXTERNAL_CLOUD_PROVIDER: "true",
    OSTLER_NODE_HTTP_PROXY: "http://proxy.example:3128",
    OSTLER_DEADLINES: '{"drain": "30m", "ready": 1000}',
  });
  deepEqual([config.kubeconfig, config.temporal.address], ["/etc/kubeconfig", "temporal:7233"]);
  deepEqual(config.node, {
    ...defaultNodeSettings,
    ...{ clusterDns: ["10.0.0.10", "10.0.0.11"], externalCloudProvider: true },
    nodeHttpProxy: "http://proxy.example:3128",
  });
  deepEqual(config.deadlines, { drain: "30m", ready: 1000 });
});

Deno.test("readConfig: reads a file of settings, and prefers flags and environment variables to the file", () => {
  const text =
    "namespace: profiles\ndeadlines: {drain: 30m}\ntask-queue: file\npause-image: file\ncluster-domain: file\n";
  withFile(text, (path) => {
    const config = readConfig({ OSTLER_CONFIG: path, OSTLER_TASK_QUEUE: "env" }, ["--pause-image", "flag"]);
    deepEqual([config.namespace, config.deadlines, config.taskQueue], ["profiles", { drain: "30m" }, "env"]);
    deepEqual([config.node.pauseImage, config.node.clusterDomain], ["flag", "file"]);
  });
});

Deno.test("readConfig: refuses a file that is not a mapping, has unknown settings or does not exist", () => {
  withFile("- a\n", (path) => match(fault({}, ["--config", path]), /expected a YAML mapping of settings$/));
  withFile("cluster-dsn: 1.1.1.1\n", (path) => {
    equal(
      fault({}, [`-config=${path}`]),
      "Invalid settings: cluster-dsn in the file: unknown setting",
    );
  });
  equal(fault({}, ["--config=/nowhere.yaml"]), 'Failed to read the settings from "/nowhere.yaml": ENOENT');
});

Deno.test("readConfig: accepts the arguments of Operating System Manager, and names those without an effect", () => {
  const config = readConfig({}, [
    ...["-worker-count=5", "-cluster-dns=169.254.20.10", "-container-runtime=containerd", "-namespace=kube-system"],
    ...["-health-probe-address=0.0.0.0:8085", "-metrics-address=0.0.0.0:8080", "-leader-elect=false"],
    ...["-ca-bundle=/etc/ca.pem", "-log-format=Console", "-log-debug", "-disable-default-osps"],
    ...["-external-cloud-provider", "-worker-cluster-kubeconfig="],
  ]);
  deepEqual(config.healthProbeAddress, { host: "0.0.0.0", port: 8085 });
  deepEqual([config.metricsAddress, config.leaderElect, config.disableDefaultOsps], [
    ...[{ host: "0.0.0.0", port: 8080 }, false, true],
  ]);
  equal(config.node.externalCloudProvider, true);
  deepEqual(config.warnings.map((warning) => warning.split(" ")[0]), [
    ...["--ca-bundle", "--worker-count", "--log-debug", "--log-format"],
  ]);
});

Deno.test("readConfig: accepts the arguments of Operating System Manager's webhook", () => {
  const config = readConfig({}, [
    "-namespace",
    "kube-system",
    "-health-probe-bind-address=:8082",
    "-cert-dir",
    "/certs",
  ]);
  deepEqual([config.healthProbeAddress.port, config.certDir], [8082, "/certs"]);
});

Deno.test("readConfig: refuses values of Operating System Manager's arguments that Ostler does not support and must not ignore", () => {
  const message = fault({}, ["--container-runtime=docker", "--worker-webhook-endpoint=ns/service"]);
  ok(message.includes('--container-runtime "docker": must be containerd'), message);
  ok(message.includes('--worker-webhook-endpoint "ns/service": must be an https address'), message);
});

Deno.test("readConfig: refuses unknown flags, and arguments without a flag, also an empty argument", () => {
  const wrong = [["--cluster-dsn=1.1.1.1"], ["serve"], ["--pause-image=a", "", "--cluster-dns=1.1.1.1"], ["--", "x"]];
  for (const argv of wrong) {
    match(fault({}, argv), /"(--cluster-dsn|serve||--)": (unknown|expected a) flag/);
  }
});

Deno.test("readConfig: names all invalid settings in one error, with the given and the expected value", () => {
  const wrong = {
    ...{ OSTLER_HEALTH_PROBE_ADDRESS: "http", OSTLER_CREDENTIAL_SECONDS: "60", OSTLER_EXTERNAL_CLOUD_PROVIDER: "yes" },
    ...{ OSTLER_DEADLINES: "{drain: 30m}", OSTLER_LOG_LEVEL: "LOUD", OSTLER_WEBHOOK_ADDRESS: "[::]:70000" },
    ...{ OSTLER_METRICS_ADDRESS: "9090", OSTLER_NOTIFY_ABOUT: "Halted,Exploded" },
  };
  const message = fault(wrong);
  match(message, /^Invalid settings: /);
  for (const [name, value] of Object.entries(wrong)) ok(message.includes(`${name} "${value}": must be `), message);
});

Deno.test("readConfig: gives a worker a Worker Deployment Version only with a build ID, with versioning behavior AUTO_UPGRADE", () => {
  equal(versionOf(readConfig({})).workerDeploymentOptions, undefined);
  deepEqual(versionOf(readConfig({ OSTLER_BUILD_ID: "0.2.0", OSTLER_CLUSTER: "north" })).workerDeploymentOptions, {
    ...{ useWorkerVersioning: true, defaultVersioningBehavior: "AUTO_UPGRADE" },
    version: { deploymentName: "ostler-north", buildId: "0.2.0" },
  });
  const named = versionOf(readConfig({ OSTLER_BUILD_ID: "0.2.0", OSTLER_DEPLOYMENT: "pools" }));
  equal(named.workerDeploymentOptions?.version.deploymentName, "pools");
});

Deno.test("readConfig: activates new workflow patches unless OSTLER_HOLD_PATCHES is set", () => {
  equal(patchesOf(readConfig({})).patchActivationCallback, undefined);
  const { patchActivationCallback } = patchesOf(readConfig({ OSTLER_HOLD_PATCHES: "true" }));
  equal(patchActivationCallback?.({ patchId: "any" } as never), false);
});

Deno.test("readConfig: requires allowed hosts for a Prometheus token", () => {
  throws(
    () => readConfig({}, ["--prometheus-token-file=/t"]),
    /prometheus-hosts must list the hosts that may get the token/,
  );
  const { prometheusHosts } = readConfig({}, [
    "--prometheus-token-file=/t",
    "--prometheus-hosts=prometheus.example:9090,b",
  ]);
  deepEqual(prometheusHosts, ["prometheus.example:9090", "b"]);
});

Deno.test("readConfig: requires, for a cloud, its address and the tag value of this cluster's groups", () => {
  const shared = {
    OSTLER_CLOUD: "aws",
    OSTLER_CLOUD_PLACE: "x",
    OSTLER_CLOUD_TAG: "c",
    OSTLER_PROVIDER_ENVIRONMENT: "true",
  };
  throws(() => readConfig(shared), /provider-environment: must be false with a cloud/, "fault S7");
  throws(() => readConfig({ OSTLER_CLOUD: "aws" }), /cloud-place: is required for aws\n?.*cloud-tag: is required/s);
  throws(() => readConfig({ OSTLER_CLOUD: "simulated" }), /cloud-place: is required for simulated/);
  throws(
    () => readConfig({ OSTLER_CLOUD: "azure", OSTLER_CLOUD_PLACE: "s", OSTLER_CLOUD_TAG: "c1" }),
    /must be subscr/,
  );
  throws(() => readConfig({ OSTLER_CLOUD: "toys" }), /must be one of aws, .*simulated, or empty/);
  const config = readConfig({ OSTLER_CLOUD: "aws", OSTLER_CLOUD_PLACE: "eu-west-1", OSTLER_CLOUD_TAG: "c1" });
  deepEqual([config.cloud, config.cloudPlace, config.cloudTag], ["aws", "eu-west-1", "c1"]);
  const azure = { OSTLER_CLOUD: "azure", OSTLER_CLOUD_PLACE: "s/r", OSTLER_CLOUD_TAG: "c1" };
  equal(readConfig(azure).cloudPlace, "s/r");
  const google = { OSTLER_CLOUD: "google", OSTLER_CLOUD_PLACE: "p", OSTLER_CLOUD_TAG: "c1" };
  equal(readConfig({ ...google, OSTLER_CLOUD_INPUT_ONLY: "{}" }).cloudInputOnly, "{}");
  throws(
    () => readConfig({ ...google, OSTLER_CLOUD_INPUT_ONLY: '{"tags":{}}' }),
    /cloud-input-only: must be a JSON object with values for resourceManagerTags, /,
  );
});
