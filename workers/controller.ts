/** The controller process: tells Temporal about changes, and decides nothing. */
import process from "node:process";
import { connectKube, loadKubeConfig } from "../activities/kube/client.ts";
import { HttpsWatch } from "../activities/kube/https_watch.ts";
import { type Config, rateOf } from "./config.ts";
import { keepCredentialSchedule } from "./credential_schedule.ts";
import { installDefaultProfiles } from "./default_profiles.ts";
import { serveHealth } from "./health.ts";
import { leadWhileHolding } from "./leader.ts";
import { createLogger } from "./logger.ts";
import { PoolNotifier } from "./pool_notifier.ts";
import { settingsOfProcess } from "./settings_of_process.ts";
import { startRollout } from "./start_rollout.ts";
import { LazyClient } from "./temporal_client.ts";
import { watchPools } from "./watch_pools.ts";

/** Runs until `signal` aborts or leadership is lost. */
export async function runController(config: Config, signal: AbortSignal): Promise<void> {
  const log = createLogger(config.logLevel);
  const kubeConfig = loadKubeConfig(config.kubeconfig, rateOf(config));
  const kube = { ...connectKube(kubeConfig), watch: new HttpsWatch(kubeConfig) };
  const client = new LazyClient({ address: config.temporalAddress, namespace: config.temporalNamespace });
  // Who stands by is ready too: else no update of the Deployment, and no drain of the leader's node, would ever end.
  let ready = false;
  const onStandby = (): void => void (ready = true);
  const health = serveHealth({ ...config.healthProbeAddress, isReady: () => ready });
  try {
    await leadWhileHolding(kubeConfig, { config, log, signal, onStandby }, async (leading) => {
      ready = false;
      if (!config.disableDefaultOsps) await installDefaultProfiles(kube, config.namespace, log);
      const watch = watchPools({ kube, profileNamespace: config.namespace, log, signal: leading });
      const notifier = new PoolNotifier(watch, {
        notify: async (news) => await startRollout(await client.get(), config, news),
        log,
      });
      await watch.start();
      ready = true;
      log.info("Controller is watching");
      const schedule = keepCredentialSchedule(config, { connect: () => client.get(), log, signal: leading });
      await Promise.all([notifier.run(leading), schedule]);
    });
  } finally {
    health?.close();
    await client.close();
  }
}

if (import.meta.main) {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  await runController(settingsOfProcess(), stop.signal);
  process.exit(0);
}
