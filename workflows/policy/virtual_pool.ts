/** A pool as it might go on: machine-controller and the machines played, with every step as long as is usual. */
import type { Desired, Member, PoolSnapshot } from "../contracts/mod.ts";

/** Milliseconds that a machine takes to join, and to be drained and removed. */
export interface Pace {
  join: number;
  leave: number;
}

export interface VirtualQuestion {
  desired: Desired;
  pace: Pace;
  now: number;
  /** In the order of going. */
  members: readonly Member[];
  /** Old machines that are listed in a look. */
  limit: number;
}

/** Plays what a run would see; machines that are not Ready now are taken as if they were, or ill old ones as they are. */
export class VirtualPool {
  readonly joining = new Map<string, number>();
  /** Infinity while it is held. */
  readonly leaving = new Map<string, { member: Member; until: number }>();
  #old: Member[];
  #marked: Member[] = [];
  #waiting: Member[];
  #updated = 0;
  #ill = 0;
  #made = 0;

  constructor(private readonly question: VirtualQuestion) {
    const { members, desired, pace, now } = question;
    const isUpdated = ({ templateHash }: Member): boolean => templateHash === desired.templateHash;
    const staying = members.filter(({ phase }) => phase !== "Leaving");
    const old = staying.filter((each) => !isUpdated(each) && each.phase !== "Held");
    this.#marked = old.filter(({ marked }) => marked);
    this.#old = old.filter(({ marked }) => !marked);
    this.#ill = old.filter(({ ill }) => ill).length;
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

  /** What machine-controller does by itself: newcomers up to the surge, and victims once there are others for them. */
  control(): void {
    const { replicas, surge } = this.question.desired;
    const least = surge === 0 ? Math.max(0, replicas - 1) : replicas;
    const hasVictim = (): boolean => this.#ill > 0 || this.#ready() > least;
    while (this.#oldSize() > 0 && this.#oldSize() + this.#updated > least && hasVictim()) this.#remove();
    while (this.#size() < replicas + surge && this.#size() - this.#oldSize() < replicas) {
      this.#waiting.push(this.#newcomer());
    }
  }

  #oldSize(): number {
    return this.#old.length + this.#marked.length;
  }

  #size(): number {
    return this.#oldSize() + this.#updated + this.joining.size + this.#waiting.length;
  }

  #ready(): number {
    return this.#oldSize() - this.#ill + this.#updated;
  }

  #remove(): void {
    const member = this.#marked.shift() ?? this.#old.shift();
    if (!member) return;
    if (member.ill) this.#ill -= 1;
    // Without surge nobody could mark it; that it is held is what paces it.
    const lost = member.phase === "NotReady" ? { lost: true as const } : {};
    this.leaving.set(member.id, { member: { ...member, ...lost, phase: "Leaving", held: true }, until: Infinity });
  }

  #newcomer(): Member {
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
    if (at >= 0) this.#marked.push(...this.#old.splice(at, 1).map((each) => ({ ...each, marked: true, held: true })));
  }

  leave(machine: string, now: number): void {
    const going = this.leaving.get(machine);
    if (going) this.leaving.set(machine, { ...going, until: now + (going.member.node ? this.question.pace.leave : 0) });
  }

  /** An ill old machine is replaced where it stands: by one of its own template, which is well. */
  repair(machine: string): void {
    const mended = (each: Member): Member => {
      if (each.id !== machine || !each.ill) return each;
      this.#ill -= 1;
      const { ill: _, ...rest } = each;
      return { ...rest, phase: "Ready" };
    };
    this.#old = this.#old.map(mended);
    this.#marked = this.#marked.map(mended);
  }

  /** Lets happen what is due at `now`. */
  settle(now: number): void {
    for (const [id, until] of this.joining) if (until <= now && this.joining.delete(id)) this.#updated += 1;
    for (const [id, { until }] of this.leaving) if (until <= now) this.leaving.delete(id);
    this.control();
  }

  /** When something happens next by itself; Infinity for never. */
  next(): number {
    const ends = [...this.joining.values(), ...[...this.leaving.values()].map(({ until }) => until)];
    return ends.reduce((least, end) => Math.min(least, end), Infinity);
  }

  snapshot(): PoolSnapshot {
    const old = this.#oldSize();
    const held = this.#waiting.length;
    const updated = this.#updated + this.joining.size + held;
    const seen = this.#old.slice(0, this.question.limit);
    return {
      fingerprint: "",
      counts: {
        ...{ machines: old + updated + this.leaving.size, updated, ready: this.#ready(), updatedReady: this.#updated },
        ...{ old, held, leaving: this.leaving.size, ill: this.#ill },
      },
      old: [...this.#marked, ...seen],
      waiting: this.#waiting,
      joining: [],
      stale: [],
      leaving: [...this.leaving.values()].map(({ member }) => member),
      ill: [...this.#marked, ...seen].filter(({ ill }) => ill),
    };
  }
}
