/**
 * Drains a node: through the Eviction API, so that PodDisruptionBudgets are respected, and by force only on request.
 */
import type { Cluster } from "../cluster.ts";
import { counted } from "../counted.ts";
import type { V1OwnerReference, V1Pod } from "@kubernetes/client-node";
import type { Blocker, DrainOrder, DrainOutcome, Unseen } from "../../workflows/contracts/mod.ts";
import { abreast, attempting, messageOf, statusOf } from "../kube/status.ts";
import type { Kube } from "../kube/client.ts";
import { poll } from "../kube/polling.ts";
import { DisruptionBudgets, newsOfDrain } from "./disruption_budgets.ts";
import { isEnding, localVolumeOf, nameOf, podsToMove, turnOf } from "./drained_pods.ts";
import { type NodeFacts, nodeFacts } from "./node_facts.ts";
import {
  endingOf,
  Endings,
  keyOf,
  notEvicted,
  type Obstacle,
  obstacle,
  protectedBy,
  protectedTwice,
} from "./obstacles.ts";
import { RefusedEvictions } from "./refused_evictions.ts";

/** Number of pods that are evicted or deleted concurrently. */
const width = 10;
/** Milliseconds before an obstacle is reported, because obstacles that end earlier are typical while pods move. */
const standingMs = 10_000;
/** Maximum obstacles that a result names. */
const told = 20;
/** Grace period of a forced deletion (s): the default of pods. */
const forcedGraceSeconds = 30;

/**
 * Drains a node. Returns when no pod has to move any more, when new obstacles have lasted for 10 s (`known` is the key
 * of the obstacles that were reported before), or at `until`. Returns `Unseen` if the API server did not answer for a
 * while.
 */
export async function awaitNodeDrained(kube: Cluster, task: DrainOrder): Promise<DrainOutcome | Unseen> {
  const drain = new Drain(kube, task);
  using news = newsOfDrain(kube, task.node, () => drain.namespaces);
  return await poll<DrainOutcome | Unseen>({
    until: Number.MAX_SAFE_INTEGER, // pods that remain at the task's `until` are a result, not an error
    news,
    every: () => drain.restMs,
    gap: 500,
    lookBy: () => drain.lookBy,
    look: () => attempting(`drain node "${task.node}"`, () => drain.look(Date.now())),
    unseen: (unseenMs, seen) => seen && "outcome" in seen && seen.outcome === "Drained" ? seen : { unseenMs },
    expired: (missing) => new Error(missing),
  });
}

/** One drain of one node; each read continues it. */
export class Drain {
  readonly #kube: Kube;
  readonly #task: DrainOrder;
  readonly #budgets: DisruptionBudgets;
  readonly #refused = new RefusedEvictions();
  readonly #pace = new DrainPace();
  readonly #endings = new Endings();
  /** Namespaces of the pods that remain on the node. */
  namespaces: ReadonlySet<string> = new Set();
  readonly #moved = new Set<string>();
  readonly #forced = new Set<string>();
  #standing: { key: string; since: number } | undefined;

  constructor(kube: Kube, task: DrainOrder) {
    this.#kube = kube;
    this.#task = task;
    this.#budgets = new DisruptionBudgets(kube);
  }

  /** Milliseconds until the next read, unless a change calls for an earlier one. */
  get restMs(): number {
    return this.#pace.restMs;
  }

