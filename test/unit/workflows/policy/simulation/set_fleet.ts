/** Machines of MachineSets that machine-controller (1.66) rolls. */
import { Fleet } from "./fleet.ts";
import { type MachineSet, rollSets } from "./roll_sets.ts";

export class SetFleet extends Fleet {
  /** Desired number of machines per template. */
  readonly sets = new Map([["A", this.options.replicas]]);

  /** Changes the replicas; new machines may go to an old MachineSet, as with machine-controller. */
  override scale(replicas: number): void {
    const more = replicas - this.replicas;
    this.replicas = replicas;
    const old = [...this.sets.keys()].find((hash) => hash !== this.template && (this.sets.get(hash) ?? 0) > 0);
    if (more > 0 && old !== undefined && this.chance(0, 1) === 1) this.sets.set(old, (this.sets.get(old) ?? 0) + more);
    this.touch();
  }

  override change(template: string): void {
    this.template = template;
    if (!this.sets.has(template)) this.sets.set(template, 0);
    this.touch();
  }

  protected override reconcile(): void {
    const before = JSON.stringify([...this.sets]);
    this.#roll();
    if (JSON.stringify([...this.sets]) !== before) this.touch();
    for (const [hash, size] of this.sets) this.#scaleSet(hash, size);
    for (const machine of [...this.machines.values()]) machine.leaving ? this.leave(machine) : this.boot(machine);
  }

  #roll(): void {
    const { replicas, surge, template } = this;
    const sets = new Map([...this.sets].map(([hash, size]): [string, MachineSet] => {
      return [hash, { replicas: size, available: this.#ready(hash) }];
    }));
    const newest = sets.get(template);
    if (newest === undefined) throw new Error(`Failed to roll: template "${template}" has no MachineSet`);
    rollSets({ replicas, surge }, newest, [...sets.values()].filter((set) => set !== newest));
    for (const [hash, set] of sets) this.sets.set(hash, set.replicas);
  }

  #ready(hash: string): number {
    let count = 0;
    for (const each of this.machines.values()) {
      if (each.hash === hash && each.ready && !each.leaving && each.ill === undefined) count += 1;
    }
    return count;
  }

  #scaleSet(hash: string, size: number): void {
    const there = [...this.machines.values()].filter((each) => each.hash === hash && !each.leaving);
    for (let missing = size - there.length; missing > 0; missing--) this.make(hash);
    for (let left = there.length; left > size; left--) {
      const marked = there.filter((each) => each.marked);
      const from = marked.length > 0 ? marked : there;
      const picked = from[this.chance(0, from.length - 1)];
      if (!picked) return;
      const isWell = picked.ready && picked.ill === undefined;
      if (isWell && !picked.marked) this.unchosen += 1;
      if (isWell && picked.marked && !picked.held) this.loose += 1;
      picked.leaving = true;
      there.splice(there.indexOf(picked), 1);
    }
  }
}
