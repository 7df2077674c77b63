/** The controller process: tells Temporal about changes, and decides nothing. */
import type { KubeConfig } from "@kubernetes/client-node";
import type { Client } from "@temporalio/client";
import { connectKube, loadKubeConfig } from "../activities/kube/client.ts";
import { HttpsWatch } from "../activities/kube/https_watch.ts";
import { Claim } from "./claim.ts";
import { type ClusterIdentity, readClusterIdentity } from "./cluster_identity.ts";
import { type Config, rateOf } from "./config.ts";
import { keepCredentialSchedule } from "./credential_schedule.ts";
import { keepVersionCurrent } from "./current_version.ts";
import { installDefaultProfiles } from "./default_profiles.ts";
import { followAccess } from "./follow_access.ts";
import { serveHealth } from "./health.ts";
import { leadWhileHolding } from "./leader.ts";
import { createLogger } from "./logger.ts";
import { PoolNotifier } from "./pool_notifier.ts";
import { runProcess } from "./run_process.ts";
import { serveWhileOurs } from "./serve_while_ours.ts";
import { startRollout } from "./start_rollout.ts";
import { accessOfProcess, LazyClient } from "./temporal_client.ts";
import { askTemporal } from "./temporal_trouble.ts";
import { watchPools } from "./watch_pools.ts";

/** Runs until `signal` aborts or leadership is lost. */
export async function runController(config: Config, signal: AbortSignal): Promise<void> {
  const log = createLogger(config.logLevel);
  const kubeConfig = loadKubeConfig(config.kubeconfig, rateOf(config));
  const client = new LazyClient(config.temporal, accessOfProcess);
  // Who stands by is ready too: else no update of the Deployment, and no drain of the leader's node, would ever end.
  let ready = false;
  const onStandby = (): void => void (ready = true);
  const health = serveHealth({ ...config.healthProbeAddress, isReady: () => ready });
  let self: ClusterIdentity = { name: config.cluster, uid: "" };
  const place = new Claim(config);
  const claim = async (): Promise<void> => {
    self = await readClusterIdentity(kubeConfig, config, log);
    await askTemporal(config.temporal, async () => await place.hold(await client.get(), self));
  };
  const ended = new AbortController();
  const following = AbortSignal.any([signal, ended.signal]);
  void followAccess(client, { server: config.temporal, workers: () => [], log, signal: following });
  try {
    await leadWhileHolding(kubeConfig, { config, log, signal, onStandby }, async (leading) => {
      ready = false;
      await serveWhileOurs({ claim, log, signal: leading }, async (serving) => {
        const onReady = (): void => void (ready = true);
        await tell({ config, kubeConfig, client, self, log, onReady }, serving);
        ready = false;
      });
    });
  } finally {
    ended.abort();
    health?.close();
    await client.close();
  }
}

interface Telling {
  config: Config;
  kubeConfig: KubeConfig;
  client: LazyClient;
  self: ClusterIdentity;
  log: ReturnType<typeof createLogger>;
  onReady: () => void;
}

async function tell({ config, kubeConfig, client, self, log, onReady }: Telling, signal: AbortSignal): Promise<void> {
  const kube = { ...connectKube(kubeConfig), watch: new HttpsWatch(kubeConfig) };
  if (!config.disableDefaultOsps) await installDefaultProfiles(kube, config.namespace, log);
  const watch = watchPools({ kube, profileNamespace: config.namespace, log, signal });
  const notifier = new PoolNotifier(watch, {
    notify: async (news) => await startRollout(await client.get(), config, news),
    log,
  });
  await watch.start();
  onReady();
  log.info("Controller is watching");
  const connect = (): Promise<Client> => client.get();
  const schedule = keepCredentialSchedule(config, { connect, self, log, signal });
  const version = keepVersionCurrent(config, { connect, log, signal });
  await Promise.all([notifier.run(signal), schedule, version]);
}

if (import.meta.main) await runProcess(runController);
