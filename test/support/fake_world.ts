/** Kubernetes, Temporal and a clock in memory, around the `ostler` command. */
import type { Cluster } from "../../activities/cluster.ts";
import type { CommandName, Engine, Order, Step } from "../../cli/connect/engine.ts";
import type { Home } from "../../cli/connect/home.ts";
import type { ConnectOptions, World } from "../../cli/connect/world.ts";
import { runProgram } from "../../cli/program.ts";
import type { Terminal } from "../../cli/terminal.ts";
import type { ImageOutcome, PoolRef, Progress, RolloutPlan } from "../../workflows/contracts/mod.ts";
import { FakeKube } from "./fake_kube.ts";
import { FakeTemporal } from "./fake_temporal.ts";
import { machineDeployment, machineSet } from "./machine_objects.ts";
import type { Ended } from "./fake_terminal.ts";

/** The time at which every test begins. */
export const start = Date.parse("2026-11-21T14:00:00Z");

export class FakeWorld {
  readonly temporal = new FakeTemporal();
  readonly sent: Order[] = [];
  /** The pools whose runs were queried. */
  readonly asked: PoolRef[] = [];
  time = start;
  /** Returns the answer of a rollout to a command; may throw the refusal. */
  answer: (order: Order) => string = ({ name }) => `${name} it is`;
  progress: Progress | undefined;
  /** The plan that a worker returns; `planned` has the pools for which a plan was requested. */
  plan: RolloutPlan | undefined;
  planned: PoolRef[] = [];
  steps: Step[] = [];
  /** The installation of Ostler that serves the cluster; the UID of the cluster cannot be read. */
  home: Home = {
    ...{ owner: "Unknown", taskQueue: "ostler" },
    schedule: 'Schedule "renew-credentials" in Temporal\'s namespace "default"',
  };
  /** The result that a worker returns for an image; `judged` has the images for which a result was requested. */
  verdict: ImageOutcome | undefined;
  judged: string[] = [];
  /** Runs at each pause of the command, for which no real time passes. */
  onSleep: () => void = () => {};
  /** Error with which each connection to Temporal fails. */
  unreachable: Error | undefined;
  closed = 0;
  /** The management cluster, which has the profiles and configs; undefined if the cluster of `kube` has them. */
  management: { kube: FakeKube; namespace: string } | undefined;

  constructor(readonly kube = new FakeKube()) {
    for (const plural of ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"]) {
      this.kube.put(plural, { metadata: { name: "hold-new-machines.ostler.dev" } });
    }
  }

  /** Runs `ostler` in this world. */
  async run(args: string[], given: Partial<Terminal> = {}): Promise<Ended> {
    const said = { out: "", err: "" };
    const terminal: Terminal = {
      out: (text) => void (said.out += text),
      err: (text) => void (said.err += text),
      ...{ isWatched: false, isErrWatched: false, readStdin: () => Promise.resolve(""), directory: "/", env: {} },
      ...given,
    };
    const code = await runProgram(terminal, args, (_, options) => this.#world(options));
    return { code, ...said };
  }

  #clients(): Cluster {
    const { kube: { client }, management } = this;
    return management ? { ...client, management: { ...management, kube: management.kube.client } } : client;
  }

  #world({ as, temporalNamespace = "default", cluster = "" }: ConnectOptions): World {
    const engine: Engine = {
      home: () => Promise.resolve(this.home),
      send: (order: Order) => {
        this.sent.push(order);
        const message = this.answer(order);
        return Promise.resolve({ phase: "Rolling" as const, message });
      },
      progress: (pool: PoolRef) => {
        this.asked.push(pool);
        return Promise.resolve(this.progress);
      },
      plan: (pool: PoolRef) => {
        this.planned.push(pool);
        return this.plan ? Promise.resolve(this.plan) : Promise.reject(new Error("no plan"));
      },
      admitImage: ({ name }: { name: string }) => {
        this.judged.push(name);
        return this.verdict ? Promise.resolve(this.verdict) : Promise.reject(new Error("no verdict"));
      },
      steps: (_: unknown, limit: number) => Promise.resolve(this.steps.slice(-limit)),
    };
    const whoAmI = (): Promise<string> => Promise.resolve("ada");
    return {
      cluster: () =>
        Promise.resolve({
          ...(cluster === "" ? {} : { name: cluster }),
          ...{ kube: this.#clients(), server: "https://kube.test", namespace: "fleet", whoAmI },
        }),
      engine: () => this.unreachable ? Promise.reject(this.unreachable) : Promise.resolve(engine),
      server: () =>
        this.unreachable ? Promise.reject(this.unreachable) : Promise.resolve({
          ...{ address: "temporal.test:7233", namespace: temporalNamespace, cluster, service: this.temporal.service },
          within: (_: number, work) => work(),
          asksNobody: () => Promise.resolve(this.temporal.asksNobody),
        }),
      whoAsks: async () => as ?? await whoAmI(),
      now: () => this.time,
      sleep: (ms) => {
        this.time += ms;
        this.onSleep();
        return Promise.resolve();
      },
      close: () => Promise.resolve(void (this.closed += 1)),
    };
  }

