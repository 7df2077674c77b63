/** A pool of machines in memory with a machine-controller that behaves like the real one, as far as a rollout sees. */
import { defaultRules } from "../../activities/policy/default_rules.ts";
import type {
  Blocker,
  DrainRules,
  EtcdStanding,
  GateVerdict,
  Keeping,
  Member,
  PoolRef,
  RepairRules,
  Rules,
  SnapshotTaken,
} from "../../workflows/contracts/mod.ts";
import type { HistoryEntry, PoolEvent, RolloutReport } from "../../workflows/contracts/progress.ts";
import { hashOf, memberOf } from "./fake_machine.ts";
import type { FakeMachine, FakeSet, FakeTemplate, Fate } from "./fake_machine.ts";
import { reconcile } from "./fake_machine_controller.ts";
import { emptyRollout } from "./fake_rollout.ts";
import { FakeWatch } from "./fake_watch.ts";

export interface FakePoolOptions {
  replicas?: number;
  surge?: number;
  /** Decides how far the nth machine of the pool (from 1, over all images) gets; `image` is the machine's image. */
  fate?: (nth: number, image: string) => Fate;
  /** Zones, to which machines are assigned in rotation. */
  zones?: string[];
  /** Rules that differ from the defaults. */
  rules?: Partial<Rules>;
  /** Milliseconds from the order of an instance until its node is Ready. */
  bootMs?: number;
}

/** A pod whose eviction its PodDisruptionBudget does not allow. */
export const protectedPod: Blocker = {
  ...{ pod: "default/web-1", owner: "Deployment default/web" },
  why: "PodDisruptionBudget default/web allows 0 disruptions",
};

export class FakePool {
  state: "Present" | "Deleting" | "Gone" = "Present";
  generation = 1;
  profileVersion = 1;
  replicas: number;
  surge: number;
  template: FakeTemplate = { image: "image-1", kubelet: "1.35.3" };
  actor = "kubectl-edit";
  rules: Rules;
  /** machine-controller does nothing while this is true. */
  isControllerDown = false;
  /** Pods that cannot be evicted, by machine; those under "*" run on every machine. */
  blockers: Record<string, Blocker[]> = {};
  /** Durations (ms) in which a wait could read nothing: each is reported once, by the next wait that has a deadline. */
  readonly unseen: number[] = [];
  published: { revision: number; digest: string } | undefined;
  /**
   * When the credentials are due for renewal (epoch ms); `renewAfterMs` is the delay from their creation until then.
   */
  renewAt = Infinity;
  /** The CAs that new machines trust; undefined for a backend that publishes none. */
  cas: string[] | undefined;
  renewAfterMs = 28_800_000;
  /** The hash of the converged template, which the admission policy reads in the Rollout. */
  convergedHash = "";
  rollout = emptyRollout();
  sets: FakeSet[] = [];
  machines: FakeMachine[] = [];
  readonly bootMs: number;
  readonly zones: string[];
  readonly reports: RolloutReport[] = [];
  readonly events: PoolEvent[] = [];
  /** Every activity call as "name subject", in order. */
  readonly calls: string[] = [];
  readonly watch = new FakeWatch();
  /** Machines whose pods machine-controller evicted by its own rules. */
  readonly drainedByController: string[] = [];
  /** The rules of every drain that began, in order, and the nodes that were drained with force. */
  readonly drains: DrainRules[] = [];
  readonly forced: string[] = [];
  /** Functions by activity that run before the activity does its work; they may throw. */
  readonly before: Record<string, (times: number) => void | Promise<void>> = {};
  /**
   * Functions by activity that run after its work and before its answer is sent, so that the answer may be outdated.
   */
  readonly after: Record<string, () => Promise<void>> = {};
  /** Whether the nth machine was held for too long to be admitted. */
  isHeldTooLong: (nth: number) => boolean = () => false;
  /** Whether new machines are created without a hold, as while the webhook that sets it is down. */
  isAdmissionDown = false;
  fate: (nth: number, image: string) => Fate;
  /** The state of etcd, for a pool of control planes. */
  etcd: EtcdStanding | undefined;
  /** The snapshot of etcd that was stored when a control plane was about to be removed. */
  snapshot: SnapshotTaken | null = null;
  /** Returns the result of a gate for a machine; if `machine` is undefined, for a wave. */
  verdict: (gate: string, machine: string | undefined) => GateVerdict["outcome"] = () => "Passed";
  /** Returns the outcome of a new image with `onImageChange: InPlace`. */
  keeping: () => Keeping = () => ({ outcome: "Unneeded" });
  #made = 0;
  #change = Promise.withResolvers<void>();

  constructor(readonly ref: PoolRef, options: FakePoolOptions = {}) {
    this.replicas = options.replicas ?? 3;
    this.surge = options.surge ?? 1;
    this.fate = options.fate ?? (() => "joins");
    this.zones = options.zones ?? [];
    this.bootMs = options.bootMs ?? 100;
    this.rules = { ...structuredClone(defaultRules), ...options.rules };
    this.touch();
  }

  get holder(): string {
    return `machine-deployment/${this.ref.namespace}/${this.ref.name}`;
  }

  /** The MachineSet of the desired template; undefined until machine-controller has created it. */
  get current(): FakeSet | undefined {
    return this.sets.find((set) => set.hash === hashOf(this.template));
  }

  /** Resolves at the next change of anything in the pool. */
  get nextChange(): Promise<void> {
    return this.#change.promise;
  }

