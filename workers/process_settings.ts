/** The settings of the processes; `NodeSettings` has the settings of the machines. */
import { z } from "zod";
import { handsImagePattern } from "../activities/os/hands_image.ts";
import { parseGoDuration } from "../profiles/go_duration.ts";
import { optional, readBy, text, truth, wholeNumber } from "../profiles/settings/read_text.ts";
import type { NoticeKind } from "../workflows/contracts/mod.ts";
import { type Form, type Setting, setting } from "../profiles/settings/setting.ts";
import { clouds } from "./open_cloud.ts";

/** An address on which a process listens; port 0 disables the server. */
export interface ListenAddress {
  host: string;
  port: number;
}

const listenAddress = readBy<ListenAddress>((value) => {
  const [, host = "", port = ""] = /^(?:\[?([^\]]*)\]?:(\d{1,5}))?$/.exec(value) ?? ["", "", "x"];
  return Number(port) <= 65_535 ? { host: host || "0.0.0.0", port: Number(port) } : undefined;
}, "must be host:port");
const level = readBy(
  (value) => (["DEBUG", "INFO", "WARN", "ERROR"] as const).find((one) => one === value),
  "must be DEBUG, INFO, WARN or ERROR",
);
const deadlines = readBy((value) => {
  try {
    return z.record(z.string(), z.union([z.string(), z.number()])).parse(JSON.parse(value));
  } catch {
    return undefined;
  }
}, 'must be a JSON object such as {"drain": "30m"}');
const cloud = readBy(
  (value) => value === "" ? value : clouds.find((one) => one === value),
  `must be one of ${clouds.join(", ")}, or empty`,
);
const duration = readBy(parseGoDuration, "must be a duration such as 15m, or 0");
const names = text.transform((value) => value.split(",").map((item) => item.trim()).filter(Boolean));
const isHttps = (value: string): boolean =>
  URL.canParse(value) && new URL(value).origin === value && /^https:/.test(value);
