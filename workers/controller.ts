/** The controller process: tells Temporal about changes, and decides nothing. */
import process from "node:process";
import { connectKube, loadKubeConfig } from "../activities/kube/client.ts";
import { healthPlace, readConfig } from "./config.ts";
import type { Config } from "./config.ts";
import { installDefaultProfiles } from "./default_profiles.ts";
import { serveHealth } from "./health.ts";
import { leadWhileHolding } from "./leader.ts";
import { createLogger } from "./logger.ts";
import { PoolNotifier } from "./pool_notifier.ts";
import { startRollout } from "./start_rollout.ts";
import { LazyClient } from "./temporal_client.ts";
import { watchPools } from "./watch_pools.ts";

/** Runs until `signal` aborts or leadership is lost. */
export async function runController(config: Config, signal: AbortSignal): Promise<void> {
  const log = createLogger(config.OSTLER_LOG_LEVEL);
  const kubeConfig = loadKubeConfig(config.KUBECONFIG);
  const kube = connectKube(kubeConfig);
  const client = new LazyClient({ address: config.TEMPORAL_ADDRESS, namespace: config.TEMPORAL_NAMESPACE });
  let ready = false;
  const health = serveHealth({ ...healthPlace(config), isReady: () => ready });
  try {
    await leadWhileHolding(kubeConfig, { config, log, signal }, async (leading) => {
      await installDefaultProfiles(kube, config.OSTLER_NAMESPACE);
      const watch = watchPools(kubeConfig, { profileNamespace: config.OSTLER_NAMESPACE, log, signal: leading });
      const notifier = new PoolNotifier(watch, {
        notify: async (news) => await startRollout(await client.get(), config, news),
        log,
      });
      await watch.start();
      ready = true;
      log.info("Controller is watching");
      await notifier.run(leading);
    });
  } finally {
    health?.close();
    await client.close();
  }
}

if (import.meta.main) {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  await runController(readConfig(process.env), stop.signal);
  process.exit(0);
}
