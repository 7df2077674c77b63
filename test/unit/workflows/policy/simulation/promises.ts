/** The promises of a rollout, checked from outside at every step; an error names the broken promise. */
import type { Member } from "../../../../../workflows/contracts/mod.ts";
import { machinesOf, type Situation, type Step } from "../../../../../workflows/policy/turn.ts";
import type { SimMachine } from "./fleet.ts";
import type { Run, Watch } from "./run.ts";

type Admit = Step & { kind: "admit" };

export class Promises implements Watch {
  /** Number of Ready machines when the pool was last complete. */
  #complete = 0;
  /** Machines lost since the pool was last complete: unhealthy ones that are gone, and ones removed but not chosen. */
  #lost = 0;
  /** Number of machines removed without being chosen, at the previous check. */
  #unchosen = 0;
  /** Whether the surge was 0 at any time since the pool was last complete. */
  #isBare = false;
  #ill = new Set<string>();
  #wave = 0;
  #lastAdmitted = -Infinity;
  #admittedNow = false;
  /** Maximum number of machines that were changing at once. */
  mostChanging = 0;

  /** `waves` has the expected `upTo` and `soak` of each wave; undefined checks no waves. */
  constructor(readonly run: Run, readonly waves: { upTo: number; soak: number }[] | undefined) {}

  begins(step: Step, situation: Situation): void {
    if (step.kind === "admit" && this.#machine(step.newcomer)?.held) this.#judgeAdmission(step, situation);
    if (step.kind === "leave" && step.machine.node !== undefined) this.#judgeDrain(step.machine, situation);
    if (step.kind === "repair") this.#keep(step.machine.ill !== undefined, "only unhealthy machines are repaired");
  }

  after(): void {
    const { fleet, wave, booting } = this.run;
    const all = [...fleet.machines.values()];
    const serving = all.filter((each) => isServing(each) && !(each.id in booting)).length;
    for (const id of this.#ill) if (!fleet.machines.has(id) && this.#ill.delete(id)) this.#lost += 1;
    for (const { id, ill, leaving } of all) {
      if (ill !== undefined) this.#ill.add(id);
      // An unhealthy machine that recovers while it is leaving still counts as unhealthy, and once gone as lost.
      else if (!leaving) this.#ill.delete(id);
    }
    this.#lost += fleet.unchosen + fleet.loose - this.#unchosen;
    this.#unchosen = fleet.unchosen + fleet.loose;
    this.#complete = Math.min(this.#complete, fleet.replicas);
    this.#isBare ||= fleet.surge === 0;
    const least = this.#complete - this.#lost - this.#ill.size - (this.#isBare ? this.#budget() : 0);
    this.#keep(serving >= least, `${serving} serve, at least ${least} should`);
    if (serving >= fleet.replicas) [this.#complete, this.#lost, this.#isBare] = [fleet.replicas, 0, false];
    if (wave.index > this.#wave) this.#judgeWave();
    this.#wave = wave.index;
    if (this.#admittedNow) this.#lastAdmitted = fleet.clock.now;
    this.#admittedNow = false;
  }

  #judgeAdmission({ newcomer, victim }: Admit, { now, rules, wave }: Situation): void {
    const { run } = this;
    const { fleet, options } = run;
    this.#keep(!run.paused, "nothing is admitted while paused");
    this.#keep(!run.quarantined || run.rollingBack, "nothing is admitted while quarantined");
    const all = [...fleet.machines.values()];
    const comes = (each: SimMachine): boolean => each.booted || !each.held || run.joining.has(each.id);
    const most = fleet.replicas + fleet.surge + run.setAside.length;
    this.#keep(all.filter(comes).length < most, `there are at most ${most} instances`);
    this.#keep(!run.joining.has(newcomer.id), "a new machine is admitted once");
    if (!victim) {
      const staying = all.filter((each) => comes(each) && !each.leaving && !each.going).length;
      return this.#keep(staying < fleet.replicas, "only missing machines are added without a replacement");
    }
    this.#judgeVictim(victim);
    this.#admittedNow = true;
    if (run.rollingBack) return;
    const window = rules.windows === null ||
      rules.windows.some(({ from, to }) => from <= now && now + Math.min(options.usual ?? 0, 0.95 * (to - from)) <= to);
    this.#keep(window, "nothing begins outside the windows, or too late in one");
    this.#keep(rules.approval !== "BeforeFirst" || run.approved, "nothing begins without approval");
    this.#keep(rules.approval !== "BeforeEachWave" || wave.approved || run.wave.approved, "each wave is approved");
    this.#keep((run.wave.soakUntil ?? 0) <= now, "nothing begins in a soak");
    const target = this.waves?.[run.wave.index]?.upTo ?? Infinity;
    const started = all.filter((each) => each.hash === fleet.template && comes(each) && !each.leaving).length;
    this.#keep(started < target, `wave ${run.wave.index + 1} goes up to ${target}`);
  }

  #judgeVictim(victim: Member): void {
    const { run } = this;
    const { perZone, zones } = run.options.rules.budget;
    this.#keep(!run.skipped.includes(victim.id), "a skipped machine stays");
    this.#keep(!run.setAside.includes(victim.id), "a machine that was set aside is left alone");
    const chosen = this.#chosen().filter(({ id }) => id !== victim.id);
    const all = [...run.fleet.machines.values()];
    const repairing = all.filter(({ id, leaving }) => run.repairing.has(id) && !leaving).length;
    const above = all.filter((each) => each.booted || !each.held || run.joining.has(each.id)).length + 1 -
      run.fleet.replicas;
    const isOut = ({ leaving, going }: SimMachine): boolean => leaving || going;
    const ill =
      all.filter((each) => each.ill !== undefined && !isOut(each) && !chosen.includes(each) && each.id !== victim.id)
        .length;
    const changing = above + (victim.ill ? 0 : ill + repairing);
    this.mostChanging = Math.max(this.mostChanging, changing);
    this.#keep(changing <= this.#budget(), `${changing} out or changing, ${this.#budget()} may be`);
    if (victim.ill || victim.marked) return;
    const inZone = chosen.filter(({ zone }) => zone === victim.zone).length + 1;
    const most = perZone === null ? Infinity : machinesOf(perZone, run.fleet.replicas);
    this.#keep(inZone <= most, `${inZone} out in zone ${victim.zone}`);
    const elsewhere = chosen.some(({ id, zone, ill }) =>
      zone !== victim.zone && ill === undefined && !run.setAside.includes(id)
    );
    this.#keep(zones === "Parallel" || !elsewhere, "zones go one after another");
  }

  #judgeDrain({ id, templateHash }: Member, { pool }: Situation): void {
    const { run } = this;
    const { fleet } = run;
    this.#keep(!run.setAside.includes(id), "a machine that was set aside is left alone");
    const isOld = templateHash !== fleet.template;
    const machine = fleet.machines.get(id);
    const isOut = machine?.going === true || machine?.ill !== undefined;
    this.#keep(!isOld || !run.quarantined || run.rollingBack, "no old machine leaves while quarantined");
    if (fleet.surge > 0) return this.#judgeOthers(id, pool);
    const serving = [...fleet.machines.values()].filter((each) => isServing(each) && !run.setAside.includes(each.id));
    this.#keep(
      fleet.replicas - serving.length - (isOut ? 1 : 0) < this.#budget() || !isOld,
      "the budget holds without surge too",
    );
    this.#keep(!isOld || !run.paused, "without surge no old machine leaves while paused");
  }

  /**
   * Checks that enough machines are proven (Ready, with a completed join) without machine `id`, whose drain begins. If
   * the owner removes no machine by itself, as in a scaling group, `old` still lists that machine.
   */
  #judgeOthers(id: string, { counts, old }: Situation["pool"]): void {
    const { fleet, booting } = this.run;
    const listed = old.find((each) => each.id === id);
    if (!listed?.ill) {
      const others = counts.ready - (listed?.phase === "Ready" ? 1 : 0);
      return this.#keep(others >= fleet.replicas, "enough others are proven");
    }
    const proven = [...fleet.machines.values()].filter((each) => each.ready && !each.going && !(each.id in booting));
    this.#keep(proven.length > fleet.replicas, "another machine replaces an unhealthy one");
  }

