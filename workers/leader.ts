/** Leadership through a Lease: one controller notifies, the others stand by. */
import type { KubeConfig, V1Lease } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import { CoordinationV1Api, V1MicroTime } from "../activities/kube/client_node.ts";
import { ifFound, statusOf } from "../activities/kube/status.ts";
import type { Config } from "./config.ts";

/** Seconds without renewal after which a lease is free. */
const leaseSeconds = 15;

/** Milliseconds; together with `leave` the deadline is shorter than a lease, so that two never lead. */
export const leaderTimes = {
  /** Between renewals, which are most of what is asked while nothing happens; one may fail. */
  renew: 4_000,
  /** Without renewal a leader leaves after this long. */
  deadline: 10_000,
  /** What it had begun has this long to end. */
  leave: 3_000,
};

/** Another may lead by now: the process ends, and begins again as one that stands by. */
export class LeaseLost extends Error {
  override name = "LeaseLost";
}

export interface LeaderDeps {
  config: Config;
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  /** Told each time that another one was seen to hold the lease. */
  onStandby?: () => void;
  times?: typeof leaderTimes;
}

/**
 * Waits for the lease, runs `work`, and aborts its signal when the lease is lost or `signal` aborts; throws LeaseLost
 * where it was lost. Where leader-elect is off, works at once.
 */
export async function leadWhileHolding(
  kubeConfig: KubeConfig,
  deps: LeaderDeps,
  work: (leading: AbortSignal) => Promise<void>,
): Promise<void> {
  const { config, log, signal, onStandby = () => {}, times = leaderTimes } = deps;
  if (!config.leaderElect) return await work(signal);
  const lease = new LeaseHolder(kubeConfig, config, onStandby);
  while (!signal.aborted && !await lease.tryHold(log)) await rest(times.renew, signal);
  if (signal.aborted) return;
  log.info("Leading", { identity: lease.identity });
  const lost = new AbortController();
  const leading = AbortSignal.any([signal, lost.signal]);
  const renewing = keepRenewing(lease, { log, signal: leading, lost, times });
  const ended = new AbortController();
  try {
    await Promise.race([work(leading), tooLate(lost.signal, times.leave, ended.signal)]);
    await renewing;
  } catch (error) {
    // What work fails with when it is ended in its midst is due to that.
    if (!lost.signal.aborted) throw error;
  } finally {
    ended.abort();
  }
  if (!lost.signal.aborted) return;
  const seconds = times.deadline / 1000;
  throw new LeaseLost(`Lost leadership: failed to renew Lease "${lease.name}" for ${seconds} seconds`);
}

async function keepRenewing(
  lease: LeaseHolder,
  { log, signal, lost, times }: Required<Pick<LeaderDeps, "log" | "signal" | "times">> & { lost: AbortController },
): Promise<void> {
  let renewed = Date.now();
  while (!signal.aborted) {
    await rest(times.renew, signal);
    // An API server that is frozen answers nothing for much longer than a lease lasts.
    const left = Math.max(0, renewed + times.deadline - Date.now());
    // Others count from the write, not from its answer.
    const asked = Date.now();
    const isHeld = await Promise.race([lease.tryHold(log), rest(left, signal).then(() => false)]);
    if (isHeld) renewed = asked;
    else if (!signal.aborted && Date.now() - renewed >= times.deadline) lost.abort();
  }
}

// Work may hang on what was cut off.
function tooLate(lost: AbortSignal, afterMs: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => lost.addEventListener("abort", () => void rest(afterMs, ended).then(resolve)));
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined); // aborting ends the rest early
}

class LeaseHolder {
  readonly identity = `${hostname()}-${randomUUID().slice(0, 8)}`;
  readonly #api: CoordinationV1Api;
  readonly #name: { name: string; namespace: string };
  /** The lease as this process wrote it last: as long as nobody else writes it, it need not be read. */
  #held: V1Lease | undefined;
  /** When this process last saw the other holder renew, by its own clock. */
  #seen = { renewTime: "", at: Date.now() };

  constructor(kubeConfig: KubeConfig, config: Config, private readonly onStandby: () => void) {
    this.#api = kubeConfig.makeApiClient(CoordinationV1Api);
    this.#name = { name: "ostler-controller", namespace: config.systemNamespace };
  }

  get name(): string {
    return `${this.#name.namespace}/${this.#name.name}`;
  }

  /** Takes or renews the lease; false when somebody else holds it or the API did not answer. */
  async tryHold(log: LeaderDeps["log"]): Promise<boolean> {
    try {
      if (this.#held && await this.#renew(this.#held)) return true;
      const lease = await ifFound(this.#api.readNamespacedLease(this.#name));
      if (lease && !this.#isFree(lease)) {
        this.onStandby();
        return false;
      }
      await this.#write(lease);
      return true;
    } catch (error) {
      if (statusOf(error) !== 409) log.warn("Failed to acquire or renew the lease; retrying", { error });
      return false;
    }
  }

  #isFree({ spec }: V1Lease): boolean {
    if (!spec?.holderIdentity || spec.holderIdentity === this.identity) return true;
    const renewTime = String(spec.renewTime);
    if (renewTime !== this.#seen.renewTime) this.#seen = { renewTime, at: Date.now() };
    return Date.now() - this.#seen.at > leaseSeconds * 1000;
  }

  /** False where another wrote it meanwhile, or it is gone. */
  async #renew(held: V1Lease): Promise<boolean> {
    this.#held = undefined;
    try {
      await this.#write(held);
      return true;
    } catch (error) {
      if ([404, 409].includes(statusOf(error) ?? 0)) return false;
      throw error;
    }
  }

  // The API server refuses it when the lease is not the one that is given here any more.
  async #write(lease: V1Lease | undefined): Promise<void> {
    const { name, namespace } = this.#name;
    const spec = { holderIdentity: this.identity, leaseDurationSeconds: leaseSeconds, renewTime: new V1MicroTime() };
    const body = { metadata: { ...lease?.metadata, name, namespace }, spec };
    this.#held = lease
      ? await this.#api.replaceNamespacedLease({ name, namespace, body })
      : await this.#api.createNamespacedLease({ namespace, body });
  }
}
