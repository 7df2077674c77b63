/** The controller process: signals changes to Temporal, and makes no decisions. */
import type { Client } from "@temporalio/client";
import { Claim } from "./claim.ts";
import { type ClusterIdentity, readClusterIdentity } from "./cluster_identity.ts";
import { clusterOf, type Clusters, openClusters } from "./clusters.ts";
import type { Config } from "./config.ts";
import { keepCredentialSchedule } from "./credential_schedule.ts";
import { keepVersionCurrent } from "./current_version.ts";
import { installDefaultProfiles } from "./install_default_profiles.ts";
import { keepDiscoverySchedule } from "./discovery_schedule.ts";
import { followAccess } from "./follow_access.ts";
import { serveHealth, type Serving } from "./health.ts";
import { leadWhileHolding } from "./leader.ts";
import { createLogger } from "./logger.ts";
import { openMetrics } from "./metrics/open_metrics.ts";
import { requestsTold } from "./metrics/process_measures.ts";
import type { Metrics } from "./metrics/registry.ts";
import { serveMetrics } from "./metrics/serve_metrics.ts";
import type { VersionStatus } from "./metrics/node_version_gauges.ts";
import { Lead } from "./metrics/serving_gauges.ts";
import { type PoolNotice, startNotice, targetsOf, tellNotices } from "./notices/tell_notices.ts";
import { type PoolNews, PoolNotifier, type ReportedRun } from "./pool_notifier.ts";
import { runProcess } from "./run_process.ts";
import { serveWhileOurs } from "./serve_while_ours.ts";
import { startRollout } from "./start_rollout.ts";
import { keepAutoscaler, tellAutoscalers } from "./tell_autoscalers.ts";
import { admitImage, tellImages } from "./tell_images.ts";
import { admitJoiningNode, tellJoiningNodes } from "./tell_joining_nodes.ts";
import { openTracing, type Tracing } from "./telemetry/tracing.ts";
import { accessOfProcess, LazyClient } from "./temporal_client.ts";
import { askTemporal } from "./temporal_trouble.ts";
import { type WatchedPools, watchPools } from "./watch_pools.ts";
import { watchAll } from "../activities/backends/registry.ts";
import type { Resource } from "../activities/kube/resources.ts";
import { dueOf, isOfKubeadm, recordsIn } from "../activities/status/certificate_record.ts";
import { isHeldBack, settingOf } from "../activities/status/renewal_setting.ts";
import { createHash } from "node:crypto";
import { Informer, type InformerDeps } from "../activities/kube/informer.ts";
import { NodeVersion, nodeVersions, ScalingGroup, scalingGroups } from "../activities/kube/update_kinds.ts";
import { certificatesIdOf, nodeVersionIdOf } from "../workflows/commands/start_options.ts";
import { shownOf } from "./shown_of.ts";
import { type ObjectNews, tellObjects } from "./tell_objects.ts";

/** Runs until `signal` aborts or leadership is lost. */
export async function runController(
  config: Config,
  signal: AbortSignal,
  { serve = serveHealth }: Partial<Serving> = {},
): Promise<void> {
  const log = createLogger(config.logLevel);
  const metrics = await openMetrics("controller", config);
  const lead = new Lead(metrics);
  const tracing = await openTracing();
  const scraped = metrics && serveMetrics({ address: config.metricsAddress, metrics, log });
  const clusters = openClusters(config, { log, requests: requestsTold(metrics) });
  const client = new LazyClient(config.temporal, accessOfProcess);
  // A controller on standby is ready too: otherwise an update of the Deployment, or a drain of the leader's node, would
  // never end.
  let ready = false;
  const onStandby = (): void => void (ready = true);
  let missing = (): string[] => [];
  const detail = (): string => missing().map((kind) => `Failed to list pools of kind ${kind}; retrying\n`).join("");
  const health = serve({ ...config.healthProbeAddress, isReady: () => ready, detail });
  let self: ClusterIdentity = { name: config.cluster, uid: "" };
  const place = new Claim(config);
  const claim = async (): Promise<void> => {
    self = await readClusterIdentity(clusters.pools, config, log);
    await askTemporal(config.temporal, async () => await place.hold(await client.get(), self));
  };
  const ended = new AbortController();
  const following = AbortSignal.any([signal, ended.signal]);
  void followAccess(client, { server: config.temporal, workers: () => [], log, signal: following });
  try {
    await leadWhileHolding(clusters.management, { config, log, signal, onStandby }, async (leading) => {
      ready = false;
      void approveNodes({ config, clusters, log }, leading).catch((error) =>
        log.error("Failed to approve nodes", { error })
      );
      await serveWhileOurs({ claim, log, signal: leading }, async (serving) => {
        const onReady = (watch: WatchedPools): void => {
          ready = true;
          missing = () => watch.missing();
        };
        await tell({ config, clusters, client, self, log, metrics, tracing, lead, onReady }, serving);
        ready = false;
      });
    });
  } finally {
    ended.abort();
    health?.close();
    scraped?.close();
    await client.close();
  }
}