  get violations(): string[] {
    return this.watch.violations;
  }

  get history(): HistoryEntry[] {
    return this.rollout.history;
  }

  /** No pod can be evicted anywhere while this is true. */
  set isDrainBlocked(isBlocked: boolean) {
    this.blockers = isBlocked ? { "*": [protectedPod] } : {};
  }

  /**
   * Lets the fake machine-controller act on the current state unless it is down, and wakes everything that waits for a
   * change of this pool.
   */
  touch(): void {
    if (!this.isControllerDown) reconcile(this);
    this.watch.look(this);
    const change = this.#change;
    this.#change = Promise.withResolvers();
    change.resolve();
  }

  /** Edits the desired state, as kubectl would. */
  change(edit: Partial<FakeTemplate & { replicas: number; surge: number }>): void {
    const { replicas = this.replicas, surge = this.surge, ...template } = edit;
    Object.assign(this, { replicas, surge, template: { ...this.template, ...template } });
    this.generation += 1;
    this.touch();
  }

  /** Lets every stuck machine continue, and later ones join. */
  mend(): void {
    this.fate = () => "joins";
    for (const machine of this.machines) machine.fate = "joins";
    this.touch();
  }

  /**
   * Lets those new machines join for which `fits` is true, but only when a step waits for them, so that even a slow
   * worker sees them join.
   */
  joinOnceAwaited(fits: (nth: number) => boolean = () => true): void {
    this.fate = () => "registered";
    this.before["awaitMachinesJoined"] = () => {
      const awaited = this.find(this.subjects("awaitMachinesJoined").at(-1) ?? "");
      if (awaited && fits(awaited.created)) awaited.fate = "joins";
      this.touch();
    };
  }

  /** Lets pods be evicted and machine-controller work again. */
  unblock(): void {
    this.isDrainBlocked = this.isControllerDown = false;
    this.touch();
  }

  /**
   * Makes the nth machine unhealthy since `agoMs` ago: by the given condition of its node, or by default by a NotReady
   * node.
   */
  sicken(nth: number, { agoMs = 3_600_000, condition }: { agoMs?: number; condition?: string } = {}): void {
    const machine = this.machines.find(({ created }) => created === nth);
    if (!machine) throw new Error(`Failed to make machine ${nth} of "${this.ref.name}" unhealthy: it was deleted`);
    machine.isNodeDown = condition === undefined;
    const why = condition === undefined ? "Ready is Unknown" : `${condition} is True`;
    machine.ill = { why, since: Date.now() - agoMs, ...(condition === undefined ? {} : { condition }) };
    this.touch();
  }

  remove(): void {
    this.state = "Deleting";
    this.generation += 1;
    this.touch();
  }

  make(set: FakeSet): void {
    this.#made += 1;
    const isHeld = !this.isAdmissionDown && this.convergedHash !== "" && this.convergedHash !== set.hash;
    this.machines.push({
      name: this.nth(this.#made),
      ...{ set, created: this.#made, fate: this.fate(this.#made, set.image) },
      zone: this.zones[(this.#made - 1) % this.zones.length],
      ...{ booted: false, ready: false, isNodeDown: false, ill: undefined, leaving: false },
      ...{ cordoned: false, isSparedByAutoscaler: false, isProtected: false, drained: false, skipsEviction: false },
      ...{ isJoining: false, isGoing: false, isAdmitted: false, isJudged: false, isStuck: false },
      othersAtDrain: undefined,
      ...{ hold: isHeld ? this.holder : "", mark: isHeld ? this.holder : "" },
    });
  }

  /** The name of the nth machine that was created, from 1. */
  nth(nth: number): string {
    return `${this.ref.name}-${nth}`;
  }

  find(name: string): FakeMachine | undefined {
    return this.machines.find((machine) => machine.name === name);
  }

  members(repair?: RepairRules): Member[] {
    return this.machines.map((machine) => memberOf(machine, this.holder, repair));
  }

  /** Images of all machines, oldest first. */
  images(): string[] {
    return this.machines.map(({ set }) => set.image);
  }

  /** The numbers of all existing machines. */
  numbers(): number[] {
    return this.machines.map(({ created }) => created);
  }

  count(call: string): number {
    return this.calls.filter((made) => made === call || made.startsWith(`${call} `)).length;
  }

  /** The machines that an activity was called for, in order. */
  subjects(call: string): string[] {
    return this.calls.filter((made) => made.startsWith(`${call} `)).map((made) => made.slice(call.length + 1));
  }

  /** All activity calls so far that change machines, nodes or the template. */
  writes(): string[] {
    return this.calls.filter((call) =>
      /^(ensure(Victim|Machine|Node|Pool|LastGood|Template|SlotTaken)|deleteMachine)/.test(call)
    );
  }

  /** Returns the holds, marks, cordons and protections from the autoscaler that remain on machines and their nodes. */
  leftovers(): string[] {
    return this.machines.flatMap(({ name, hold, mark, cordoned, isSparedByAutoscaler }) => [
      ...(hold ? [`hold on ${name}`] : []),
      ...(mark ? [`mark on ${name}`] : []),
      ...(cordoned ? [`cordon of ${name}`] : []),
      ...(isSparedByAutoscaler ? [`autoscaler kept off ${name}`] : []),
    ]);
  }
}

export { hashOf, memberOf, nodeOf } from "./fake_machine.ts";
export type { FakeMachine, FakeSet, FakeTemplate, Fate } from "./fake_machine.ts";