  /**
   * Latest time of the next read (epoch ms): when a refused eviction is due for a retry, a new obstacle has lasted long
   * enough to be reported, the pause is over, or the drain's time ends.
   */
  get lookBy(): number {
    const { until, known } = this.#task;
    const isNews = this.#standing !== undefined && this.#standing.key !== known;
    const lasting = isNews ? (this.#standing?.since ?? 0) + standingMs : Infinity;
    return Math.min(until, lasting, this.#refused.nextAt, Date.now() + this.restMs);
  }

  /**
   * Evicts the pods that may move now, or deletes all if forced. Returns the outcome if the drain ends now, otherwise a
   * description of the remaining pods. `now` is epoch ms, `elapsed` milliseconds of a monotonic clock.
   */
  async look(now: number, elapsed = performance.now()): Promise<{ answer: DrainOutcome } | { missing: string }> {
    const node = await nodeFacts(this.#kube, this.#task.node);
    const pods = node ? await podsToMove(this.#kube, node.name) : [];
    if (!node || pods.length === 0) return { answer: { outcome: "Drained", evicted: this.#moved.size } };
    this.#endings.note(pods, { now, elapsed });
    const obstacles = this.#task.force ? await this.#force(pods, node, now) : await this.#evict(pods, node, now);
    const key = keyOf(obstacles);
    this.#pace.note(pods, key);
    // Only pods that may be evicted now are retried, so due retries of all other pods must not cause a read.
    this.#refused.keep(turnOf(pods, this.#task.rules.order).filter((pod) => !isEnding(pod)));
    this.namespaces = new Set(pods.map((pod) => pod.metadata?.namespace ?? ""));
    if (key !== this.#standing?.key) this.#standing = { key, since: now };
    const isNews = key !== this.#task.known && now - this.#standing.since >= standingMs;
    if (now >= this.#task.until) {
      return { answer: await this.#blocked([...obstacles, ...this.#rest(pods, obstacles)], key) };
    }
    return isNews ? { answer: await this.#blocked(obstacles, key) } : { missing: wordsOf(pods, obstacles) };
  }

  async #evict(pods: V1Pod[], node: NodeFacts, now: number): Promise<Obstacle[]> {
    const turn = turnOf(pods, this.#task.rules.order);
    const found = await abreast(width, turn, (pod) => isEnding(pod) ? ending(pod, node, now) : this.#ask(pod, now));
    return found.filter((each) => each !== undefined);
  }

  async #ask(pod: V1Pod, now: number): Promise<Obstacle | undefined> {
    const volume = localVolumeOf(pod);
    if (volume !== undefined && this.#task.rules.localStorage === "Block") {
      return obstacle(pod, `its data in emptyDir "${volume}" would be lost`);
    }
    const standing = this.#refused.has(pod) && this.#refused.standing(pod, await this.#budgets.of(pod, now), now);
    if (standing) return standing;
    const refusal = await evict(this.#kube, pod);
    if (refusal) return await this.#refuse(pod, refusal, now);
    this.#moved.add(pod.metadata?.uid ?? "");
    return undefined;
  }

  async #refuse(pod: V1Pod, refusal: Refusal, now: number): Promise<Obstacle> {
    const found = await this.#obstacleOf(pod, refusal, now);
    this.#refused.note(found, await this.#budgets.of(pod, now), now);
    return found;
  }

  async #obstacleOf(pod: V1Pod, refusal: Refusal, now: number): Promise<Obstacle> {
    if (refusal.kind === "Budget") return protectedBy(pod, await this.#budgets.of(pod, now));
    if (refusal.kind === "SeveralBudgets") return protectedTwice(pod, await this.#budgets.of(pod, now));
    if (refusal.kind === "Other") return notEvicted(pod, refusal);
    return obstacle(pod, "its namespace is being deleted");
  }

  // An unreachable node, or one with a dead runtime, confirms no termination, so its pods are deleted without waiting.
  async #force(pods: V1Pod[], node: NodeFacts, now: number): Promise<Obstacle[]> {
    const isPatient = (pod: V1Pod): boolean => node.reachable && !this.#endings.isOver(pod);
    await abreast(width, pods, (pod) => this.#delete(pod, isPatient(pod) ? forcedGraceSeconds : 0));
    return pods.filter(isEnding).flatMap((pod) => endingOf(pod, node, now) ?? []);
  }

  async #delete(pod: V1Pod, grace: number): Promise<void> {
    const { uid = "" } = pod.metadata ?? {};
    if (this.#forced.has(`${uid} ${grace}`)) return;
    await deletePod(this.#kube, pod, grace);
    this.#forced.add(`${uid} ${grace}`);
    this.#moved.add(uid);
  }

  // At the deadline every remaining pod is an obstacle, even one that only waits to be evicted or is terminating.
  #rest(pods: V1Pod[], obstacles: Obstacle[]): Obstacle[] {
    const named = new Set(obstacles.map(({ pod }) => pod));
    return pods.filter((pod) => !named.has(pod)).map((pod) => {
      const isGoing = isEnding(pod) || this.#moved.has(pod.metadata?.uid ?? "");
      return obstacle(pod, isGoing ? "still terminating" : "waiting for pods of a lower priority to be evicted");
    });
  }

  async #blocked(obstacles: Obstacle[], key: string): Promise<DrainOutcome> {
    const blockers = await abreast<Obstacle, Blocker>(width, obstacles.slice(0, told), async ({ pod, why }) => {
      return { pod: nameOf(pod), owner: await ownerOf(this.#kube, pod), why };
    });
    return { outcome: "Blocked", evicted: this.#moved.size, blockers, key };
  }
}

function ending(pod: V1Pod, node: NodeFacts, now: number): Promise<Obstacle | undefined> {
  return Promise.resolve(endingOf(pod, node, now));
}

function wordsOf(pods: V1Pod[], obstacles: Obstacle[]): string {
  const names = pods.slice(0, 5).map(nameOf).join(", ");
  const why = obstacles.slice(0, 3).map((each) => `${nameOf(each.pod)}: ${each.why}`);
  return `${counted(pods.length, "pod")} remain${pods.length === 1 ? "s" : ""} (${names})${
    why.length ? `; ${why.join("; ")}` : ""
  }`;
}

// The object that owns a pod, from which an administrator can see whom to contact.

/**
 * Returns the owner of a pod, such as "StatefulSet default/db", and instead of a ReplicaSet the owner of that
 * ReplicaSet, if it has one. Returns "" for a pod without an owner.
 */
async function ownerOf(kube: Kube, pod: V1Pod): Promise<string> {
  const namespace = pod.metadata?.namespace ?? "";
  const owner = controllerOf(pod.metadata?.ownerReferences);
  if (!owner) return "";
  const above = owner.kind === "ReplicaSet" ? await aboveOf(kube, namespace, owner.name) : undefined;
  const { kind, name } = above ?? owner;
  return `${kind} ${namespace}/${name}`;
}

async function aboveOf(kube: Kube, namespace: string, name: string): Promise<V1OwnerReference | undefined> {
  try {
    return controllerOf((await kube.apps.readNamespacedReplicaSet({ name, namespace })).metadata?.ownerReferences);
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return undefined; // deleted or not readable: the nearest owner is enough
  }
}

function controllerOf(owners: V1OwnerReference[] = []): V1OwnerReference | undefined {
  return owners.find(({ controller }) => controller) ?? owners[0];
}

// How often a drain reads: often while pods terminate, rarely while all remaining pods stay.

const first = 1_000;
/** The longest pause (ms) while pods terminate, which takes up to their grace period. */
const longestEnding = 5_000;
/** The longest pause (ms) while every remaining pod is blocked: a watch reports changes of its budget. */
const longestBlocked = 30_000;

class DrainPace {
  #seen = "";
  #restMs = first;

  /** Milliseconds until the next read of the pods. */
  get restMs(): number {
    return this.#restMs;
  }

  /** Records a read: the remaining pods, and the key of what blocks them. */
  note(pods: readonly V1Pod[], key: string): void {
    const state = JSON.stringify([key, pods.map((pod) => [pod.metadata?.uid, isEnding(pod)])]);
    const longest = key === "" || pods.some(isEnding) ? longestEnding : longestBlocked;
    this.#restMs = state === this.#seen ? Math.min(longest, this.#restMs * 1.5) : first;
    this.#seen = state;
  }
}

// Moves one pod, through the Eviction API so that PodDisruptionBudgets count, or by force.

/** Why a pod was not evicted now; a terminating namespace deletes its pods itself. */
type Refusal =
  | { kind: "Budget" | "SeveralBudgets" | "NamespaceEnds" }
  /** Refused by an admission policy or webhook, or failed in the API server; with the message. */
  | { kind: "Other"; status: number; message: string };

/** Returns undefined if the eviction was accepted or the pod does not exist. */
async function evict(kube: Kube, pod: V1Pod): Promise<Refusal | undefined> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const body = { metadata: { name, namespace }, deleteOptions: { preconditions: { uid } } };
  try {
    await kube.core.createNamespacedPodEviction({ name, namespace, body });
    return undefined;
  } catch (error) {
    if (isGone(statusOf(error))) return undefined;
    const refusal = refusalOf(error);
    if (refusal) return refusal;
    throw error;
  }
}

/**
 * Status codes of a refused eviction: by a budget, by an admission policy or webhook, or because a webhook could not be
 * reached.
 */
const answered = [400, 403, 422, 429, 500];

// Recognises refusals by the messages of the API server's eviction handler, authorizer and namespace admission. Returns
// undefined for other failures, for example if Ostler may not evict pods.
function refusalOf(error: unknown): Refusal | undefined {
  const [status = 0, message] = [statusOf(error), messageOf(error)];
  if (!answered.includes(status) || message.includes('cannot create resource "pods/eviction"')) return undefined;
  if (status === 403 && message.includes("because it is being terminated")) return { kind: "NamespaceEnds" };
  if (status === 429 && message.includes("disruption budget")) return { kind: "Budget" };
  if (status === 500 && message.includes("more than one PodDisruptionBudget")) return { kind: "SeveralBudgets" };
  return { kind: "Other", status, message };
}

/** Deletes a pod even if budgets protect it; with a grace period of 0 s it does not wait for the node. */
export async function deletePod(kube: Kube, pod: V1Pod, gracePeriodSeconds: number): Promise<void> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  try {
    await kube.core.deleteNamespacedPod({ name, namespace, body: { gracePeriodSeconds, preconditions: { uid } } });
  } catch (error) {
    if (!isGone(statusOf(error))) throw error;
  }
}

// Returns whether the pod does not exist any more: 404, or 409 if another pod has its name now.
function isGone(status: number | undefined): boolean {
  return status === 404 || status === 409;
}
