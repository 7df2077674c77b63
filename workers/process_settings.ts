/** The settings of the processes themselves; those of the machines are `NodeSettings`. */
import { z } from "zod";
import { handsImagePattern } from "../activities/os/hands_image.ts";
import { optional, readBy, text, truth, wholeNumber } from "../profiles/settings/read_text.ts";
import type { NoticeKind } from "../workflows/contracts/mod.ts";
import { type Form, type Setting, setting } from "../profiles/settings/setting.ts";
import { clouds } from "./open_cloud.ts";

/** Where a process listens; port 0 as written here serves nothing. */
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
}, 'must be one JSON object such as {"drain": "30m"}');
const cloud = readBy(
  (value) => value === "" ? value : clouds.find((one) => one === value),
  `must be one of ${clouds.join(", ")}, or nothing`,
);
const names = text.transform((value) => value.split(",").map((item) => item.trim()).filter(Boolean));
const isHttps = (value: string): boolean =>
  URL.canParse(value) && new URL(value).origin === value && /^https:/.test(value);
const kinds = ["Halted", "RollingBack", "AwaitingApproval", "Converged", "RolledBack", "Aborted"] as const;
const noticeKinds = readBy<NoticeKind[]>((value) => {
  const asked = value.split(",").map((item) => item.trim()).filter(Boolean);
  return asked.every((each) => kinds.some((kind) => kind === each)) ? asked as NoticeKind[] : undefined;
}, `must be of ${kinds.join(", ")}`);
const dnsLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const ours = "system:serviceaccount:ostler-system:ostler";

