import { sendBootReport } from "./boot/boot_report.ts";
import { type BootMeans, join, provision, type Provisioned } from "./boot/boot.ts";
import type { NodeAgent } from "./boot/node.ts";
import { type Connection, reasonOf } from "./kube.ts";
import { Link } from "./link.ts";
import type { CloudMachine, MachineContext, MachineKind, MachinePhase, MachineView } from "./machine_kind.ts";
import { Hopeless, type Patience, persist, rest } from "./patience.ts";
import { PodRunner } from "./pod_runner.ts";
import type { MachineFacts, Range } from "./script.ts";
import type { MachineOrder } from "./virtual_machine.ts";

/** Creates simulated machines, which use the API server and their user-data like real machines. */
export const simulatedMachines: MachineKind = (context, order, ordinal) => new Machine(context, order, ordinal);

/** One simulated machine, from the creation of its VirtualMachine to its removal. */
export class Machine implements CloudMachine {
  readonly order: MachineOrder;
  readonly link = new Link();
  readonly #context: MachineContext;
  readonly #facts: MachineFacts;
  readonly #life = new AbortController();
  readonly #signal: AbortSignal;
  readonly #bootSeconds: number;
  readonly #readySeconds: number;
  #view: MachineView;
  #agent: NodeAgent | undefined;

