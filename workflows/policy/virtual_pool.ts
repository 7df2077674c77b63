/** A simulated pool: machines, the software that creates and deletes them, and a typical duration for each step. */
import type { Desired, Member, PoolSnapshot } from "../contracts/mod.ts";
import type { Batch, Supplier } from "./supplier.ts";

/** Milliseconds that a machine takes to join, and to be drained and removed. */
export interface Pace {
  join: number;
  leave: number;
}

interface VirtualQuestion {
  supplier: Supplier;
  desired: Desired;
  pace: Pace;
  now: number;
  /** Machines in the order of their replacement. */
  members: readonly Member[];
  /** Maximum number of waiting machines, and of unmarked old machines of each kind, in a snapshot. */
  limit: number;
  /** Whether the policy limits replacements by zone, so that the next machine can be of any zone. */
  isZoned: boolean;
}

/**
 * Simulates the snapshots that a run would read. Machines that are not Ready count as Ready, except for unhealthy old
 * ones.
 */
export class VirtualPool {
  readonly joining = new Map<string, number>();
  /** Leaving machines; `until` is when each is gone (epoch ms), or Infinity while it is held. */
  readonly leaving = new Map<string, { member: Member; until: number }>();
  #old: Member[];
  /** The machines of `#old` by kind, and the name of the kind of each machine. */
  readonly #kinds = new Map<string, Kind>();
  readonly #names = new WeakMap<Member, string>();
  /** The machines of `#old` that a snapshot lists; undefined after a change of `#old`. */
  #listed: Member[] | undefined;
  #marked: Member[] = [];
  #waiting: Member[];
  /** Per old template, from the oldest: the number of staying machines, and how many of them are healthy. */
  readonly #batches: Map<string, Batch>;
  #updated = 0;
  #ill = 0;
  #made = 0;