  /** Stores a MachineDeployment, and its Rollout with this status unless `status` is undefined. */
  putPool(status: object | undefined, { name = "pool", labels = {}, generation = 1 } = {}): void {
    const place = { namespace: "fleet", name };
    this.kube.put(
      "machinedeployments",
      machineDeployment({ metadata: { ...place, uid: `uid-of-${name}`, generation, labels } }),
    );
    if (status !== undefined) this.putRollout(status, name);
  }

  /** Changes the status of the Rollout. */
  putRollout(status: object, name = "pool"): void {
    const metadata = { namespace: "fleet", name, creationTimestamp: new Date(start - 3_600_000).toISOString() };
    this.kube.put("rollouts", { metadata, status });
  }

  /** Stores the MachineSet of the old image and that of the new image of a rollout. */
  putSets(): void {
    this.kube.put("machinesets", machineSet("1", "hash-1"));
    this.kube.put("machinesets", machineSet("2", "hash-2"));
  }
}

/** The names of the commands that were sent, with their pools. */
export function namesOf(orders: readonly Order[]): [CommandName, string][] {
  return orders.map(({ name, pool }) => [name, pool.name]);
}

/** The status of a pool that rolls: wave 2 of 3, one machine joining, one that does not drain. */
export function rollingStatus(overrides: object = {}): object {
  const minutes = (count: number): string => new Date(start + count * 60_000).toISOString();
  const blockers = [{
    pod: "apps/web-1",
    owner: "Deployment apps/web",
    why: "PodDisruptionBudget apps/web allows 0 disruptions",
  }];
  return {
    ...{ phase: "Rolling", reason: "Rolling", message: "Wave 2 of 3 is under way", observedGeneration: 1 },
    ...{ replicas: 10, updatedReplicas: 3, readyReplicas: 10, updated: "3/10", failedMachines: 0 },
    ...{ revision: "2", image: "img:2", kubelet: "1.36.1", targetTemplateHash: "hash-2", policy: "careful" },
    ...{
      wave: "2/3",
      workflowId: "machine-deployment/fleet/pool",
      eta: minutes(30),
      paused: false,
      blockedReason: null,
    },
    waves: [{ upTo: 1, state: "Done" }, { upTo: 5, state: "Rolling" }, { upTo: 10, state: "Waiting" }],
    underway: [
      { machine: "new-1", step: "Joining", since: minutes(-2), until: minutes(8), attempt: 1 },
      { machine: "old-1", node: "w-1", step: "Draining", since: minutes(-4), until: minutes(56), blockers },
    ],
    quarantine: [],
    conditions: [condition("Ready", "False"), condition("Progressing", "True", minutes(-10))],
    ...overrides,
  };
}

/** The status of a converged pool. */
export function readyStatus(overrides: object = {}): object {
  return {
    ...{ phase: "Converged", message: "All 10 machines run revision 2", observedGeneration: 1, updated: "10/10" },
    ...{
      replicas: 10,
      updatedReplicas: 10,
      readyReplicas: 10,
      revision: "2",
      image: "img:2",
      targetTemplateHash: "hash-2",
    },
    conditions: [condition("Ready", "True"), condition("Progressing", "False")],
    ...overrides,
  };
}

/** A condition of a Rollout. */
export function condition(type: string, status: string, lastTransitionTime = new Date(start).toISOString()): object {
  return { type, status, reason: type, message: "", lastTransitionTime };
}