  constructor(context: MachineContext, order: MachineOrder, ordinal: number) {
    this.order = order;
    this.#context = context;
    this.#facts = { name: order.name, ordinal, image: order.image };
    this.#signal = AbortSignal.any([context.signal, this.#life.signal]);
    // A machine's durations are chosen at its creation, so that the order of later events does not change them. The
    // durations depend on the machine's ordinal, because its name differs between runs with the same seed.
    const random = randomStream(context.seed, `machine/${ordinal}`);
    this.#bootSeconds = between(random, context.script.current.bootSeconds);
    this.#readySeconds = between(random, context.script.current.readySeconds);
    this.#view = {
      name: order.name,
      image: order.image,
      phase: "waiting-for-instance",
      orderedAt: new Date().toISOString(),
    };
  }

  /** Returns the current state of the machine. */
  view(): MachineView {
    return { ...this.#view };
  }

  /** Runs until the machine is killed, removed or stopped; a failed boot is reported in the view and does not throw. */
  async run(): Promise<void> {
    try {
      await this.#live();
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#view.failure = `${this.#view.phase}: ${reasonOf(error)}`;
      this.#log(`failed at ${this.#view.failure}`);
      this.#view.phase = "failed";
    }
  }

  /** Ends all activity immediately; VirtualMachine, instance and Node are not changed. */
  kill(): Promise<void> {
    if (this.#life.signal.aborted) return Promise.resolve();
    this.#enter("dead");
    this.#life.abort();
    return Promise.resolve();
  }

  /** Interrupts or restores the machine's link to the API server. */
  partition(isCut: boolean): Promise<void> {
    this.link.set(!isCut);
    return Promise.resolve();
  }

  /** Makes the kubelet report NotReady if `isIll`, else Ready; does nothing before the machine has a node. */
  async sicken(isIll: boolean): Promise<void> {
    const agent = this.#agent;
    if (agent !== undefined) await persist(this.#patience(), () => agent.setReady(!isIll));
  }

  /** Deletes instance and pods of the machine, but not its Node; called after its VirtualMachine was deleted. */
  async remove(): Promise<void> {
    this.#life.abort();
    this.#enter("deleted");
    const { hypervisor, signal } = this.#context;
    const patience: Patience = { attempts: 50, seconds: 120, signal };
    await persist(patience, () => hypervisor.deleteInstance(this.order));
    const { nodeName } = this.#view;
    if (nodeName === undefined) return;
    const count = await persist(patience, () => hypervisor.deletePods(nodeName));
    if (count > 0) this.#log(`deleted ${count} pods of the deleted machine`);
  }

  async #live(): Promise<void> {
    const address = await this.#powerOn();
    if (address === undefined) return;
    const means = this.#bootMeans();
    const provisioned = await provision(means);
    this.#facts.kubelet = this.#view.kubelet = provisioned.node.kubelet;
    this.#enter("installing");
    if (this.#isStruck("no-join")) return;
    await this.#pass(0.3);
    await this.#setUp(provisioned);
    await this.#serve(means, provisioned, address);
  }

  async #setUp(machine: Provisioned): Promise<void> {
    const { missingPackages } = this.#context.script.current;
    const missing = machine.packages.find((name) => missingPackages.includes(name));
    if (missing === undefined) return;
    const message = `E: Unable to locate package ${missing}`;
    await sendBootReport(machine, { phase: "setup", step: "packages", state: "Failed", message });
    throw new Hopeless(`Failed to set up machine "${this.order.name}": ${message}`);
  }

  async #powerOn(): Promise<string | undefined> {
    const { hypervisor } = this.#context;
    if (this.#isStruck("no-instance")) return undefined;
    await this.#pass(0.1);
    await persist(this.#patience(), () => hypervisor.ensureInstance(this.order));
    this.#enter("waiting-for-address");
    if (this.#isStruck("no-boot")) return undefined;
    await this.#pass(0.2);
    const address = await persist(this.#patience(), () => hypervisor.ensureAddress(this.order));
    this.#enter("booting");
    await this.#pass(0.4);
    this.#view.bootedAt = new Date().toISOString();
    return address;
  }

  async #serve(means: BootMeans, machine: Provisioned, address: string): Promise<void> {
    const { name, image, cpu, memory } = this.order;
    const hardware = { providerId: `kubevirt://${name}`, address, image, cpu, memory, zone: this.#zone() };
    const { agent, connection } = await join(means, machine, hardware);
    this.#agent = agent;
    this.#view.nodeName = machine.hostname;
    this.#enter("not-ready");
    try {
      await this.#runPods(connection, machine.hostname, address);
      await Promise.all([this.#becomeReady(agent), this.#heartbeats(agent)]);
    } finally {
      await connection.close();
    }
  }

  #zone(): string | undefined {
    const { zones } = this.#context.script.current;
    return zones[(this.#facts.ordinal - 1) % zones.length];
  }

  #runPods(connection: Connection, nodeName: string, address: string): Promise<void> {
    const { ordinal } = this.#facts;
    const script = () => this.#context.script.current;
    const log = (line: string): void => this.#log(line);
    return new PodRunner({ connection, nodeName, address, ordinal, link: this.link, script, log, signal: this.#signal })
      .start();
  }

  #heartbeats(agent: NodeAgent): Promise<void> {
    const everySeconds = () => this.#context.script.current.heartbeatSeconds;
    return agent.keepAlive(everySeconds, this.#signal, (line) => this.#log(line));
  }

  async #becomeReady(agent: NodeAgent): Promise<void> {
    if (this.#isStruck("not-ready")) return;
    await rest(this.#readySeconds, this.#signal);
    await this.link.whenUp(this.#signal);
    await persist(this.#patience(), () => agent.setReady(true));
    this.#view.readyAt = new Date().toISOString();
    this.#enter("ready");
    const death = this.#context.script.strike("die", this.#facts);
    if (death === undefined) return;
    await rest(death.afterSeconds ?? 0, this.#signal);
    await this.kill();
  }

  #bootMeans(): BootMeans {
    const { hypervisor } = this.#context;
    return {
      userData: () => hypervisor.readUserData(this.order),
      link: this.link,
      patience: this.#patience(),
      enter: (step) => this.#enter(step),
    };
  }

  #patience(): Patience {
    const { bootAttempts, bootStepSeconds } = this.#context.script.current;
    return { attempts: bootAttempts, seconds: bootStepSeconds, signal: this.#signal };
  }

  #isStruck(kind: "no-instance" | "no-boot" | "no-join" | "not-ready"): boolean {
    const isStruck = this.#context.script.strike(kind, this.#facts) !== undefined;
    if (isStruck) this.#log(`stopped by fault ${kind} of the simulation`);
    return isStruck;
  }

  async #pass(share: number): Promise<void> {
    await rest(this.#bootSeconds * share, this.#signal);
    this.#signal.throwIfAborted();
  }

  // A request that was under way when the machine was deleted may end later, and must not revive the machine.
  #enter(phase: MachinePhase): void {
    if (this.#life.signal.aborted && phase !== "deleted") return;
    this.#view.phase = phase;
    this.#log(phase);
  }

  #log(line: string): void {
    this.#context.log(`machine "${this.order.name}": ${line}`);
  }
}

/** Returns a random number in [0, 1). */
type Random = () => number;

/** Returns the random stream of a seed and a name: equal arguments always result in equal numbers. */
export function randomStream(seed: number, name: string): Random {
  let state = hash(`${seed}/${name}`);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a random number that is at least `min` and less than `max`; rounding can also result in `max`. */
export function between(random: Random, range: Range): number {
  return range.min + random() * (range.max - range.min);
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value;
}
