/** A pool of machines in memory with a machine-controller that behaves as the real one does, as far as a rollout sees. */
import type { Member, PoolRef } from "../../workflows/contracts.ts";
import type { HistoryEntry, PoolEvent, RolloutReport } from "../../workflows/progress.ts";
import { reconcile } from "./fake_machine_controller.ts";

export interface FakeTemplate {
  image: string;
  kubelet: string;
}

export interface FakeSet extends FakeTemplate {
  hash: string;
  revision: number;
  replicas: number;
}

/** How far a machine gets by itself: it joins, or it stops before the named rung. */
export type Fate = "joins" | "instance" | "address" | "registered" | "ready" | "gates";

export interface FakeMachine {
  name: string;
  set: FakeSet;
  created: number;
  fate: Fate;
  /** It has an instance of the cloud. */
  booted: boolean;
  /** machine-controller saw its node Ready. */
  ready: boolean;
  /** Its node is not Ready now. */
  isNodeDown: boolean;
  leaving: boolean;
  hold: string;
  mark: string;
  cordoned: boolean;
  drained: boolean;
  skipsEviction: boolean;
  isJoining: boolean;
  isGoing: boolean;
}

export interface FakePoolOptions {
  replicas?: number;
  surge?: number;
  /** Decides how far the nth machine (from 1) gets. */
  fate?: (nth: number) => Fate;
}

export class FakePool {
  state: "Present" | "Deleting" | "Gone" = "Present";
  generation = 1;
  profileVersion = 1;
  replicas: number;
  surge: number;
  template: FakeTemplate = { image: "image-1", kubelet: "1.35.3" };
  /** machine-controller does nothing while this is true. */
  isControllerDown = false;
  /** Pods cannot be evicted while this is true. */
  isDrainBlocked = false;
  published: { revision: number; digest: string } | undefined;
  /** Epoch ms at which its credentials are due; and how long that is after they were made. */
  renewAt = Infinity;
  renewAfterMs = 28_800_000;
  /** What the admission policy reads off the Rollout. */
  convergedHash = "";
  sets: FakeSet[] = [];
  machines: FakeMachine[] = [];
  readonly reports: RolloutReport[] = [];
  readonly events: PoolEvent[] = [];
  /** What the Rollout object remembers. */
  readonly history: HistoryEntry[] = [];
  /** Every activity call as "name subject", in order. */
  readonly calls: string[] = [];
  readonly violations: string[] = [];
  /** Machines whose pods machine-controller evicted by its own rules. */
  readonly drainedByController: string[] = [];
  /** Runs before the activity of that name does its work; may throw. */
  readonly before: Record<string, (times: number) => void | Promise<void>> = {};
  fate: (nth: number) => Fate;
  #made = 0;
  #change = Promise.withResolvers<void>();

  constructor(readonly ref: PoolRef, options: FakePoolOptions = {}) {
    this.replicas = options.replicas ?? 3;
    this.surge = options.surge ?? 1;
    this.fate = options.fate ?? (() => "joins");
    this.touch();
  }

  get holder(): string {
    return `machine-deployment/${this.ref.namespace}/${this.ref.name}`;
  }

  /** The set of the template as it is desired, once machine-controller has made it. */
  get current(): FakeSet | undefined {
    return this.sets.find((set) => set.hash === hashOf(this.template));
  }

  /** Resolves at the next change of anything in the pool. */
  get nextChange(): Promise<void> {
    return this.#change.promise;
  }

  /** Lets machine-controller act on whatever was changed, and tells all who wait. */
  touch(): void {
    if (!this.isControllerDown) reconcile(this);
    this.#watch();
    const change = this.#change;
    this.#change = Promise.withResolvers();
    change.resolve();
  }

  /** Edits what is desired, as kubectl would. */
  change(edit: Partial<FakeTemplate & { replicas: number; surge: number }>): void {
    const { replicas = this.replicas, surge = this.surge, ...template } = edit;
    Object.assign(this, { replicas, surge, template: { ...this.template, ...template } });
    this.generation += 1;
    this.touch();
  }

  /** Lets every machine that got stuck go on, and those to come join. */
  mend(): void {
    this.fate = () => "joins";
    for (const machine of this.machines) machine.fate = "joins";
    this.touch();
  }

  /** Lets go whatever a test held back. */
  unblock(): void {
    this.isDrainBlocked = this.isControllerDown = false;
    this.touch();
  }

  remove(): void {
    this.state = "Deleting";
    this.generation += 1;
    this.touch();
  }

  make(set: FakeSet): void {
    this.#made += 1;
    const isHeld = this.convergedHash !== "" && this.convergedHash !== set.hash;
    this.machines.push({
      name: `${this.ref.name}-${this.#made}`,
      ...{ set, created: this.#made, fate: this.fate(this.#made) },
      ...{ booted: false, ready: false, isNodeDown: false, leaving: false, cordoned: false, drained: false },
      ...{ skipsEviction: false, isJoining: false, isGoing: false },
      ...{ hold: isHeld ? this.holder : "", mark: "" },
    });
  }

  find(name: string): FakeMachine | undefined {
    return this.machines.find((machine) => machine.name === name);
  }

  members(): Member[] {
    return this.machines.map((machine) => memberOf(this, machine));
  }

  count(call: string): number {
    return this.calls.filter((made) => made === call || made.startsWith(`${call} `)).length;
  }

  /** All activities called so far that change machines or nodes. */
  writes(): string[] {
    return this.calls.filter((call) => /^(ensure(Victim|Machine|Node|Pool)|deleteMachine)/.test(call));
  }

  // The three properties that a foreign observer may rely on, looked at after every change once the pool was complete.
  #watch(): void {
    if (this.convergedHash === "" || this.state !== "Present") return;
    const ready = this.machines.filter((machine) => machine.ready && !machine.isGoing).length;
    const booted = this.machines.filter((machine) => machine.booted).length;
    if (ready < Math.min(this.replicas, this.#complete)) this.violations.push(`${ready} Ready`);
    // After a scale-down there are too many for a while; then none may be added.
    const isTooMany = booted > this.replicas + Math.max(1, this.surge) && booted > this.#booted;
    if (isTooMany) this.violations.push(`${booted} booted`);
    this.#booted = booted;
    if (this.published === undefined) this.violations.push("no secrets");
    if (ready >= this.replicas) this.#complete = this.replicas;
  }

  /** The number of machines that were Ready at the last time when all were. */
  #complete = 0;
  #booted = 0;
}

/** The label that machine-controller computes for a template. */
export function hashOf(template: FakeTemplate): string {
  return `hash-of-${template.image}-${template.kubelet}`;
}

function memberOf(pool: FakePool, machine: FakeMachine): Member {
  const { name, set, created, hold, mark } = machine;
  return {
    id: name,
    ...(machine.ready ? { node: nodeOf(name) } : {}),
    ...{ templateHash: set.hash, image: set.image, kubelet: set.kubelet, phase: phaseOf(machine) },
    since: new Date(created * 1000).toISOString(),
    ...{ marked: mark === pool.holder, held: hold === pool.holder, expendable: false },
  };
}

function phaseOf(machine: FakeMachine): Member["phase"] {
  if (machine.leaving) return "Leaving";
  if (machine.ready) return machine.isNodeDown ? "NotReady" : "Ready";
  if (machine.booted) return machine.fate === "ready" ? "Joining" : "Booting";
  return machine.hold ? "Held" : "Provisioning";
}

/** The node of a machine bears its name with a prefix, so that a mix-up of the two shows. */
export function nodeOf(machine: string): string {
  return `node-${machine}`;
}