// The module that approves certificate requests is loaded only if setting `approveJoiningNodes` is on. Its failure does
// not end the controller.
async function approveNodes(
  { config, clusters, log }: Pick<Telling, "config" | "clusters" | "log">,
  signal: AbortSignal,
): Promise<void> {
  if (!config.approveJoiningNodes) return;
  // Pools, machines, nodes and their certificates are in one cluster, even if profiles are in another.
  const kube = clusterOf(clusters, config);
  const { approveJoiningNodes } = await import("./approve_joining_nodes.ts");
  await approveJoiningNodes({ kube, account: config.node.bootstrapTokenServiceAccountName ?? "", log }, signal);
}

interface Telling {
  config: Config;
  clusters: Clusters;
  client: LazyClient;
  self: ClusterIdentity;
  log: ReturnType<typeof createLogger>;
  metrics: Metrics | undefined;
  tracing: Tracing | undefined;
  lead: Lead;
  onReady: (watch: WatchedPools) => void;
}

type Notify = (news: PoolNews) => Promise<ReportedRun>;

function notifying({ config, client, self, metrics, tracing }: Telling): Notify {
  return async (news) => {
    const since = Date.now();
    try {
      const run = await startRollout({ client: await client.get(), config, self }, news);
      metrics?.add("ostler_rollout_signals_total", { outcome: "told" });
      const { pool: { namespace, name }, generation } = news;
      tracing?.told({ pool: `${namespace}/${name}`, generation, since, ...run });
      return run;
    } catch (error) {
      metrics?.add("ostler_rollout_signals_total", { outcome: "failed" });
      throw error;
    }
  };
}

type Noticing = Pick<Telling, "config" | "log" | "metrics"> & { connect: () => Promise<Client>; watch: WatchedPools };

async function tellNoticesOf({ config, connect, watch, metrics, log }: Noticing, signal: AbortSignal): Promise<void> {
  if (targetsOf(config).length === 0) return;
  const send = async (each: PoolNotice): ReturnType<typeof startNotice> => {
    const count = (outcome: string): void => metrics?.add("ostler_notices_total", { kind: each.notice.kind, outcome });
    try {
      const sent = await startNotice(await connect(), config, each);
      if (sent === "Sent") count("sent");
      return sent;
    } catch (error) {
      count("failed");
      throw error;
    }
  };
  await tellNotices({ notices: () => watch.notices(), send, kinds: config.notifyAbout, log }, signal);
}

async function tell(telling: Telling, signal: AbortSignal): Promise<void> {
  const { config, clusters, client, self, log, metrics, lead, onReady } = telling;
  const kube = clusterOf(clusters, config);
  const installing = await installDefaultProfiles(kube, config, { log, signal });
  const place = { profileNamespace: config.namespace, hasCloud: config.cloud !== "" };
  const watch = watchPools({ kube, log, signal, watchAll: (deps) => watchAll(kube, { ...deps, ...place }) });
  const notifier = new PoolNotifier(watch, { notify: notifying(telling), log });
  await watch.start();
  onReady(watch);
  const missing = watch.missing().join(", ");
  if (missing !== "") log.warn("Failed to list some kinds of pools; serving the others", { missing });
  log.info("Controller is watching");
  const connect = (): Promise<Client> => client.get();
  await lead.during(watch, async () => {
    const schedule = keepCredentialSchedule(config, {
      ...{ connect, self, log, signal },
      hasUnnamedRuns: () => watch.hasUnnamedRuns(),
    });
    const version = keepVersionCurrent(config, { connect, log, signal });
    const notices = tellNoticesOf({ config, connect, watch, metrics, log }, signal);
    const admit = async (name: string): Promise<void> => admitJoiningNode(await connect(), config, name);
    const joining = tellJoiningNodes({ kube, tell: admit, log }, signal);
    const keep = async (name: string): Promise<void> => keepAutoscaler(await connect(), config, name);
    const scaling = tellAutoscalers({ kube, tell: keep, log }, signal);
    const roll = async (name: string): Promise<void> => rollOutNodeVersion(await connect(), config, name);
    const renew = async (name: string): Promise<void> => renewCertificates(await connect(), config, name);
    const rolling = tellNodeVersions({
      ...{ kube, tell: roll, renew, log },
      onVersions: (read) => lead.versions(read),
    }, signal);
    const judge = async (name: string): Promise<void> => admitImage(await connect(), config, name);
    const images = tellImages({ kube, tell: judge, log }, signal);
    const discovery = keepDiscoverySchedule(config, { connect, log, signal });
    const told = [notifier.run(signal), notices, joining, scaling, rolling, images];
    await Promise.all([...told, schedule, discovery, version, installing.ended]);
  });
}