/** The names that Operating System Manager has too mean the same. */
export const ProcessSettings = z.object({
  config: setting(text, "", { description: "YAML file of settings, by these names without the dashes" }),
  kubeconfig: setting(text, "", { description: "kubeconfig file; else the usual places", env: "KUBECONFIG" }),
  workerClusterKubeconfig: setting(text, "", {
    description:
      "kubeconfig file of the cluster with the MachineDeployments and their machines, where profiles and configs stay in that of `kubeconfig`; else one cluster has all",
  }),
  kubeApiQps: setting(wholeNumber(1, 10_000), "1000", {
    description: "requests a second that a process may make of the API server",
  }),
  kubeApiBurst: setting(wholeNumber(1, 10_000), "2000", {
    description: "requests that it may make at once after a rest",
  }),
  namespace: setting(text, "kube-system", { description: "namespace of profiles and configs" }),
  disableDefaultOsps: setting(truth, "false", { description: "install no default profiles", form: "truth" }),
  leaderElect: setting(truth, "true", { description: "one controller of several works", form: "truth" }),
  healthProbeAddress: setting(listenAddress, "0.0.0.0:8081", {
    description: "where probes are answered; port 0 answers none",
    also: ["health-probe-bind-address"],
  }),
  metricsAddress: setting(listenAddress, "", {
    description: "where a process serves metrics for Prometheus, the worker the SDK's too; else nowhere",
    also: ["metrics-bind-address"],
  }),
  fleetLockAddress: setting(listenAddress, "", {
    description:
      "where workers serve the FleetLock protocol to nodes that update themselves (`docs/how-to/fleet-lock.md`); else nowhere",
  }),
  logLevel: setting(level, "INFO", { description: "least severity that is logged: DEBUG, INFO, WARN, ERROR" }),
  temporalAddress: setting(text, "", {
    description: "Temporal's frontend; else as temporal.toml says, else `127.0.0.1:7233`",
    env: "TEMPORAL_ADDRESS",
  }),
  temporalNamespace: setting(text, "", {
    description: "Temporal's namespace; else as temporal.toml says, else `default`",
    env: "TEMPORAL_NAMESPACE",
  }),
  cluster: setting(optional(dnsLabel, "must be a DNS label such as north-1"), "", {
    description:
      "name of this cluster among those on one Temporal namespace; part of ids and of the task queue's default",
  }),
  taskQueue: setting(text, "", {
    description: "task queue of the workers; else `ostler`, with a cluster's name `ostler-<cluster>`",
  }),
  stepSlots: setting(wholeNumber(1, 10_000), "200", {
    description: "short steps that a worker does at once; the API server is asked by each",
  }),
  waitSlots: setting(wholeNumber(1, 100_000), "5000", {
    description:
      "waits that a worker keeps at once, on the queue `<task-queue>-waits`; one for each machine under way and each pool that waits",
  }),
  buildId: setting(text, "", {
    description:
      "version of the workers for Temporal's Worker Deployment Versioning, which the controller makes current once they poll; a worker without it is unversioned",
  }),
  deployment: setting(optional(/^[^.:]+$/, "must have no dot and no colon"), "", {
    description: "the worker deployment that a build id is of; else named as the default task queue",
  }),
  holdPatches: setting(truth, "false", {
    description: "changes behind patches begin in no run, so that the version before can take all of them back",
    form: "truth",
  }),
  identity: setting(text, "", { description: "name of this process in Temporal; else made from host and process" }),
  systemNamespace: setting(text, "ostler-system", { description: "namespace of the controller's lease" }),
  workflowBundle: setting(text, "", { description: "file made by `deno task bundle`; else bundled at start" }),
  deadlines: setting(deadlines, "{}", { description: "deadlines of every rollout, by field", form: "json" }),
  credentialSeconds: setting(wholeNumber(600, Infinity), "86400", {
    description: "life of what machines boot with; the API server issues none below ten minutes",
  }),
  providerReferenceNamespaces: setting(names, "", {
    description:
      "namespaces of the Secrets and ConfigMaps that provider specs may point at, joined by commas; else all that the worker may read",
  }),
  cloud: setting(cloud, "", {
    description: "cloud whose scaling groups are looked after: aws, azure, google or simulated; else none",
  }),
  cloudPlace: setting(text, "", {
    description:
      "where in that cloud: a region of aws, `subscription/resource group` of azure, a project of google, the URL of a simulated one",
  }),
  cloudTag: setting(text, "", {
    description: "what groups of this cluster bear as constellation-uid; simulated ones bear nothing",
  }),
  prometheusHosts: setting(names, "", {
    description: "hosts, each with a port or for any, that gates may ask for metrics, joined by commas; else all",
  }),
  prometheusCa: setting(text, "", {
    description: "PEM file with the CA of these hosts; else the system's",
    form: "file",
  }),
  prometheusTokenFile: setting(text, "", {
    description:
      "file with a bearer token for them, read at each request and sent over https alone; takes prometheus-hosts",
  }),
  webhookAddress: setting(listenAddress, "0.0.0.0:9443", { description: "where the webhook listens" }),
  workerWebhookEndpoint: setting(
    readBy((value) => (value === "" || isHttps(value) ? value : undefined), "must be an https address without a path"),
    "",
    {
      description:
        "address `https://host:port` by which the API server of `worker-cluster-kubeconfig` finds the webhook; else that one never asks it",
    },
  ),
  webhookEndpoint: setting(
    readBy(
      (value) => (/^[a-z0-9.-]+\/[a-z0-9-]+$/.test(value) || isHttps(value) ? value : undefined),
      "must be namespace/name of a Service, or an https address without a path",
    ),
    "ostler-system/ostler-webhook",
    {
      description:
        "where the API server finds the webhook: its Service `namespace/name`, or an address `https://host:port`",
    },
  ),
  certDir: setting(text, "/tmp/k8s-webhook-server/serving-certs", {
    description:
      "folder with the webhook's tls.crt and tls.key, such as cert-manager's; where it has none, the webhooks make their own",
  }),
  notifyWebhookFile: setting(text, "", {
    description: "file with the URL of a webhook that is told what happens to rollouts, such as one of Slack",
  }),
  notifyTemplateFile: setting(text, "", {
    description: 'file with the JSON that the webhook is sent; else `{"text": "{{text}}"}`',
  }),
  notifyEventsFile: setting(text, "", {
    description: "file with the URL of a receiver that is told the same as CloudEvents",
  }),
  notifyAbout: setting(noticeKinds, kinds.join(","), {
    description: "what is told, joined by commas",
  }),
  approveJoiningNodes: setting(truth, "false", {
    description:
      "the controller approves the certificates of nodes that machines of its pools wait for; takes rights, and that nobody else approves them",
    form: "truth",
  }),
  handsImage: setting(
    optional(
      handsImagePattern,
      "must be an image by digest, such as debian@sha256:…",
    ),
    "",
    {
      description:
        "image, by digest, of the pods by which workers give nodes' operating systems their orders (`docs/explanation/hands.md`); else they give none",
    },
  ),
  trustedUsers: setting(names, `${ours}-controller,${ours}-worker`, {
    description: "who may write configs and lower the version of a profile, joined by commas",
  }),
});

const containerd = readBy((value) => (value === "containerd" ? value : undefined), "must be containerd");

function ignored(description: string, form: Form = "text"): Setting<string> {
  return setting(text, "", { description, form, isIgnored: true });
}

/** Other flags of Operating System Manager, so that its arguments can stay; what cannot be ignored is refused. */
export const OsmSettings = z.object({
  containerRuntime: setting(containerd, "containerd", { description: "nothing else is supported" }),
  caBundle: ignored("it has none in Operating System Manager either; see host-ca-bundle"),
  workerCount: ignored("Temporal paces the work"),
  logDebug: ignored("log-level=DEBUG does it", "truth"),
  logFormat: ignored("logs are JSON"),
  workerHealthProbeAddress: ignored("both clusters have one address for probes"),
  workerMetricsAddress: ignored("both clusters have one address for metrics"),
});
