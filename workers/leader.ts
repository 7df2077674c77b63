/** Leader election through a Lease: one controller signals changes, the others are on standby. */
import type { KubeConfig, V1Lease } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import { CoordinationV1Api, V1MicroTime } from "../activities/kube/client_node.ts";
import { ifFound, statusOf } from "../activities/kube/status.ts";
import type { Config } from "./config.ts";

/** Seconds without renewal after which a Lease is free. */
const leaseSeconds = 15;

/** Milliseconds; `deadline` and `leave` together are shorter than a Lease, so that two controllers never lead. */
const leaderTimes = {
  /**
   * Time between renewals: a leader survives one failed renewal. A shorter time would multiply the requests of an idle
   * controller, most of which are renewals.
   */
  renew: 4_000,
  /** Without renewal for this long, a leader stops leading. */
  deadline: 10_000,
  /** Time for work in progress to end after the Lease was lost. */
  leave: 3_000,
};

/** The holder of the Lease: this process, another one, or unknown because the API server gave no useful answer. */
type Holder = "This" | "Another" | "Unknown";

/** Another controller may lead now: the process exits, and restarts on standby. */
export class LeaseLost extends Error {
  override name = "LeaseLost";
}

interface LeaderDeps {
  config: Config;
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  /** Called each time that another holder of the Lease is seen. */
  onStandby?: () => void;
  times?: typeof leaderTimes;
}

/**
 * Waits for the Lease, runs `work`, and aborts its signal when the Lease is lost or `signal` aborts; throws LeaseLost
 * if the Lease was lost. Without leader-elect, runs `work` at once.
 */
export async function leadWhileHolding(
  kubeConfig: KubeConfig,
  deps: LeaderDeps,
  work: (leading: AbortSignal) => Promise<void>,
): Promise<void> {
  const { config, log, signal, onStandby = () => {}, times = leaderTimes } = deps;
  if (!config.leaderElect) return await work(signal);
  const lease = new LeaseHolder(kubeConfig, config, onStandby);
  let asked = performance.now();
  while (!signal.aborted && await lease.tryHold(log) !== "This") {
    await rest(times.renew, signal);
    asked = performance.now();
  }
  if (signal.aborted) return;
  log.info("Acquired the Lease: this controller is the leader", { identity: lease.identity });
  const lost = new AbortController();
  const leading = AbortSignal.any([signal, lost.signal]);
  const renewing = keepRenewing(lease, { log, signal: leading, lost, times, asked });
  const ended = new AbortController();
  try {
    await Promise.race([work(leading), tooLate(lost.signal, times.leave, ended.signal)]);
    await renewing;
  } catch (error) {
    // After the loss of the Lease, failures of the interrupted work are expected.
    if (!lost.signal.aborted) throw error;
  } finally {
    ended.abort();
  }
  if (!lost.signal.aborted) return;
  throw new LeaseLost(`Lost leadership: ${lost.signal.reason}`);
}

async function keepRenewing(
  lease: LeaseHolder,
  { log, signal, lost, times, asked }: Required<Pick<LeaderDeps, "log" | "signal" | "times">> & {
    lost: AbortController;
    /** When this process requested the Lease (ms by `performance.now`, because a wall clock may be set back). */
    asked: number;
  },
): Promise<void> {
  let renewed = asked;
  const left = (): number => Math.max(0, renewed + times.deadline - performance.now());
  while (!signal.aborted) {
    await rest(Math.min(times.renew, left()), signal);
    // The time starts before the request, because other controllers count from the write of the Lease.
    const now = performance.now();
    // The wait for an answer ends at the deadline, because an API server that hangs may answer only after the Lease
    // ended.
    const holder = await Promise.race([lease.tryHold(log), rest(left(), signal).then(() => "Unknown" as const)]);
    if (holder === "This") renewed = now;
    else if (signal.aborted) return;
    else if (holder === "Another") lost.abort(`another controller holds Lease "${lease.name}"`);
    else if (left() === 0) lost.abort(`failed to renew Lease "${lease.name}" for ${times.deadline / 1000} seconds`);
  }
}

// Resolves `afterMs` after the Lease was lost, because interrupted work may hang and must not keep the process running.
function tooLate(lost: AbortSignal, afterMs: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => lost.addEventListener("abort", () => void rest(afterMs, ended).then(resolve)));
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined); // aborting ends the pause early
}

class LeaseHolder {
  readonly identity = `${hostname()}-${randomUUID().slice(0, 8)}`;
  readonly #api: CoordinationV1Api;
  readonly #name: { name: string; namespace: string };
  /** The Lease as this process wrote it last: until another process writes it, no read is needed. */
  #held: V1Lease | undefined;
  /**
   * The last renewal by another holder, and when this process first saw it (ms by `performance.now`): the clocks of two
   * machines may differ.
   */
  #seen = { renewTime: "", at: performance.now() };

  constructor(kubeConfig: KubeConfig, config: Config, private readonly onStandby: () => void) {
    this.#api = kubeConfig.makeApiClient(CoordinationV1Api);
    this.#name = { name: "ostler-controller", namespace: config.systemNamespace };
  }

  get name(): string {
    return `${this.#name.namespace}/${this.#name.name}`;
  }

  /** Acquires or renews the Lease, and returns who holds it now. */
  async tryHold(log: LeaderDeps["log"]): Promise<Holder> {
    try {
      if (this.#held && await this.#renew(this.#held)) return "This";
      const lease = await ifFound(this.#api.readNamespacedLease(this.#name));
      if (lease && !this.#isFree(lease)) {
        this.onStandby();
        return "Another";
      }
      await this.#write(lease);
      return "This";
    } catch (error) {
      if (statusOf(error) !== 409) log.warn("Failed to acquire or renew the lease; retrying", { error });
      return "Unknown";
    }
  }

  #isFree({ spec }: V1Lease): boolean {
    if (!spec?.holderIdentity || spec.holderIdentity === this.identity) return true;
    const renewTime = String(spec.renewTime);
    if (renewTime !== this.#seen.renewTime) this.#seen = { renewTime, at: performance.now() };
    return performance.now() - this.#seen.at > leaseSeconds * 1000;
  }

  /** Returns false if another process wrote the Lease, or it was deleted. */
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

  // The API server refuses the write unless the Lease still has this resource version.
  async #write(lease: V1Lease | undefined): Promise<void> {
    const { name, namespace } = this.#name;
    const spec = { holderIdentity: this.identity, leaseDurationSeconds: leaseSeconds, renewTime: new V1MicroTime() };
    const body = { metadata: { ...lease?.metadata, name, namespace }, spec };
    this.#held = lease
      ? await this.#api.replaceNamespacedLease({ name, namespace, body })
      : await this.#api.createNamespacedLease({ namespace, body });
  }
}