const kinds = ["Halted", "RollingBack", "AwaitingApproval", "Converged", "RolledBack", "Aborted"] as const;
const noticeKinds = readBy<NoticeKind[]>((value) => {
  const asked = value.split(",").map((item) => item.trim()).filter(Boolean);
  return asked.every((each) => kinds.some((kind) => kind === each)) ? asked as NoticeKind[] : undefined;
}, `must be a comma-separated list of ${kinds.join(", ")}`);
// The task queue of a cluster "north-waits" would be the one for the waits of cluster "north".
const clusterName = /^(?!(.*-)?waits$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const ours = "system:serviceaccount:ostler-system:ostler";

/** Settings that Operating System Manager also has mean the same there. */
export const ProcessSettings = z.object({
  config: setting(text, "", { description: "Read settings from this YAML file, keyed by flag without dashes" }),
  kubeconfig: setting(text, "", {
    description: "Use this kubeconfig file (default ~/.kube/config, else in-cluster)",
    env: "KUBECONFIG",
  }),
  workerClusterKubeconfig: setting(text, "", {
    description:
      "Find MachineDeployments and machines in this kubeconfig's cluster; profiles and configs stay in the cluster " +
      "of `kubeconfig` (default one cluster)",
  }),
  kubeApiQps: setting(wholeNumber(1, 10_000), "1000", {
    description: "Limit API server requests per second of each process",
  }),
  kubeApiBurst: setting(wholeNumber(1, 10_000), "2000", {
    description: "Limit API server requests in a burst",
  }),
  namespace: setting(text, "kube-system", { description: "Use profiles and configs in this namespace" }),
  disableDefaultOsps: setting(truth, "false", { description: "Do not install the default profiles", form: "truth" }),
  leaderElect: setting(truth, "true", { description: "Elect a leader among the controllers", form: "truth" }),
  healthProbeAddress: setting(listenAddress, "0.0.0.0:8081", {
    description: "Serve health probes on this address; port 0 disables them",
    also: ["health-probe-bind-address"],
  }),
  metricsAddress: setting(listenAddress, "", {
    description: "Serve Prometheus metrics on this address, on workers also the SDK's (default disabled)",
    also: ["metrics-bind-address"],
  }),
  fleetLockAddress: setting(listenAddress, "", {
    description: "Serve FleetLock to self-updating nodes on this address, on workers (default disabled; " +
      "`docs/how-to/fleet-lock.md`)",
  }),
  logLevel: setting(level, "INFO", { description: "Log from this level: DEBUG, INFO, WARN, ERROR" }),
  temporalAddress: setting(text, "", {
    description: "Connect to this Temporal frontend (default from temporal.toml, else `127.0.0.1:7233`)",
    env: "TEMPORAL_ADDRESS",
  }),
  temporalNamespace: setting(text, "", {
    description: "Use this Temporal namespace (default from temporal.toml, else `default`)",
    env: "TEMPORAL_NAMESPACE",
  }),
  cluster: setting(
    optional(clusterName, 'must be a DNS label such as north-1, not "waits" or one that ends in "-waits"'),
    "",
    {
      description:
        "Name this cluster in a shared Temporal namespace; part of workflow ids and of the default task queue",
    },
  ),
  taskQueue: setting(text, "", {
    description: "Use this task queue (default `ostler`, with a cluster name `ostler-<cluster>`)",
  }),
  stepSlots: setting(wholeNumber(1, 10_000), "200", {
    description: "Limit concurrent short steps of a worker; each sends requests to the API server",
  }),
  waitSlots: setting(wholeNumber(1, 100_000), "5000", {
    description:
      "Limit concurrent waits of a worker, on queue `<task-queue>-waits`; one for each machine in progress and " +
      "each waiting pool",
  }),
  buildId: setting(text, "", {
    description:
      "Set the Worker Deployment Version's build ID; the controller makes it current once workers poll (default " +
      "unversioned)",
  }),
  deployment: setting(optional(/^[^.:]+$/, "must not contain a dot or a colon"), "", {
    description:
      "Name the Worker Deployment of the build ID (default `ostler`, with a cluster name `ostler-<cluster>`)",
  }),
  holdPatches: setting(truth, "false", {
    description: "Do not activate new workflow patches (allows downgrade)",
    form: "truth",
  }),
  identity: setting(text, "", {
    description: "Name this process in Temporal (default from host and process)",
  }),
  systemNamespace: setting(text, "ostler-system", { description: "Keep the controller's Lease in this namespace" }),
  workflowBundle: setting(text, "", {
    description: "Load workflows from this `deno task bundle` file (default bundled at start)",
  }),
  deadlines: setting(deadlines, "{}", {
    description: "Set the default deadlines of all rollouts, as JSON",
    form: "json",
  }),
  credentialSeconds: setting(wholeNumber(600, Infinity), "86400", {
    description: "Set the lifetime of boot credentials in seconds; minimum ten minutes",
  }),
  joinClusterTimeout: setting(duration, "15m", {
    description:
      "Set to machine-controller's `-join-cluster-timeout`; Ostler recreates a Machine that was held for half of it " +
      "before it boots (0 never)",
  }),
  providerReferenceNamespaces: setting(names, "", {
    description:
      "Limit references of provider specs to these namespaces, comma-separated; for Secrets and ConfigMaps " +
      "(default all that the worker can read)",
  }),
  providerEnvironment: setting(truth, "false", {
    description:
      "Give machines the provider credentials from the environment of Ostler's worker where a provider spec has none; " +
      "not allowed with `cloud`",
    form: "truth",
  }),
  cloud: setting(cloud, "", {
    description: "Manage scaling groups of aws, azure, google or simulated (default none)",
  }),
  cloudPlace: setting(text, "", {
    description:
      "Set the place in the `cloud`: AWS region, Azure `subscription/resource group`, Google project, or URL of a " +
      "simulated cloud",
  }),
  cloudTag: setting(text, "", {
    description: "Set the constellation-uid tag of this cluster's groups; required unless simulated",
  }),
  cloudInputOnly: setting(text, "", {
    description: "State input-only fields of Google's instance templates, as a JSON object from path to value",
    form: "json",
  }),
  prometheusHosts: setting(names, "", {
    description: "Let metric gates query these hosts, `host[:port]`, comma-separated (default none)",
  }),
  prometheusCa: setting(text, "", {
    description: "Read the Prometheus CA from this PEM file (default the system's)",
    form: "file",
  }),
  prometheusTokenFile: setting(text, "", {
    description: "Read the Prometheus bearer token from this file, at each request; sent over https only, requires " +
      "prometheus-hosts",
  }),
  webhookAddress: setting(listenAddress, "0.0.0.0:9443", { description: "Serve the webhook on this address" }),
  workerWebhookEndpoint: setting(
    readBy((value) => (value === "" || isHttps(value) ? value : undefined), "must be an https address without a path"),
    "",
    {
      description:
        "Register the worker cluster's webhook at `https://host:port`; by default that cluster calls no webhook",
    },
  ),
  webhookEndpoint: setting(
    readBy(
      (value) => (/^[a-z0-9.-]+\/[a-z0-9-]+$/.test(value) || isHttps(value) ? value : undefined),
      "must be namespace/name of a Service, or an https address without a path",
    ),
    "ostler-system/ostler-webhook",
    {
      description: "Register the webhook at Service `namespace/name` or at `https://host:port`",
    },
  ),
  certDir: setting(text, "/tmp/k8s-webhook-server/serving-certs", {
    description:
      "Read tls.crt and tls.key from this folder, such as cert-manager's; if missing, the webhooks create their own",
  }),
  notifyWebhookFile: setting(text, "", {
    description: "Read the notification webhook's URL from this file, such as Slack's",
  }),
  notifyTemplateFile: setting(text, "", {
    description: 'Read the notification template from this file, in JSON (default `{"text": "{{text}}"}`)',
  }),
  notifyEventsFile: setting(text, "", {
    description: "Read the URL of a CloudEvents receiver for notifications from this file",
  }),
  notifyAbout: setting(noticeKinds, kinds.join(","), {
    description: "Send only these notifications, comma-separated",
  }),
  approveJoiningNodes: setting(truth, "false", {
    description: "Let the controller approve certificates of joining nodes; requires permissions, and that no other " +
      "approver is active",
    form: "truth",
  }),
  handsImage: setting(
    optional(
      handsImagePattern,
      "must be an image by digest, such as debian@sha256:…",
    ),
    "",
    {
      description: "Use pods of this image, by digest, to update nodes' operating systems and Kubernetes (default " +
        "disabled; `docs/explanation/hands.md`)",
    },
  ),
  trustedUsers: setting(names, `${ours}-controller,${ours}-worker`, {
    description: "Let these users write configs and downgrade profiles, comma-separated",
  }),
});

const containerd = readBy((value) => (value === "containerd" ? value : undefined), "must be containerd");

function ignored(description: string, form: Form = "text"): Setting<string> {
  return setting(text, "", { description, form, isIgnored: true });
}

/** Other flags of Operating System Manager, so that its arguments stay valid; refuses values that cannot be ignored. */
export const OsmSettings = z.object({
  containerRuntime: setting(containerd, "containerd", {
    description: "Use this container runtime; only containerd is supported",
  }),
  caBundle: ignored("has no effect in Operating System Manager either; use host-ca-bundle"),
  workerCount: ignored("Temporal controls concurrency"),
  logDebug: ignored("use log-level=DEBUG", "truth"),
  logFormat: ignored("logs are JSON"),
  workerHealthProbeAddress: ignored("both clusters use health-probe-address"),
  workerMetricsAddress: ignored("both clusters use metrics-address"),
});
