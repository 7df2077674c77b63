/** Gives a node an order through a hand: a pod on that node, which is deleted once it has reported its result. */
import type { Cluster } from "../cluster.ts";
import type { V1Pod } from "@kubernetes/client-node";
import { ApplicationFailure } from "@temporalio/common";
import { moot } from "../failures.ts";
import { poll } from "../kube/polling.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { deletePod } from "../node/drain.ts";
import { type HandReading, type HandState, stateIn } from "./hand_state.ts";
import { handGraceSeconds, type HandPod, handsNamespace, podOf } from "./hand_pod.ts";
import { newsOfHand } from "./hands_watch.ts";
import { sweepHands } from "./swept_hands.ts";

/** The cluster of the nodes, and the image of hands. */
export interface HandDeps {
  kube: Cluster;
  /** Image of the pods, which must match `handsImagePattern`; with "" every order is refused. */
  image: string;
}

/** One order to one node: an instruction that a pod executes there, such as an OS operation or an upgrade step. */
export interface HandOrder<Outcome> extends HandPod, HandReading<Outcome> {
  /** Kind of the order in messages, such as "OS operation". */
  kind: string;
  verb: string;
  /** Whether a new pod may execute the order if the previous pod was lost after it had begun. */
  isRepeatable: boolean;
  /** Returns the outcome if no result was reported. */
  unknown: (message: string) => Outcome;
}

/** Maximum pods for one order, if earlier ones were lost. */
const podsAtMost = 4;
/** Milliseconds between a lost pod and the next one. */
const againMs = 30_000;
/** Milliseconds between reads after the deadline while the API server does not answer. */
const blindMs = 5_000;
/**
 * `from`: milliseconds without a response of the API server that count as an outage. `grace`: milliseconds until
 * kubelets report again after an outage.
 */
const outage = { from: 90_000, grace: 30_000 };

/**
 * Gives the order, and waits for its result until its deadline. A repeated call continues with the existing pod. An
 * outage of the API server extends the deadline. Throws Moot if the node was deleted.
 */
export async function byHand<Outcome>(deps: HandDeps, order: HandOrder<Outcome>): Promise<Outcome> {
  const hand = new Hand(deps, order);
  using news = newsOfHand(deps.kube, hand.name);
  return await poll<Outcome>({
    until: Number.MAX_SAFE_INTEGER, // at the order's deadline, `look` returns an unknown result
    news,
    every: 3_000,
    gap: 500,
    lookBy: () => hand.lookBy,
    look: () => hand.look(Date.now()),
    expired: (missing) => new Error(missing),
  });
}

type Look<Outcome> = { answer: Outcome } | { missing: string };

/** Executes one order on one node; each call of `look` reads the state and takes the next step. */
export class Hand<Outcome> {
  readonly #deps: HandDeps;
  #order: HandOrder<Outcome>;
  /** Name of the order's pod. */
  readonly name: string;
  #made = 0;
  #isThere = false;
  /** Whether a read has found that a pod of the order had started. */
  #hasBegun = false;
  /** Epoch ms before which no pod is created in place of a lost one. */
  #againAt = 0;
  /** Epoch ms of the first failed read; undefined after a successful one. */
  #blindSince: number | undefined;
  #last = "no pod was created";

  constructor(deps: HandDeps, order: HandOrder<Outcome>) {
    this.#deps = deps;
    this.#order = order;
    this.name = order.name;
  }

  /** Latest time of the next read, in epoch ms. */
  get lookBy(): number {
    if (this.#blindSince !== undefined) return Math.max(this.#order.until, Date.now() + blindMs);
    return this.#againAt > Date.now() ? Math.min(this.#order.until, this.#againAt) : this.#order.until;
  }

  /** Ensures that a pod runs the order; returns its result, or what is still missing. */
  async look(now: number): Promise<Look<Outcome>> {
    const { node, kind, verb } = this.#order;
    try {
      return await attempting(`run ${kind} "${verb}" on node "${node}"`, () => this.#look(now));
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || error.type !== "ApiUnavailable") throw error;
      this.#blindSince ??= now;
      return { missing: error.message };
    }
  }

  async #look(now: number): Promise<Look<Outcome>> {
    const pod = await this.#read();
    this.#giveBack(now);
    const { until } = this.#order;
    const state = pod && stateIn(pod, this.#order);
    if (state?.kind === "Told") return await this.#end(pod, { answer: state.outcome });
    if (!state || state.kind === "Lost") return await this.#lost(pod, state, now);
    this.#hasBegun ||= state.hasBegun;
    [this.#last, this.#isThere] = [state.message, true];
    return now < until ? { missing: state.message } : await this.#end(pod, this.#unknown(state.message));
  }

  /** Extends the deadline after an outage of the API server, because the time of the outage does not count. */
  #giveBack(now: number): void {
    const blind = now - (this.#blindSince ?? now);
    this.#blindSince = undefined;
    if (blind >= outage.from) this.#order = { ...this.#order, until: this.#order.until + blind + outage.grace };
  }

  async #read(): Promise<V1Pod | undefined> {
    const { core } = this.#deps.kube;
    return await ifFound(core.readNamespacedPod({ namespace: handsNamespace, name: this.name }));
  }

  /** Handles a missing pod, or one that will never report a result. */
  async #lost(pod: V1Pod | undefined, state: HandState<Outcome> | undefined, now: number): Promise<Look<Outcome>> {
    const { isRepeatable, until } = this.#order;
    if (state) [this.#last, this.#hasBegun] = [state.message, this.#hasBegun || state.hasBegun];
    else if (this.#isThere) this.#last = `pod "${this.name}" was deleted`;
    this.#isThere = false;
    const isUnsure = this.#hasBegun && !isRepeatable;
    if (isUnsure || now >= until || this.#made >= podsAtMost) return await this.#end(pod, this.#unknown(this.#last));
    if (pod) {
      this.#againAt = now + againMs;
      this.#made = Math.max(1, this.#made);
      return await this.#end(pod, { missing: `waiting to create another pod for this step: ${this.#last}` });
    }
    if (now < this.#againAt) return { missing: `waiting to create another pod for this step: ${this.#last}` };
    return await this.#make(now);
  }

  async #make(now: number): Promise<Look<Outcome>> {
    const { kube, image } = this.#deps;
    const { node: name, uid, kind } = this.#order;
    await sweepHands(kube, now);
    const node = await ifFound(kube.core.readNode({ name }));
    if (!node || node.metadata?.uid !== uid) {
      const state = node ? `its uid is "${node.metadata?.uid}", not "${uid}"` : "the Node was deleted";
      throw moot("MachineGone", `Failed to run an ${kind} on node "${name}": ${state}`);
    }
    const [namespace, body] = [handsNamespace, podOf(this.#order, image, now)];
    try {
      await kube.core.createNamespacedPod({ namespace, body });
    } catch (error) {
      if (statusOf(error) !== 409) throw error; // another attempt of the activity created the pod first
    }
    [this.#made, this.#isThere] = [this.#made + 1, true];
    this.#againAt = now + againMs;
    return { missing: `pod "${this.name}" was created` };
  }

  async #end(pod: V1Pod | undefined, look: Look<Outcome>): Promise<Look<Outcome>> {
    if (pod) await deletePod(this.#deps.kube, pod, handGraceSeconds);
    return look;
  }

  #unknown(why: string): { answer: Outcome } {
    return { answer: this.#order.unknown(`Node "${this.#order.node}" did not report a result: ${why}`) };
  }
}
