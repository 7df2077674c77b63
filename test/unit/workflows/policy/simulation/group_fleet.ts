/**
 * Machines of a scaling group, as an owner with other rules than machine-controller's: newcomers are paper until they are
 * ordered, no machine is ever removed by itself, and there are never more than the group's most. And its supplier.
 */
import type { Member } from "../../../../../workflows/contracts/mod.ts";
import { Fleet } from "./fleet.ts";
import type { SimMachine } from "./fleet.ts";

export class GroupFleet extends Fleet {
  /** A person scales: machines that are too many go at once, as the group's own scaling takes them. */
  override scale(replicas: number): void {
    this.surge = Math.max(0, this.surge + this.replicas - replicas);
    this.replicas = replicas;
    const staying = [...this.machines.values()].filter((each) => !isPaper(each) && !each.leaving && !each.going);
    for (const machine of staying.slice(replicas)) {
      if (machine.ready) this.unchosen += 1;
      this.evict(machine);
    }
    this.touch();
  }

  override change(template: string): void {
    this.template = template;
    this.touch();
  }

  protected override reconcile(): void {
    const { template, replicas, surge } = this;
    for (const machine of [...this.machines.values()]) {
      if (machine.leaving) this.leave(machine);
      else if (isPaper(machine) && machine.hash !== template) this.machines.delete(machine.id);
      else this.boot(machine);
    }
    const most = replicas + surge;
    const { length } = this.#instances();
    if (length > most) throw new Error(`Cannot order ${length} instances: the group has at most ${most}`);
    const target = [...this.machines.values()].filter((each) => each.hash === template && !each.leaving && !each.going);
    for (let missing = replicas - target.length; missing > 0; missing--) {
      // Nothing boots unasked here.
      Object.assign(this.make(template), { held: true, marked: false });
    }
    for (const machine of target.filter(isPaper).slice(0, target.length - replicas)) this.machines.delete(machine.id);
  }

  /** A machine whose drain we began is shown as leaving: its node says so; one that may stay after all, as held by us. */
  override memberOf(machine: SimMachine): Member {
    const member = super.memberOf(machine);
    if (!machine.going || machine.leaving) return member;
    return { ...member, held: true, phase: machine.hash === this.template ? member.phase : "Leaving" };
  }

  #instances(): SimMachine[] {
    return [...this.machines.values()].filter(({ booted }) => booted);
  }
}

function isPaper({ booted, held }: SimMachine): boolean {
  return held && !booted;
}
