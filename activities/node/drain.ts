/** Empties a node: through the Eviction API, so that PodDisruptionBudgets are respected, and by force only where told. */
import type { Cluster } from "../cluster.ts";
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
  isLate,
  keyOf,
  notEvicted,
  type Obstacle,
  obstacle,
  protectedBy,
  protectedTwice,
} from "./obstacles.ts";
import { RefusedEvictions } from "./refused_evictions.ts";

/** Evictions and deletions at a time. */
const width = 10;
/** What blocks for less long is not worth telling: pods come and go. */
const standingMs = 10_000;
const told = 20;
/** As short as a pod's usual time to end. */
const forcedGraceSeconds = 30;

/** Ends when no pod has to move any more, when what blocks has changed since `known` and lasts, or at `until`. */
export async function awaitNodeDrained(kube: Cluster, task: DrainOrder): Promise<DrainOutcome | Unseen> {
  const drain = new Drain(kube, task);
  using news = newsOfDrain(kube, task.node, () => drain.namespaces);
  return await poll<DrainOutcome | Unseen>({
    until: Number.MAX_SAFE_INTEGER, // that pods remain is an answer too
    news,
    every: () => drain.restMs,
    gap: 500,
    lookBy: () => drain.lookBy,
    look: () => attempting(`drain node "${task.node}"`, () => drain.look(Date.now())),
    unseen: (unseenMs, seen) => seen && "outcome" in seen && seen.outcome === "Drained" ? seen : { unseenMs },
    expired: (missing) => new Error(missing),
  });
}

/** One drain of one node, look by look. */
export class Drain {
  readonly #kube: Kube;
  readonly #task: DrainOrder;
  readonly #budgets: DisruptionBudgets;
  readonly #refused = new RefusedEvictions();
  readonly #pace = new DrainPace();
  /** Of the pods that remain. */
  namespaces: ReadonlySet<string> = new Set();
  readonly #moved = new Set<string>();
  readonly #forced = new Set<string>();
  #standing: { key: string; since: number } | undefined;

  constructor(kube: Kube, task: DrainOrder) {
    this.#kube = kube;
    this.#task = task;
    this.#budgets = new DisruptionBudgets(kube);
  }

  /** Milliseconds until the next look, where nothing calls for an earlier one. */
  get restMs(): number {
    return this.#pace.restMs;
  }

  /** Epoch ms of the next look: a refused pod is due, what blocks has lasted, or the time of the drain is over. */
  get lookBy(): number {
    const { until, known } = this.#task;
    const isNews = this.#standing !== undefined && this.#standing.key !== known;
    const lasting = isNews ? (this.#standing?.since ?? 0) + standingMs : Infinity;
    return Math.min(until, lasting, this.#refused.nextAt, Date.now() + this.restMs);
  }

  /** Moves whom it may and says what is left. */
  async look(now: number): Promise<{ answer: DrainOutcome } | { missing: string }> {
    const node = await nodeFacts(this.#kube, this.#task.node);
    const pods = node ? await podsToMove(this.#kube, node.name) : [];
    if (!node || pods.length === 0) return { answer: { outcome: "Drained", evicted: this.#moved.size } };
    const obstacles = this.#task.force ? await this.#force(pods, node, now) : await this.#evict(pods, node, now);
    const key = keyOf(obstacles);
    this.#pace.note(pods, key);
    // Only whom it would ask now: of all others no pause runs out.
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
    return obstacle(pod, "goes with its namespace, which is being deleted");
  }

  // A node that is not heard of confirms nothing, nor does one whose runtime is dead: there they are taken off the books.
  async #force(pods: V1Pod[], node: NodeFacts, now: number): Promise<Obstacle[]> {
    const isPatient = (pod: V1Pod): boolean => node.reachable && !isLate(pod, now);
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

  // At the deadline whatever is left counts, also what only waits.
  #rest(pods: V1Pod[], obstacles: Obstacle[]): Obstacle[] {
    const named = new Set(obstacles.map(({ pod }) => pod));
    return pods.filter((pod) => !named.has(pod)).map((pod) => {
      const isGoing = isEnding(pod) || this.#moved.has(pod.metadata?.uid ?? "");
      return obstacle(pod, isGoing ? "is still ending" : "waits until pods of a lower priority are gone");
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
  return `${pods.length} pods remain (${names})${why.length ? `; ${why.join("; ")}` : ""}`;
}

// Whom to ask about a pod.

/** The owner as "Deployment default/web", through a ReplicaSet to what made it; "" for a pod that nobody owns. */
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
    return undefined; // gone, or not for us to read: the nearest owner will do
  }
}

function controllerOf(owners: V1OwnerReference[] = []): V1OwnerReference | undefined {
  return owners.find(({ controller }) => controller) ?? owners[0];
}

// How often a drain looks: often while pods go, seldom while all that are left stay.

const first = 1_000;
/** While pods end, which takes as long as they were given. */
const longestEnding = 5_000;
/** While every pod that is left is kept by something: a watch tells when its budget changes. */
const longestBlocked = 30_000;

class DrainPace {
  #seen = "";
  #restMs = first;

  /** Milliseconds until the next look. */
  get restMs(): number {
    return this.#restMs;
  }

  /** Notes what a look has found: the pods that remain, and the key of what keeps them. */
  note(pods: readonly V1Pod[], key: string): void {
    const state = JSON.stringify([key, pods.map((pod) => [pod.metadata?.uid, isEnding(pod)])]);
    const longest = key === "" || pods.some(isEnding) ? longestEnding : longestBlocked;
    this.#restMs = state === this.#seen ? Math.min(longest, this.#restMs * 1.5) : first;
    this.#seen = state;
  }
}

// Moving one pod: asked for through the Eviction API, so that PodDisruptionBudgets count, or by force.

/** Why a pod was not evicted now; a namespace that ends deletes its pods itself. */
type Refusal =
  | { kind: "Budget" | "SeveralBudgets" | "NamespaceEnds" }
  /** A policy or a webhook of the site, or trouble in the API server; what it said. */
  | { kind: "Other"; status: number; message: string };

/** Undefined when the eviction was accepted or the pod is gone. */
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

/** What an admission that refuses answers with, and what the API server does that could not ask it. */
const answered = [400, 403, 422, 429, 500];

// The words are those of the API server: of its eviction, its authorizer and its admission of what a namespace holds.
function refusalOf(error: unknown): Refusal | undefined {
  const [status = 0, message] = [statusOf(error), messageOf(error)];
  if (!answered.includes(status) || message.includes('cannot create resource "pods/eviction"')) return undefined;
  if (status === 403 && message.includes("because it is being terminated")) return { kind: "NamespaceEnds" };
  if (status === 429 && message.includes("disruption budget")) return { kind: "Budget" };
  if (status === 500 && message.includes("more than one PodDisruptionBudget")) return { kind: "SeveralBudgets" };
  return { kind: "Other", status, message };
}

/** Deletes a pod whatever protects it; with a grace of 0 seconds its node is not waited for. */
export async function deletePod(kube: Kube, pod: V1Pod, gracePeriodSeconds: number): Promise<void> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  try {
    await kube.core.deleteNamespacedPod({ name, namespace, body: { gracePeriodSeconds, preconditions: { uid } } });
  } catch (error) {
    if (!isGone(statusOf(error))) throw error;
  }
}

// 409: there is a pod of that name, but another one.
function isGone(status: number | undefined): boolean {
  return status === 404 || status === 409;
}
