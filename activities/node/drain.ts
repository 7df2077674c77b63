/** Empties a node: through the Eviction API, so that PodDisruptionBudgets are respected, and by force only where told. */
import type { V1Pod } from "@kubernetes/client-node";
import type { Blocker, DrainOrder, DrainOutcome, Unseen } from "../../workflows/contracts/mod.ts";
import { abreast } from "../kube/abreast.ts";
import type { Kube } from "../kube/client.ts";
import { poll } from "../kube/polling.ts";
import { attempting } from "../kube/status.ts";
import { DisruptionBudgets, newsOfDrain } from "./disruption_budgets.ts";
import { DrainPace } from "./drain_pace.ts";
import { isEnding, localVolumeOf, nameOf, podsToMove, turnOf } from "./drained_pods.ts";
import { deletePod, evict } from "./eviction.ts";
import type { Refusal } from "./eviction.ts";
import { nodeFacts } from "./node_facts.ts";
import type { NodeFacts } from "./node_facts.ts";
import { endingOf, isLate, keyOf, notEvicted, obstacle, protectedBy, protectedTwice } from "./obstacles.ts";
import type { Obstacle } from "./obstacles.ts";
import { ownerOf } from "./pod_owner.ts";
import { RefusedEvictions } from "./refused_evictions.ts";

/** Evictions and deletions at a time. */
const width = 10;
/** What blocks for less long is not worth telling: pods come and go. */
const standingMs = 10_000;
const told = 20;
/** As short as a pod's usual time to end. */
const forcedGraceSeconds = 30;

/** Ends when no pod has to move any more, when what blocks has changed since `known` and lasts, or at `until`. */
export async function awaitNodeDrained(kube: Kube, task: DrainOrder): Promise<DrainOutcome | Unseen> {
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
