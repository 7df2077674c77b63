/**
 * The webhook process: validates MachineDeployments, profiles and configs when they are written, and holds new machines
 * if no MutatingAdmissionPolicy does.
 */
import type { Server } from "node:https";
import { setTimeout } from "node:timers/promises";
import type { Logger } from "@temporalio/common";
import type { Kube } from "../activities/kube/client.ts";
import { type ObjectName, profiles, readObject, rollouts } from "../activities/kube/resources.ts";
import { attempting, ifFound } from "../activities/kube/status.ts";
import { closeTemplateEngines } from "../profiles/mod.ts";
import type { Admission } from "./admission/admission_review.ts";
import { admitConfig } from "./admission/admit_config.ts";
import { admitMachine } from "./admission/admit_machine.ts";
import { admitMachineDeployment } from "./admission/admit_machine_deployment.ts";
import { admitProfile } from "./admission/admit_profile.ts";
import { certificateSourceOf } from "./admission/certificate/certificate_source.ts";
import { firstShown, keepServing } from "./admission/certificate/keep_serving.ts";
import { endpointsOf } from "./admission/webhook_endpoint.ts";
import { createWebhookServer } from "./admission/webhook_server.ts";
import { clusterOf, openClusters } from "./clusters.ts";
import type { Config } from "./config.ts";
import { serveHealth, type Serving } from "./health.ts";
import { createLogger } from "./logger.ts";
import { measuredAdmissions } from "./metrics/admission_measures.ts";
import { openMetrics } from "./metrics/open_metrics.ts";
import { requestsTold } from "./metrics/process_measures.ts";
import { serveMetrics } from "./metrics/serve_metrics.ts";
import { runProcess } from "./run_process.ts";

/** Milliseconds. */
const webhookTimes = {
  /**
   * Pauses between checks of certificate and registration: `soon` after a change, a conflict or a failure, otherwise
   * `usual`.
   */
  rest: { soon: 5_000, usual: 60_000 },
  /** The longest time for a change of the certificate to reach all webhooks and API servers. */
  overlap: 600_000,
  /** How long requests still arrive after the start of a shutdown. */
  lameDuck: 5_000,
};

/** Serves until `signal` aborts. */
export async function runWebhook(
  config: Config,
  signal: AbortSignal,
  { serve = serveHealth, times = webhookTimes }: Partial<Serving & { times: typeof webhookTimes }> = {},
): Promise<void> {
  const log = createLogger(config.logLevel);
  const metrics = await openMetrics("webhook", config);
  const scraped = metrics && serveMetrics({ address: config.metricsAddress, metrics, log });
  const kube = clusterOf(openClusters(config, { log, requests: requestsTold(metrics) }), config);
  const endpoints = endpointsOf(config);
  const source = certificateSourceOf({ kube, endpoints, folder: config.certDir, overlapMs: times.overlap });
  const admissions = measuredAdmissions(metrics, admissionsOf(kube, config, log));
  let server: Server | undefined;
  const isReady = (): boolean => server?.listening === true && !signal.aborted;
  const health = serve({ ...config.healthProbeAddress, isReady });
  try {
    const certificate = await firstShown(source, { log, signal }, times.rest.soon);
    if (!certificate) return;
    server = createWebhookServer({ admissions, certificate, log });
    await listen(server, config.webhookAddress);
    log.info("Webhook is listening", { address: server.address() });
    await keepServing({ server, source, restMs: times.rest }, certificate, { log, signal });
    await setTimeout(times.lameDuck);
  } finally {
    server?.close();
    health?.close();
    scraped?.close();
    await closeTemplateEngines();
  }
}

/** Returns the admissions by path; the paths are those of Operating System Manager, plus one for machines. */
export function admissionsOf(
  kube: Kube,
  { namespace, trustedUsers }: Config,
  log: Pick<Logger, "warn">,
): Record<string, Admission> {
  const specOf = async (ref: ObjectName): Promise<unknown> => {
    const found = await attempting(`read profile "${ref.name}"`, () => ifFound(readObject(kube, profiles, ref)));
    return found?.spec;
  };
  const convergedHashOf = async (ref: ObjectName): Promise<string | undefined> => {
    const found = await attempting(`read Rollout "${ref.name}"`, () => ifFound(readObject(kube, rollouts, ref)));
    return found?.status?.["convergedTemplateHash"] as string | undefined;
  };
  return {
    "/mutate-v1alpha1-machinedeployment": admitMachineDeployment({ profileNamespace: namespace, specOf }),
    "/operatingsystemprofile": admitProfile({ specOf, trustedUsers }),
    "/operatingsystemconfig": admitConfig(trustedUsers),
    "/mutate-v1alpha1-machine": admitMachine({ convergedHashOf, log }),
  };
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
}

if (import.meta.main) await runProcess(runWebhook);
