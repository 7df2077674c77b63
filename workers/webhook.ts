/** The webhook process: judges MachineDeployments, profiles and configs when they are written. Nothing else needs it. */
import type { Server } from "node:https";
import { setTimeout } from "node:timers/promises";
import { connectKube, type Kube, loadKubeConfig } from "../activities/kube/client.ts";
import { type ObjectName, profiles, readObject } from "../activities/kube/resources.ts";
import { attempting, ifFound } from "../activities/kube/status.ts";
import { closeTemplateEngines } from "../profiles/mod.ts";
import type { Admission } from "./admission/admission_review.ts";
import { admitConfig } from "./admission/admit_config.ts";
import { admitMachineDeployment } from "./admission/admit_machine_deployment.ts";
import { admitProfile } from "./admission/admit_profile.ts";
import { followCertificate, readCertificate } from "./admission/serving_certificate.ts";
import { createWebhookServer } from "./admission/webhook_server.ts";
import type { Config } from "./config.ts";
import { serveHealth } from "./health.ts";
import { createLogger } from "./logger.ts";
import { measuredAdmissions } from "./metrics/admission_measures.ts";
import { openMetrics } from "./metrics/open_metrics.ts";
import { requestsTold } from "./metrics/process_measures.ts";
import { serveMetrics } from "./metrics/serve_metrics.ts";
import { runProcess } from "./run_process.ts";

/** How often the certificate's files are looked at; whoever renews it does so days ahead. */
const lookEveryMs = 10_000;
/** How long requests still come after a process was told to stop. */
const lameDuckMs = 5_000;

/** Serves until `signal` aborts. */
export async function runWebhook(config: Config, signal: AbortSignal): Promise<void> {
  const log = createLogger(config.logLevel);
  const certificate = await readCertificate(config.certDir);
  const metrics = await openMetrics("webhook", config);
  const scraped = metrics && serveMetrics({ address: config.metricsAddress, metrics, log });
  const kube = connectKube(loadKubeConfig(config.kubeconfig, undefined, requestsTold(metrics)));
  const admissions = measuredAdmissions(metrics, admissionsOf(kube, config));
  const server = createWebhookServer({ admissions, certificate, log });
  const health = serveHealth({ ...config.healthProbeAddress, isReady: () => server.listening && !signal.aborted });
  try {
    await listen(server, config.webhookAddress);
    log.info("Webhook is listening", { address: server.address() });
    await followCertificate({ server, certificate, folder: config.certDir, lookEveryMs }, { log, signal });
    await setTimeout(lameDuckMs);
  } finally {
    server.close();
    health?.close();
    scraped?.close();
    await closeTemplateEngines();
  }
}

/** What is judged where; the paths are Operating System Manager's. */
export function admissionsOf(kube: Kube, { namespace, trustedUsers }: Config): Record<string, Admission> {
  const specOf = async (ref: ObjectName): Promise<unknown> => {
    const found = await attempting(`read profile "${ref.name}"`, () => ifFound(readObject(kube, profiles, ref)));
    return found?.spec;
  };
  return {
    "/mutate-v1alpha1-machinedeployment": admitMachineDeployment({ profileNamespace: namespace, specOf }),
    "/operatingsystemprofile": admitProfile({ specOf, trustedUsers }),
    "/operatingsystemconfig": admitConfig(trustedUsers),
  };
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
}

if (import.meta.main) await runProcess(runWebhook);
