/**
 * Simulates the machines of a scaling group. The group's rules differ from those of machine-controller: a new machine
 * has no instance until the rollout admits it, and the group never exceeds its maximum size. The group removes machines
 * by itself only when a person makes it smaller.
 */
import type { Member } from "../../../../../workflows/contracts/mod.ts";
import { Fleet } from "./fleet.ts";
import type { SimMachine } from "./fleet.ts";

export class GroupFleet extends Fleet {
  /** Changes the size of the group as a person does: the group then removes surplus machines by itself, immediately. */
  override scale(replicas: number): void {
    this.surge = Math.max(0, this.surge + this.replicas - replicas);
    this.replicas = replicas;
    const staying = [...this.machines.values()].filter((each) => !isPending(each) && !each.leaving && !each.going);
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
      else if (isPending(machine) && machine.hash !== template) this.machines.delete(machine.id);
      else this.boot(machine);
    }
    const most = replicas + surge;
    const { length } = this.#instances();
    if (length > most) throw new Error(`Failed to order ${length} instances: the group has at most ${most}`);
    const target = [...this.machines.values()].filter((each) => each.hash === template && !each.leaving && !each.going);
    for (let missing = replicas - target.length; missing > 0; missing--) {
      // No machine of a group boots without admission.
      Object.assign(this.make(template), { held: true, marked: false });
    }
    for (const machine of target.filter(isPending).slice(0, target.length - replicas)) this.machines.delete(machine.id);
  }

  /** Returns the member; one that Ostler drains is held, and has phase Leaving unless its template is desired again. */
  override memberOf(machine: SimMachine): Member {
    const member = super.memberOf(machine);
    if (!machine.going || machine.leaving) return member;
    return { ...member, held: true, phase: machine.hash === this.template ? member.phase : "Leaving" };
  }

  #instances(): SimMachine[] {
    return [...this.machines.values()].filter(({ booted }) => booted);
  }
}

function isPending({ booted, held }: SimMachine): boolean {
  return held && !booted;
}