// Starts a run for each NodeVersion, signals it at each change of the NodeVersion or its groups, and repeats the signal
// from time to time.

/** A NodeVersion with the facts on which its runs depend. */
interface SeenVersion extends VersionStatus {
  /** UID, generation and deletion time; the generation, because a spec may change and change back between two reads. */
  identity: string;
  /** The annotation about the renewal of certificates; undefined if a person disabled or cancelled the renewal. */
  renewal: string | undefined;
}

const versions: Resource<SeenVersion> = {
  ...nodeVersions,
  schema: NodeVersion.transform(({ metadata, status }) => {
    const { name, uid, generation, deletionTimestamp } = metadata;
    const version = { metadata, ...(status ? { status } : {}) };
    return {
      identity: [uid, generation, deletionTimestamp].join(" "),
      name,
      conditions: (status?.conditions ?? []).map(({ type, reason }) => ({ type, reason })),
      certificates: recordsIn(status),
      renewal: isHeldBack(version) ? undefined : settingOf(version),
    };
  }),
};

/**
 * Milliseconds until a renewal is signalled again while certificates expire soon: without setting hands-image, a run
 * ends without renewing them.
 */
const renewAgainMs = 3_600_000;

/** The NodeVersion of a group, and the identity of the group. */
const groups: Resource<{ version: string; identity: string }> = {
  ...scalingGroups,
  schema: ScalingGroup.transform(({ metadata: { uid }, spec: { nodeImage, groupId, role } }) => ({
    version: nodeImage,
    identity: digestOf([uid, groupId, role]),
  })),
};

type NodeVersionDeps = Pick<ObjectNews, "tell" | "every"> & Required<Pick<InformerDeps<never>, "kube" | "log">> & {
  /** Signals the renewal of the certificates of a NodeVersion's control planes. */
  renew?: (name: string) => Promise<void>;
  /** Receives a function that reads the status of all NodeVersions. */
  onVersions?: (read: () => VersionStatus[]) => void;
};

/**
 * Signals the rollout of each NodeVersion until `signal` aborts. While a certificate that kubeadm made expires soon,
 * also signals the run that renews the NodeVersion's certificates.
 */
export async function tellNodeVersions(
  { kube, log, renew, onVersions, ...news }: NodeVersionDeps,
  signal: AbortSignal,
): Promise<void> {
  const named = new Informer(versions, { kube, log, signal });
  const scaled = new Informer(groups, { kube, log, signal });
  await Promise.all([named.start(), scaled.start()]);
  onVersions?.(() => [...named.values()]);
  const seen = (): [string, string][] => {
    const all = [...scaled.values()];
    return named.keys().map((name) => {
      const own = all.filter(({ version }) => version === name).map(({ identity }) => identity).sort();
      return [name, `${named.get(name)?.identity} ${digestOf(own)}`];
    });
  };
  const due = (): [string, string][] => {
    const now = Date.now();
    return named.keys().flatMap((name): [string, string][] => {
      const version = named.get(name);
      if (version?.renewal === undefined) return [];
      const isDue = dueOf(version.certificates.filter(isOfKubeadm), now) !== undefined;
      return isDue ? [[name, `${version.identity} ${version.renewal}`]] : [];
    });
  };
  const every = { retellAfter: renewAgainMs, ...news.every };
  await Promise.all([
    tellObjects({ ...news, what: "node version", seen, log }, signal),
    ...(renew ? [tellObjects({ every, tell: renew, what: "renewal of certificates", seen: due, log }, signal)] : []),
  ]);
}

/** Signals the run of a NodeVersion to read its objects again; starts a run if none is open. */
export async function rollOutNodeVersion(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.signalWithStart("rollOutNodeVersion", {
    workflowId: nodeVersionIdOf(object),
    taskQueue,
    args: [object],
    signal: "nodeVersionChanged",
    signalArgs: [],
    staticSummary: `Roll out node version ${name}`,
    staticDetails: `Updates all nodes of the scaling groups of NodeVersion \`${name}\` to its image and components.`,
    ...shownOf(cluster),
  });
}

/** Signals the renewal of a NodeVersion's certificates to read its objects again; starts a run if none is open. */
export async function renewCertificates(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.signalWithStart("renewCertificates", {
    workflowId: certificatesIdOf(object),
    taskQueue,
    args: [object],
    signal: "nodeVersionChanged",
    signalArgs: [],
    staticSummary: `Renew certificates of node version ${name}`,
    staticDetails:
      `Renews the certificates of the control planes of NodeVersion \`${name}\` with kubeadm, one at a time.`,
    ...shownOf(cluster),
  });
}

function digestOf(facts: unknown): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("base64").slice(0, 16);
}

if (import.meta.main) await runProcess(runController);
