/** The visible facts of a machine that does not join: boot report, verdict of its rollout, and `ostler explain`. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ContainerHost } from "../../../deploy/local/machines/container_host.ts";
import type { MachineContainer } from "../../../deploy/local/machines/machine_container.ts";
import { NotYet } from "../../../deploy/local/process/wait_until.ts";
import { secretsNamespace } from "../../../profiles/mod.ts";
import type { World } from "../../integration/world.ts";
import { eventually } from "../../support/eventually.ts";
import { verdictSeconds } from "./faulty_pools.ts";

/** The boot report that a machine writes into a ConfigMap, as one line of JSON. */
export interface BootReport {
  phase: string;
  step: string;
  state: string;
  message: string;
}

/** The pool that has the machine. */
export interface Whose {
  world: World;
  host: ContainerHost;
  pool: string;
  before?: string;
}

const command = fileURLToPath(new URL("../../../cli/kubectl-ostler", import.meta.url));
const patienceSeconds = 240;

/** The only machine of a pool, and its visible state. */
export class FaultView {
  private constructor(
    readonly world: World,
    readonly pool: string,
    readonly name: string,
    readonly machine: MachineContainer,
  ) {}

  /** Waits until the pool's newest machine, other than `before`, is switched on. */
  static async of({ world, host, pool, before }: Whose): Promise<FaultView> {
    return await world.until(`a machine of pool "${pool}"`, async () => {
      const all = world.site.cloud.machines().map(({ name }) => name);
      const name = all.findLast((each) => each.startsWith(`${pool}-`) && each !== before);
      const machine = name && await host.machine(name).catch(() => undefined);
      return machine ? new FaultView(world, pool, name, machine) : undefined;
    }, patienceSeconds);
  }

  /** Returns the boot report of the machine; undefined when it has none. */
  async report(): Promise<BootReport | undefined> {
    const path = `/api/v1/namespaces/${secretsNamespace}/configmaps/ostler-boot-${this.pool}-kube-system`;
    const line = (await this.world.get<{ data?: Record<string, string> }>(path))?.data?.[this.name];
    return line === undefined ? undefined : JSON.parse(line) as BootReport;
  }

  /** Waits for a report with this text. */
  async untilReport(said: RegExp): Promise<BootReport> {
    return await this.world.until(`a report of "${this.name}" with ${said}`, async () => {
      const report = await this.report();
      if (report !== undefined && said.test(report.message)) return report;
      throw new NotYet(report);
    }, patienceSeconds);
  }

  /**
   * Waits until the rollout has given the machine up because it did not pass this join stage; returns the message of
   * the Event.
   */
  async verdict(rung: string): Promise<string> {
    const { message } = await this.world.until(`the verdict on "${this.pool}"`, async () => {
      const status = await this.world.status(this.pool);
      if (status?.phase === "Halted") return status;
      throw new NotYet(status);
    }, verdictSeconds);
    assert.ok(message.includes(this.name), message);
    const start = `Machine "${this.name}" did not pass join stage "${rung}": `;
    // A run writes the status of the Rollout first, and then the Events of the same report.
    return withoutSecrets(
      await this.world.until(`the event "${start}"`, async () => {
        const told = await this.#expiries();
        const found = told.findLast((message) => message.startsWith(start));
        if (found !== undefined) return found;
        throw new NotYet(told);
      }, 30),
    );
  }

  // Returns the messages of the Events about missed deadlines, the oldest first.
  async #expiries(): Promise<string[]> {
    const selector = `involvedObject.name=${this.pool},reason=JoinDeadlineExceeded`;
    const path = `/api/v1/namespaces/kube-system/events?fieldSelector=${selector}`;
    const events = await this.world.list<{ message: string; metadata: { creationTimestamp: string } }>(path);
    const at = (event: typeof events[number]): number => Date.parse(event.metadata.creationTimestamp);
    return events.sort((left, right) => at(left) - at(right)).map(({ message }) => message);
  }

  /** Runs `ostler retry`, and waits until the rollout is not halted any more. */
  async isTriedAgain(): Promise<void> {
    await ostler(this.world, "retry", this.pool);
    const isUnderWay = async (): Promise<boolean> => (await this.world.status(this.pool))?.phase !== "Halted";
    await this.world.until(`"${this.pool}" to be retried`, isUnderWay);
  }

  /** The output of `ostler explain` for the machine. */
  async explained(): Promise<string> {
    return await ostler(this.world, "explain", this.name);
  }

  /**
   * Waits until `ostler explain` prints a matching text. One call is not enough, because the machine retries, and not
   * all of its attempts fail for the same reason.
   */
  async untilExplained(said: RegExp): Promise<void> {
    // Pauses of a second between two reads, because each call of the command starts a process.
    const waits = { withinMs: patienceSeconds * 1000, pausesMs: [1_000, 1_000] } as const;
    await eventually(`an explanation with ${said}`, async () => {
      const text = await this.explained();
      if (!said.test(text)) throw new NotYet(text);
      return true;
    }, waits);
  }

  /** Returns when each attempt of a phase began, in seconds of the machine's clock. */
  async tries(phase: "bootstrap" | "setup"): Promise<number[]> {
    const { stdout } = await this.machine.run(["journalctl", "--output=short-unix", `--unit=${phase}`]);
    return stdout.split("\n").filter((line) => / try \d+ of 30$/.test(line)).map((line) => parseFloat(line));
  }

  /** Waits until the machine is a Ready node that has nothing left to report. */
  async joins(): Promise<void> {
    const isReady = (): boolean => this.world.site.cloud.machines().some((each) => this.#is(each, "ready"));
    await this.world.until(`"${this.name}" to join`, () => Promise.resolve(isReady()), patienceSeconds);
    await this.world.untilPhase(this.pool, "Converged");
    await this.world.until("its report to go", async () => await this.report() === undefined, patienceSeconds);
  }

  #is({ name, phase }: { name: string; phase: string }, wanted: string): boolean {
    return name === this.name && phase === wanted;
  }

  /** Text of the machine's journal, of these units. */
  async journal(...units: string[]): Promise<string> {
    const { stdout } = await this.machine.run(["journalctl", "--output=cat", ...units.map((unit) => `--unit=${unit}`)]);
    return withoutSecrets(stdout);
  }
}

// Runs the command on an object of a world's site; returns its output.
async function ostler(world: World, verb: string, name: string): Promise<string> {
  const { adminKubeconfig, temporal } = world.site.stack;
  const connections = { KUBECONFIG: adminKubeconfig, TEMPORAL_ADDRESS: temporal.address };
  const env = { ...process.env, DENO: process.execPath, ...connections };
  const { stdout } = await promisify(execFile)(command, [verb, "--namespace", "kube-system", name], { env });
  return withoutSecrets(stdout);
}

function withoutSecrets(text: string): string {
  // Not assert.doesNotMatch(), because its error would print the text with the secret.
  assert.ok(!/eyJ|Bearer |\b[a-z0-9]{6}\.[a-z0-9]{16}\b|PRIVATE KEY/.test(text), "A secret is visible");
  return text;
}
