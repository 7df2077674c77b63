/** Gives a node's operating system an order by a hand: a pod of that node alone, which is gone when it has answered. */
import type { Cluster } from "../cluster.ts";
import type { V1Pod } from "@kubernetes/client-node";
import { ApplicationFailure } from "@temporalio/common";
import type { OsOrder, OsOutcome } from "../../workflows/contracts/mod.ts";
import { moot } from "../failures.ts";
import { poll } from "../kube/polling.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { deletePod } from "../node/drain.ts";
import { type HandState, stateOf } from "./hand_state.ts";
import { handGraceSeconds, handPodOf, handsNamespace } from "./hand_pod.ts";
import { handsImagePattern } from "./hands_image.ts";
import { newsOfHand } from "./hands_watch.ts";
import { handNameOf, judgedOrder } from "./order.ts";
import { sweepHands } from "./swept_hands.ts";

/** Where nodes are, and what runs on them; "" gives no orders. */
export interface HandDeps {
  kube: Cluster;
  /** As `handsImagePattern` has it. */
  image: string;
}

/** Pods for one order, where those before were lost. */
const podsAtMost = 4;
/** Between a pod that was lost and the next one. */
const againMs = 30_000;
/** Between looks once its time is over, and nobody could look (ms). */
const blindMs = 5_000;
/** An API server that was away so long was away; after that kubelets report again within the other time (ms). */
const outage = { from: 90_000, grace: 30_000 };

/**
 * Gives the order, and waits for what comes of it, until its time is over. Given again, it finds what it made before. An API
 * server that is away is waited for, and costs it no time. Moot for a node that is gone.
 */
export async function givenOrder({ kube, image }: HandDeps, asked: OsOrder): Promise<OsOutcome> {
  const order = judgedOrder(asked);
  if (!handsImagePattern.test(image)) {
    const message =
      `Failed to order an OS operation on node "${order.node}": set hands-image to an image with a digest`;
    return { outcome: "Refused", reason: "DriverMissing", message };
  }
  const hand = new Hand({ kube, image }, order);
  using news = newsOfHand(kube, hand.name);
  return await poll<OsOutcome>({
    until: Number.MAX_SAFE_INTEGER, // that nobody knows is an answer too
    news,
    every: 3_000,
    gap: 500,
    lookBy: () => hand.lookBy,
    look: () => hand.look(Date.now()),
    expired: (missing) => new Error(missing),
  });
}

type Look = { answer: OsOutcome } | { missing: string };

/** One order to one node, look by look. */
export class Hand {
  readonly #deps: HandDeps;
  #order: OsOrder;
  /** Of its pod. */
  readonly name: string;
  #made = 0;
  #isThere = false;
  /** Its pod was there, and had begun. */
  #hasBegun = false;
  /** Epoch ms before which no other pod is made. */
  #againAt = 0;
  /** Since when nobody could look (epoch ms). */
  #blindSince: number | undefined;
  #last = "no pod was created";

  constructor(deps: HandDeps, order: OsOrder) {
    this.#deps = deps;
    this.#order = order;
    this.name = handNameOf(order);
  }

  /** Epoch ms of the next look at the latest. */
  get lookBy(): number {
    if (this.#blindSince !== undefined) return Math.max(this.#order.until, Date.now() + blindMs);
    return this.#againAt > Date.now() ? Math.min(this.#order.until, this.#againAt) : this.#order.until;
  }

  /** Sees that a pod carries it out, and what it said. */
  async look(now: number): Promise<Look> {
    const { node, verb } = this.#order;
    try {
      return await attempting(`run OS operation "${verb}" on node "${node}"`, () => this.#look(now));
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || error.type !== "ApiUnavailable") throw error;
      this.#blindSince ??= now;
      return { missing: error.message };
    }
  }

  async #look(now: number): Promise<Look> {
    const pod = await this.#read();
    this.#giveBack(now);
    const { until } = this.#order;
    const state = pod && stateOf(pod);
    if (state?.kind === "Told") return await this.#end(pod, { answer: state.outcome });
    if (!state || state.kind === "Lost") return await this.#lost(pod, state, now);
    this.#hasBegun ||= state.hasBegun;
    [this.#last, this.#isThere] = [state.message, true];
    return now < until ? { missing: state.message } : await this.#end(pod, this.#unknown(state.message));
  }

  /** It is seen again: what nobody saw counts for nothing. */
  #giveBack(now: number): void {
    const blind = now - (this.#blindSince ?? now);
    this.#blindSince = undefined;
    if (blind >= outage.from) this.#order = { ...this.#order, until: this.#order.until + blind + outage.grace };
  }

  async #read(): Promise<V1Pod | undefined> {
    const { core } = this.#deps.kube;
    return await ifFound(core.readNamespacedPod({ namespace: handsNamespace, name: this.name }));
  }

  /** There is none, or one that says nothing any more. */
  async #lost(pod: V1Pod | undefined, state: HandState | undefined, now: number): Promise<Look> {
    const { verb, until } = this.#order;
    if (state) [this.#last, this.#hasBegun] = [state.message, this.#hasBegun || state.hasBegun];
    else if (this.#isThere) this.#last = `pod "${this.name}" was deleted`;
    this.#isThere = false;
    // What boots a node may have done so: a second one is for whoever has looked at the node's boot id.
    const isUnsure = this.#hasBegun && (verb === "Apply" || verb === "GoBack");
    if (isUnsure || now >= until || this.#made >= podsAtMost) return await this.#end(pod, this.#unknown(this.#last));
    if (pod) {
      this.#againAt = now + againMs;
      this.#made = Math.max(1, this.#made);
      return await this.#end(pod, { missing: `another pod: ${this.#last}` });
    }
    if (now < this.#againAt) return { missing: `another pod: ${this.#last}` };
    return await this.#make(now);
  }

  async #make(now: number): Promise<Look> {
    const { kube, image } = this.#deps;
    const { node: name, uid } = this.#order;
    await sweepHands(kube, now);
    const node = await ifFound(kube.core.readNode({ name }));
    if (!node || node.metadata?.uid !== uid) {
      const state = node ? `its uid is "${node.metadata?.uid}", not "${uid}"` : "the Node was deleted";
      throw moot("MachineGone", `Failed to run an OS operation on node "${name}": ${state}`);
    }
    const [namespace, body] = [handsNamespace, handPodOf(this.#order, image, now)];
    try {
      await kube.core.createNamespacedPod({ namespace, body });
    } catch (error) {
      if (statusOf(error) !== 409) throw error; // another try of the same order was quicker
    }
    [this.#made, this.#isThere] = [this.#made + 1, true];
    this.#againAt = now + againMs;
    return { missing: `pod "${this.name}" was created` };
  }

  async #end(pod: V1Pod | undefined, look: Look): Promise<Look> {
    if (pod) await deletePod(this.#deps.kube, pod, handGraceSeconds);
    return look;
  }

  #unknown(why: string): { answer: OsOutcome } {
    return { answer: { outcome: "Unknown", message: `Node "${this.#order.node}" did not report a result: ${why}` } };
  }
}
