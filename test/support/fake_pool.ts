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
  /** Decides how far the nth machine (from 1) with that image gets. */
  fate?: (nth: number, image: string) => Fate;
  /** Zones, to which machines are assigned in rotation. */
  zones?: string[];
  /** Rules that differ from the defaults. */
  rules?: Partial<Rules>;
  /** From the order of an instance to its node being Ready. */
  bootMs?: number;
}

/** A pod that a PodDisruptionBudget protects. */
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
  /** Pods that cannot be evicted, by machine; those of "*" are everywhere. */
  blockers: Record<string, Blocker[]> = {};
  /** Times (ms) without reads: the next wait with a deadline reports each once. */
  readonly unseen: number[] = [];
  published: { revision: number; digest: string } | undefined;
  /** Epoch ms at which its credentials are due; and the delay from their creation. */
  renewAt = Infinity;
  /** The CAs that new machines trust; undefined for a backend that publishes none. */
  cas: string[] | undefined;
  renewAfterMs = 28_800_000;
  /** The fields of the Rollout that the admission policy reads. */
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
  /** Rules of every drain that began, in order; and nodes that were drained with force. */
  readonly drains: DrainRules[] = [];
  readonly forced: string[] = [];
  /** Runs before the activity of that name does its work; may throw. */
  readonly before: Record<string, (times: number) => void | Promise<void>> = {};
  /** Runs after it, before its answer is sent: what it read may be outdated by then. */
  readonly after: Record<string, () => Promise<void>> = {};
  /** New machines are not held, as when the webhook for them is down. */
  isAdmissionDown = false;
  fate: (nth: number, image: string) => Fate;
  /** Of a group of control planes. */
  etcd: EtcdStanding | undefined;
  /** The snapshots that were kept when a control plane was relieved. */
  snapshot: SnapshotTaken | null = null;
  /** The verdict of a gate, for a machine or, without one, for a wave. */
  verdict: (gate: string, machine: string | undefined) => GateVerdict["outcome"] = () => "Passed";
  /** The outcome of another image with InPlace. */
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

  /** The set of the desired template, after machine-controller has made it. */
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

  /** Lets machine-controller act on any change, and resolves all waits. */
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

  /** New machines that fit join when a step waits for them, so that a slow worker sees them come. */
  joinOnceAwaited(fits: (nth: number) => boolean = () => true): void {
    this.fate = () => "registered";
    this.before["awaitMachinesJoined"] = () => {
      const awaited = this.find(this.subjects("awaitMachinesJoined").at(-1) ?? "");
      if (awaited && fits(awaited.created)) awaited.fate = "joins";
      this.touch();
    };
  }

  /** Continues everything that a test paused. */
  unblock(): void {
    this.isDrainBlocked = this.isControllerDown = false;
    this.touch();
  }

  /** Makes the node of the nth machine NotReady since that long ago, or sets a bad condition. */
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

  /** Returns what was set on machines and their nodes and still exists. */
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
