/** Leadership through a Lease: one controller notifies, the others stand by. */
import { CoordinationV1Api, V1MicroTime } from "@kubernetes/client-node";
import type { KubeConfig, V1Lease } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import { ifFound, statusOf } from "../activities/kube/status.ts";
import type { Config } from "./config.ts";

/** Seconds without renewal after which a lease is free; renewed five times as often. */
const leaseSeconds = 15;
const renewMs = 3_000;

export interface LeaderDeps {
  config: Config;
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  /** Told each time that another one was seen to hold the lease. */
  onStandby?: () => void;
}

/**
 * Waits for the lease, runs `work`, and aborts its signal when the lease is lost or `signal` aborts.
 * Where leader-elect is off, works at once.
 */
export async function leadWhileHolding(
  kubeConfig: KubeConfig,
  { config, log, signal, onStandby = () => {} }: LeaderDeps,
  work: (leading: AbortSignal) => Promise<void>,
): Promise<void> {
  if (!config.leaderElect) return await work(signal);
  const lease = new LeaseHolder(kubeConfig, config, onStandby);
  while (!signal.aborted && !await lease.tryHold(log)) await rest(signal);
  if (signal.aborted) return;
  log.info("Leading", { identity: lease.identity });
  const lost = new AbortController();
  const leading = AbortSignal.any([signal, lost.signal]);
  const renewing = keepRenewing(lease, { log, signal: leading, lost });
  await work(leading);
  await renewing;
  if (lost.signal.aborted) throw new Error("Cannot go on as leader: the lease was not renewed in time");
}

async function keepRenewing(
  lease: LeaseHolder,
  { log, signal, lost }: { log: LeaderDeps["log"]; signal: AbortSignal; lost: AbortController },
): Promise<void> {
  let renewed = Date.now();
  while (!signal.aborted) {
    await rest(signal);
    if (await lease.tryHold(log)) renewed = Date.now();
    else if (Date.now() - renewed > leaseSeconds * 1000 * 2 / 3) lost.abort();
  }
}

async function rest(signal: AbortSignal): Promise<void> {
  await setTimeout(renewMs, undefined, { signal }).catch(() => undefined); // aborting ends the rest early
}

class LeaseHolder {
  readonly identity = `${hostname()}-${randomUUID().slice(0, 8)}`;
  readonly #api: CoordinationV1Api;
  readonly #name: { name: string; namespace: string };
  /** When this process last saw the other holder renew, by its own clock. */
  #seen = { renewTime: "", at: Date.now() };

  constructor(kubeConfig: KubeConfig, config: Config, private readonly onStandby: () => void) {
    this.#api = kubeConfig.makeApiClient(CoordinationV1Api);
    this.#name = { name: "ostler-controller", namespace: config.systemNamespace };
  }

  /** Takes or renews the lease; false when somebody else holds it or the API did not answer. */
  async tryHold(log: LeaderDeps["log"]): Promise<boolean> {
    try {
      const lease = await ifFound(this.#api.readNamespacedLease(this.#name));
      if (lease && !this.#isFree(lease)) {
        this.onStandby();
        return false;
      }
      await this.#write(lease);
      return true;
    } catch (error) {
      if (statusOf(error) !== 409) log.warn("Cannot hold the lease: it is tried again", { error });
      return false;
    }
  }

  #isFree({ spec }: V1Lease): boolean {
    if (!spec?.holderIdentity || spec.holderIdentity === this.identity) return true;
    const renewTime = String(spec.renewTime);
    if (renewTime !== this.#seen.renewTime) this.#seen = { renewTime, at: Date.now() };
    return Date.now() - this.#seen.at > leaseSeconds * 1000;
  }

  async #write(lease: V1Lease | undefined): Promise<void> {
    const { name, namespace } = this.#name;
    const spec = { holderIdentity: this.identity, leaseDurationSeconds: leaseSeconds, renewTime: new V1MicroTime() };
    const body = { metadata: { ...lease?.metadata, name, namespace }, spec };
    if (lease) await this.#api.replaceNamespacedLease({ name, namespace, body });
    else await this.#api.createNamespacedLease({ namespace, body });
  }
}
