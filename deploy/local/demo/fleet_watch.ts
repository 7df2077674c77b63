import type { Client } from "@temporalio/client";
import { setTimeout as pause } from "node:timers/promises";
import type { Progress } from "../../../workflows/contracts/mod.ts";
import type { Cloud } from "../cloud/cloud.ts";
import { NotYet, waitFor } from "../process/wait_until.ts";
import type { ApiConnection } from "../stack/api_connection.ts";
import { MachineBoard } from "./machine_board.ts";
import type { Narrator } from "./narrator.ts";
import { workflowId } from "./runs.ts";
import type { Waits } from "./waits.ts";
import type { MachineFacts, NodeFacts, Sighting } from "./machine_phase.ts";
import { pool } from "./pool_objects.ts";

/** Connections and services that the watch of the machines uses. */
interface Surroundings {
  readonly api: ApiConnection;
  readonly cloud: Cloud;
  readonly client: Client;
  readonly narrator: Narrator;
  readonly waits: Waits;
  /** Whether the rollout may stay halted; otherwise a halt that lasts `haltMs` ends the demo. */
  readonly mayHalt?: boolean;
}

const intervalMs = 400;
const answerMs = 2_000;
/** A shorter halt is ignored: it can end by itself, for example if a profile is missing shortly after the start. */
const haltMs = 15_000;
const longestMomentMs = 3_600_000;

/** Reads the machines of the pool and the progress of its rollout a few times a second, and shows every machine. */
export class FleetWatch {
  readonly #surroundings: Surroundings;
  readonly #board = new MachineBoard();
  readonly #stopping = new AbortController();
  #progress: Progress | undefined;
  #haltedSince: number | undefined;
  #watching: Promise<void> = Promise.resolve();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /**
   * The last progress that the rollout reported, which can be old, because queries are not answered while Ostler's
   * worker is down; undefined before the first answer.
   */
  get progress(): Progress | undefined {
    return this.#progress;
  }

  start(): void {
    this.#watching = this.#watch();
  }

  /** Shows a last snapshot, and leaves its lines in the output; a second call changes nothing. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return await this.#watching;
    this.#stopping.abort();
    await this.#watching;
    await this.#show().catch(() => {});
    this.#surroundings.narrator.settle();
  }

  /** Resolves with the first progress for which `isThere` returns true; `what` names that moment in errors. */
  async moment(what: string, isThere: (progress: Progress) => boolean): Promise<Progress> {
    const { signal } = this.#stopping;
    const look = (): Progress => {
      const last = this.#progress;
      if (last !== undefined && isThere(last)) return last;
      throw new NotYet(`the reason of the rollout is "${last?.reason ?? "not known"}"`);
    };
    return await waitFor(look, { what, timeoutMs: longestMomentMs, signal });
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      // A failure is ignored, because the next snapshot replaces the failed one, and every wait has its own deadline.
      await Promise.all([this.#query(), this.#show()]).catch(() => {});
      await pause(intervalMs, undefined, { signal }).catch(() => {});
    }
  }

  async #show(): Promise<void> {
    const { api, cloud, narrator } = this.#surroundings;
    const replacedBy = new Map(this.#progress?.replacements.map((record) => [record.machine, record.replacedBy]));
    narrator.show(this.#board.update(await viewFleet(api, cloud), replacedBy, performance.now()));
  }

  async #query(): Promise<void> {
    const { client } = this.#surroundings;
    const query = (): Promise<Progress> => client.workflow.getHandle(workflowId).query<Progress>("progress");
    const answer = await client.withDeadline(Date.now() + answerMs, query).catch(() => undefined);
    this.#progress = answer ?? this.#progress;
    if (answer !== undefined) this.#checkHalt(answer);
  }

  #checkHalt({ phase, reason, message }: Progress): void {
    if (phase !== "Halted" || this.#surroundings.mayHalt) return void (this.#haltedSince = undefined);
    this.#haltedSince ??= performance.now();
    if (performance.now() - this.#haltedSince < haltMs) return;
    this.#surroundings.waits.end(
      new Error(`Failed to continue: the rollout halted with reason "${reason}": ${message}`),
    );
  }
}

interface ApiMachine {
  metadata: {
    name: string;
    creationTimestamp: string;
    deletionTimestamp?: string;
    annotations?: Record<string, string>;
    finalizers?: string[];
  };
  spec: {
    versions?: { kubelet?: string };
    providerSpec?: {
      value?: { cloudProviderSpec?: { virtualMachine?: { template?: { primaryDisk?: { osImage?: string } } } } };
    };
  };
}

interface ApiNode {
  metadata: { name: string };
  spec?: { unschedulable?: boolean };
  status?: { conditions?: { type: string; status: string }[] };
}

const machinesPath = `/apis/cluster.k8s.io/v1alpha1/namespaces/${pool.namespace}/machines`;

/** Returns a snapshot of every machine, oldest first. */
async function viewFleet(api: ApiConnection, cloud: Cloud): Promise<Sighting[]> {
  const [machines, nodes] = await Promise.all([
    list<ApiMachine>(api, machinesPath),
    list<ApiNode>(api, "/api/v1/nodes"),
  ]);
  const nodeOf = new Map(nodes.map((node) => [node.metadata.name, nodeFacts(node)]));
  const bootOf = new Map(cloud.machines().map(({ name, phase }) => [name, phase]));
  const byAge = machines.sort((a, b) => order(a).localeCompare(order(b)));
  return byAge.map((machine) => {
    const { name } = machine.metadata;
    return { machine: machineFacts(machine), node: nodeOf.get(name), boot: bootOf.get(name) };
  });
}

async function list<T>(api: ApiConnection, path: string): Promise<T[]> {
  const { items } = await api.call({ method: "GET", path }) as { items: T[] };
  return items;
}

function order({ metadata }: ApiMachine): string {
  return `${metadata.creationTimestamp} ${metadata.name}`;
}

function machineFacts({ metadata, spec }: ApiMachine): MachineFacts {
  const template = spec.providerSpec?.value?.cloudProviderSpec?.virtualMachine?.template;
  return {
    name: metadata.name,
    image: template?.primaryDisk?.osImage ?? "",
    kubelet: (spec.versions?.kubelet ?? "").replace(/^v/, ""),
    isHeld: Boolean(metadata.annotations?.["machine-controller.kubermatic.io/initializers"]),
    isLeaving: metadata.deletionTimestamp !== undefined,
    hasInstance: metadata.finalizers?.includes("machine-delete-finalizer") ?? false,
  };
}

function nodeFacts({ spec, status }: ApiNode): NodeFacts {
  const isReady = status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  return { isReady: isReady ?? false, isCordoned: spec?.unschedulable ?? false };
}