  #judgeWave(): void {
    const { fleet, booting, rollingBack, wave } = this.run;
    if (!this.waves || rollingBack) return;
    for (const { upTo, soak } of this.waves.slice(this.#wave, wave.index)) {
      const all = [...fleet.machines.values()];
      const proven = all.filter((each) => each.hash === fleet.template && isServing(each) && !(each.id in booting));
      const old = all.filter((each) => each.hash !== fleet.template && !each.leaving);
      const isReached = proven.length >= upTo || old.every(({ id }) => this.run.skipped.includes(id));
      this.#keep(isReached, `a wave ends with ${upTo} updated machines, not ${proven.length}`);
      this.#keep(fleet.clock.now - this.#lastAdmitted >= soak, "a wave ends with its soak");
    }
  }

  #chosen(): SimMachine[] {
    const victims = new Set(this.run.victims.values());
    return [...this.run.fleet.machines.values()].filter(({ id, booted, marked, held, hash }) =>
      (booted && marked && held && hash !== this.run.fleet.template) || victims.has(id)
    );
  }

  #budget(): number {
    return machinesOf(this.run.options.rules.budget.machines, this.run.fleet.replicas);
  }

  #machine({ id }: Member): SimMachine | undefined {
    return this.run.fleet.machines.get(id);
  }

  #keep(isKept: boolean, promise: string): void {
    if (!isKept) throw new Error(`Broken promise at ${this.run.fleet.clock.now}: ${promise}`);
  }
}

/** Returns whether the machine serves pods; a leaving machine serves while it is held. */
function isServing({ ready, ill, leaving, held, going }: SimMachine): boolean {
  return ready && ill === undefined && !going && (!leaving || held);
}