  constructor(private readonly question: VirtualQuestion) {
    const { supplier, desired, pace, now } = question;
    // The simulation treats every image as already staged.
    const isInPlace = supplier.capabilities.updates.includes("InPlace");
    const members = isInPlace ? question.members.map((each) => ({ ...each, staged: true as const })) : question.members;
    const isUpdated = ({ templateHash }: Member): boolean => templateHash === desired.templateHash;
    const staying = members.filter(({ phase }) => phase !== "Leaving");
    const old = staying.filter((each) => !isUpdated(each) && each.phase !== "Held");
    this.#marked = old.filter(({ marked }) => marked);
    this.#old = old.filter(({ marked }) => !marked);
    for (const each of this.#old) this.#count(each, 1);
    this.#ill = old.filter(({ ill }) => ill).length;
    this.#batches = batchesOf(old);
    this.#waiting = staying.filter((each) => isUpdated(each) && each.phase === "Held");
    for (const { id, phase } of staying.filter((each) => isUpdated(each) && each.phase !== "Held")) {
      if (phase === "Ready" || phase === "NotReady") this.#updated += 1;
      else this.joining.set(id, now + pace.join);
    }
    for (const member of members.filter(({ phase }) => phase === "Leaving")) {
      this.leaving.set(member.id, { member, until: member.held ? Infinity : now + pace.leave });
    }
    this.control();
  }

  /** Simulates the owner: lets it create and remove machines until it has nothing to do. */
  control(): void {
    const { supplier, desired } = this.question;
    for (;;) {
      const size = this.#updated + this.joining.size + this.#waiting.length;
      const old = [...this.#batches.values()];
      const { makes, takes } = supplier.moveOf(desired, { old, target: { size, ready: this.#updated } });
      const templates = [...this.#batches.keys()];
      for (const [nth, taken] of takes.entries()) this.#take(templates[nth] ?? "", taken);
      for (let made = 0; made < makes; made++) this.#waiting.push(this.#newMachine());
      if (makes <= 0 && takes.every((taken) => taken === 0)) return;
    }
  }

  #oldSize(): number {
    return this.#old.length + this.#marked.length;
  }

  #ready(): number {
    return this.#oldSize() - this.#ill + this.#updated;
  }

  #take(template: string, count: number): void {
    for (let taken = 0; taken < count; taken++) {
      const isOfIt = ({ templateHash }: Member): boolean => templateHash === template;
      const next = this.#marked.find(isOfIt) ?? this.#old.find(isOfIt);
      if (next) this.#remove(next.id, Infinity);
    }
  }

  /** Moves an old machine from the staying to the leaving machines; it is gone at `until`. */
  #remove(id: string, until: number): void {
    const from = this.#marked.some((each) => each.id === id) ? this.#marked : this.#old;
    const [member] = from.splice(from.findIndex((each) => each.id === id), 1);
    if (!member) return;
    if (from === this.#old) this.#count(member, -1);
    if (member.ill) this.#ill -= 1;
    const batch = this.#batches.get(member.templateHash);
    if (batch) Object.assign(batch, { size: batch.size - 1, ready: batch.ready - (member.ill ? 0 : 1) });
    const lost = member.phase === "NotReady" ? { lost: true as const } : {};
    // If no machine may exist above the replicas, machines leave without a mark; the hold makes each of them wait until
    // the planner drains it.
    this.leaving.set(member.id, { member: { ...member, ...lost, phase: "Leaving", held: true }, until });
  }

  #newMachine(): Member {
    this.#made += 1;
    const { templateHash, image, kubelet } = this.question.desired;
    return {
      ...{ id: `newcomer ${this.#made}`, templateHash, image, kubelet, phase: "Held", since: "" },
      ...{ marked: false, held: true, expendable: false },
    };
  }

  admit(newcomer: string, victim: string | undefined, now: number): void {
    this.#waiting = this.#waiting.filter(({ id }) => id !== newcomer);
    this.joining.set(newcomer, now + this.question.pace.join);
    const at = this.#old.findIndex(({ id }) => id === victim);
    const [chosen] = at < 0 ? [] : this.#old.splice(at, 1);
    if (!chosen) return;
    this.#count(chosen, -1);
    this.#marked.push({ ...chosen, marked: true, held: true });
  }

  leave(machine: string, now: number): void {
    // If only Ostler removes machines, the machine is still among the staying ones.
    const isStaying = [...this.#marked, ...this.#old].some(({ id }) => id === machine);
    if (isStaying) this.#remove(machine, Infinity);
    const going = this.leaving.get(machine);
    if (going) this.leaving.set(machine, { ...going, until: now + (going.member.node ? this.question.pace.leave : 0) });
  }

  /** Begins an update in place, which takes as long as a join. */
  update(machine: string, now: number): void {
    const isThere = [...this.#marked, ...this.#old].some(({ id }) => id === machine);
    if (!isThere) return;
    this.#remove(machine, Infinity);
    this.leaving.delete(machine);
    this.joining.set(machine, now + this.question.pace.join);
  }

  /** Replaces an unhealthy old machine with a healthy one of its own template. */
  repair(machine: string): void {
    const repaired = (each: Member): Member => {
      if (each.id !== machine || !each.ill) return each;
      this.#ill -= 1;
      const batch = this.#batches.get(each.templateHash);
      if (batch) batch.ready += 1;
      const { ill: _, ...rest } = each;
      return { ...rest, phase: "Ready" };
    };
    this.#old = this.#old.map((each) => {
      const now = repaired(each);
      if (now === each) return each;
      this.#count(each, -1);
      this.#count(now, 1);
      return now;
    });
    this.#marked = this.#marked.map(repaired);
  }

  /** Completes all steps that are due at `now`. */
  settle(now: number): void {
    for (const [id, until] of this.joining) if (until <= now && this.joining.delete(id)) this.#updated += 1;
    for (const [id, { until }] of this.leaving) if (until <= now) this.leaving.delete(id);
    this.control();
  }

  /** Returns when the next step completes; Infinity for never. */
  next(): number {
    const ends = [...this.joining.values(), ...[...this.leaving.values()].map(({ until }) => until)];
    return ends.reduce((least, end) => Math.min(least, end), Infinity);
  }

  #count(member: Member, by: 1 | -1): void {
    const name = kindOf(member, this.question.isZoned);
    const kind = this.#kinds.get(name) ?? { number: 0, kept: member.kept };
    this.#kinds.set(name, { ...kind, number: kind.number + by });
    this.#names.set(member, name);
    this.#listed = undefined;
  }

  /**
   * Returns the first `limit` machines of each kind: the planner passes over all listed machines in each of its turns,
   * so with all machines of a large pool it would block its process for minutes.
   */
  #list(): Member[] {
    const { limit } = this.question;
    const all = [...this.#kinds.values()].reduce((sum, { number }) => sum + Math.min(limit, number), 0);
    const numbers = new Map<string, number>();
    const listed: Member[] = [];
    for (const member of this.#old) {
      if (listed.length >= all) break;
      const name = this.#names.get(member) ?? "";
      const number = numbers.get(name) ?? 0;
      if (number >= limit) continue;
      listed.push(member);
      numbers.set(name, number + 1);
    }
    return listed;
  }

  /** Counts, by reason, the kept machines that the snapshot does not list. */
  #unlisted(): NonNullable<PoolSnapshot["unlisted"]> {
    const unlisted: NonNullable<PoolSnapshot["unlisted"]> = {};
    for (const { number, kept } of this.#kinds.values()) {
      const more = Math.max(0, number - this.question.limit);
      if (kept && more > 0) unlisted[kept] = (unlisted[kept] ?? 0) + more;
    }
    return unlisted;
  }

  snapshot(): PoolSnapshot {
    const old = this.#oldSize();
    const held = this.#waiting.length;
    const updated = this.#updated + this.joining.size + held;
    const { limit } = this.question;
    const seen = this.#listed ??= this.#list();
    return {
      fingerprint: "",
      counts: {
        ...{ machines: old + updated + this.leaving.size, updated, ready: this.#ready(), updatedReady: this.#updated },
        ...{ old, held, leaving: this.leaving.size, ill: this.#ill },
      },
      old: [...this.#marked, ...seen],
      waiting: this.#waiting.slice(0, limit),
      joining: [],
      stale: [],
      leaving: [...this.leaving.values()].map(({ member }) => member),
      ill: [...this.#marked, ...seen].filter(({ ill }) => ill),
      unlisted: this.#unlisted(),
    };
  }
}

/** Old machines of which the planner takes the first ones first. */
interface Kind {
  number: number;
  kept: Member["kept"];
}

/**
 * Returns a text that is equal for machines of one kind; zones count only if the policy limits replacements by zone.
 */
function kindOf({ zone, templateHash, phase, kept, ill, expendable }: Member, isZoned: boolean): string {
  return isZoned ? [zone, templateHash, phase, kept, ill !== undefined, expendable].join(" ") : kept ?? "";
}

function batchesOf(old: readonly Member[]): Map<string, Batch> {
  const batches = new Map<string, Batch>();
  for (const { templateHash, ill } of [...old].sort((a, b) => a.since < b.since ? -1 : 1)) {
    const { size, ready } = batches.get(templateHash) ?? { size: 0, ready: 0 };
    batches.set(templateHash, { size: size + 1, ready: ready + (ill ? 0 : 1) });
  }
  return batches;
}
