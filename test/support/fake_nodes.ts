/** Nodes in memory that stage and boot images, an API server that has them, and the real activities over both. */
import { type Lock, lockAnnotation, lockOf } from "../../activities/backends/node_pool/lock.ts";
import { createActivities } from "../../activities/mod.ts";
import type { NodePool } from "../../activities/kube/node_pools.ts";
import type {
  OsFinding,
  OsOrder,
  OsOutcome,
  OsStatus,
  Progress,
  RollOutResult,
} from "../../workflows/contracts/mod.ts";
import { poolOfNodePool, workflowIdOf } from "../../workflows/commands/start_options.ts";
import { FakeKube } from "./fake_kube.ts";
import { type Handle, type Stage, testDeadlines } from "./workflow_stage.ts";

/** Returns the reference of an image that tests name by a letter: "repository@sha256:…". */
export function imageOf(letter: string): string {
  return `registry.example/os/worker@${digestOf(letter)}`;
}

export function digestOf(letter: string): string {
  return `sha256:${letter.repeat(64).slice(0, 64)}`;
}

/** The reaction of a node to a boot order. */
export type Fate = "boots" | "rolls back" | "never comes back" | "comes back without kubelet" | "stays up";

export interface FakeNode extends Omit<OsStatus, "bootId"> {
  name: string;
  boots: number;
  isDown: boolean;
}

export interface FakeNodesOptions {
  nodes?: number;
  /** The spec of the pool's RolloutPolicy. */
  policy?: Record<string, unknown>;
  /** The reaction of the node with that name when it boots that image. */
  fate?: (node: string, digest: string) => Fate;
  labels?: (nth: number) => Record<string, string>;
  /** Milliseconds from the boot order until the node is back. */
  bootMs?: number;
}

let pools = 0;

export class FakeNodes {
  readonly kube = new FakeKube();
  readonly name = `edge${++pools}`;
  readonly pool = poolOfNodePool("fleet", this.name);
  readonly nodes = new Map<string, FakeNode>();
  /** Every order as "verb node", in order. */
  readonly orders: string[] = [];
  /** Maximum number of nodes that were down, or cordoned, at once. */
  mostOut = 0;
  fate: (node: string, digest: string) => Fate;
  /** Returns the outcome of an order, such as a refusal; undefined lets the node execute the order. */
  meet: (order: OsOrder) => OsOutcome | undefined = () => undefined;
  findings: OsFinding[] = [];
  bootMs: number;

  constructor({ nodes = 3, policy, fate = () => "boots", labels = () => ({}), bootMs = 50 }: FakeNodesOptions = {}) {
    this.fate = fate;
    this.bootMs = bootMs;
    for (let nth = 1; nth <= nodes; nth++) this.addNode(`${this.name}-${nth}`, labels(nth));
    this.kube.onChange = () => this.#count();
    this.ask("a");
    if (policy) {
      this.kube.put("rolloutpolicies", {
        metadata: { namespace: "fleet", name: "p" },
        spec: { selector: {}, ...policy },
      });
    }
  }

  addNode(name: string, labels: Record<string, string> = {}, uid = `uid-of-${name}`): void {
    this.nodes.set(name, { name, boots: 1, isDown: false, booted: digestOf("a"), staged: "", fallback: "" });
    this.kube.put("nodes", {
      metadata: {
        name,
        uid,
        labels: { pool: this.name, ...labels },
        creationTimestamp: "2026-01-01T00:00:00Z",
      },
      spec: {},
      ...this.#statusOf(name),
    });
  }

  /** Changes the image of the NodePool to the one of this letter. */
  ask(letter: string): void {
    const metadata = this.kube.get("nodepools", this.name, "fleet")?.metadata;
    const generation = (metadata?.["generation"] as number | undefined ?? 0) + 1;
    const spec = {
      ...{ nodeSelector: { matchLabels: { pool: this.name } }, driver: "bootc" as const },
      image: { reference: imageOf(letter) },
    } satisfies NodePool["spec"];
    this.kube.put("nodepools", { metadata: { ...metadata, namespace: "fleet", name: this.name, generation }, spec });
  }

  /** Sets the image of the NodePool to that of the OSImage with this name. */
  askForOSImage(name: string): void {
    this.ask("a");
    const found = this.kube.get("nodepools", this.name, "fleet");
    const spec = { ...found?.["spec"] as object, image: { osImage: name } };
    this.kube.put("nodepools", { metadata: { ...found?.metadata, name: this.name }, spec });
  }

  /** Writes the result of an OSImage's validation: accepted with the digest of a letter, or refused. */
  judge(name: string, verdict: { letter: string } | { reason: string }): void {
    const accepted = "letter" in verdict;
    const condition = {
      type: "Accepted",
      status: accepted ? "True" : "False",
      observedGeneration: 1,
      reason: accepted ? "Accepted" : verdict.reason,
      message: accepted ? "" : "no signature by one of its keys",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const found = accepted ? { repository: "registry.example/os/worker", digest: digestOf(verdict.letter) } : {};
    this.kube.put("osimages", {
      metadata: { name, generation: 1 },
      spec: { reference: "registry.example/os/worker:stable", keys: ["pem"] },
      status: { conditions: [condition], ...found },
    });
  }

  /** Changes the pool to the driver FleetLock, with which nodes update themselves. */
  letUpdateThemselves(): void {
    const metadata = { namespace: "fleet", name: this.name, generation: 1 };
    const nodeSelector = { matchLabels: { pool: this.name } };
    this.kube.put("nodepools", {
      metadata,
      spec: { nodeSelector, driver: "FleetLock", fleetLock: { group: "default" } } satisfies NodePool["spec"],
    });
  }

  /** The lock annotation of a node; undefined if there is none. */
  lockOf(name: string): Lock | undefined {
    return lockOf(this.kube.get("nodes", name)?.metadata["annotations"] as Record<string, string> | undefined);
  }

  /**
   * Sets or removes the lock annotation of a node, as the controller does when a node asks for a lock or releases it.
   */
  setLock(name: string, lock: Lock | undefined): void {
    const stored = this.kube.get("nodes", name);
    if (!stored) return;
    const { [lockAnnotation]: _, ...others } = (stored.metadata["annotations"] ?? {}) as Record<string, string>;
    const annotations = { ...others, ...(lock ? { [lockAnnotation]: JSON.stringify(lock) } : {}) };
    this.kube.put("nodes", { ...stored, metadata: { ...stored.metadata, annotations } });
  }

  /** Makes the worker of the test's Temporal server (`stage`) execute this pool's activities with the real code. */
  serve(stage: Stage): void {
    stage.activities.others.set(
      this.pool.name,
      createActivities(
        {
          ...{ kube: this.kube.client, profileNamespace: "kube-system" },
          giveOrder: (order: OsOrder) => this.giveOrder(order),
          forecast: () => ({}) as never,
        } as unknown as Parameters<typeof createActivities>[0],
      ),
    );
  }

  get workflowId(): string {
    return workflowIdOf(this.pool);
  }

  /** Starts a rollout as the controller does. */
  async rollOut(stage: Stage, input: object = {}): Promise<Handle> {
    this.serve(stage);
    return await stage.client.workflow.signalWithStart("rollOutNodePool", {
      ...{
        workflowId: this.workflowId,
        taskQueue: "ostler",
        signal: "desiredChanged",
        signalArgs: [{ generation: 1 }],
      },
      args: [{ ...this.pool, deadlines: testDeadlines, ...input }],
    }) as Handle;
  }

  /** Rolls the pool out to the current image, and then resets `orders` and `mostOut`. */
  async settle(stage: Stage): Promise<RollOutResult> {
    const result = await (await this.rollOut(stage)).result();
    this.orders.length = 0;
    this.mostOut = 0;
    return result;
  }

  async progress(stage: Stage): Promise<Progress> {
    return await stage.client.workflow.getHandle(this.workflowId).query<Progress>("progress");
  }

  /** Returns the status of the Rollout; this read adds no work for the run, unlike a query. */
  told(): { phase?: string; reason?: string } | undefined {
    return this.kube.get("rollouts", this.pool.name, this.pool.namespace)?.["status"] as object | undefined;
  }

  /** Returns the nodes that got an order with this verb, in order. */
  given(verb: OsOrder["verb"]): string[] {
    return this.orders.filter((order) => order.startsWith(`${verb} `)).map((order) => order.slice(verb.length + 1));
  }

  down(): string[] {
    return [...this.nodes.values()].filter(({ isDown }) => isDown).map(({ name }) => name);
  }

  /** Returns the image of each node, as letters in the order of names. */
  booted(): string {
    return [...this.nodes.values()].map(({ booted }) => booted.slice(7, 8)).join("");
  }

  cordoned(): string[] {
    return this.kube.all("nodes").filter(({ spec }) => (spec as { unschedulable?: boolean })?.unschedulable)
      .map(({ metadata }) => metadata.name);
  }

  async giveOrder(order: OsOrder): Promise<OsOutcome> {
    const node = this.nodes.get(order.node);
    if (!node) return { outcome: "Unknown", message: "there is no such node" };
    this.orders.push(`${order.verb} ${order.node}`);
    await Promise.resolve();
    if (node.isDown) return { outcome: "Unknown", message: "its kubelet does not answer" };
    const met = this.meet(order);
    if (met) return met;
    const bootId = bootIdOf(node);
    if (order.verb === "Stage") node.staged = order.digest;
    if ((order.verb === "Apply" || order.verb === "GoBack") && order.bootId === bootId) this.#boot(node, order);
    const { booted, staged, fallback } = node;
    return { outcome: "Done", status: { bootId, booted, staged, fallback }, findings: this.findings };
  }

  #boot(node: FakeNode, { verb }: OsOrder): void {
    const next = verb === "GoBack" ? node.fallback : node.staged;
    const fate = this.fate(node.name, next);
    if (fate === "stays up") return;
    node.isDown = true;
    this.#report(node.name);
    if (fate === "never comes back") return;
    setTimeout(
      () => this.comeUp(node.name, fate === "rolls back" ? node.booted : next, fate !== "comes back without kubelet"),
      this.bootMs,
    );
  }

  /** Marks a node as back after a boot, with the given image. */
  comeUp(name: string, digest: string, isReady = true): void {
    const node = this.nodes.get(name);
    if (!node) return;
    const fallback = digest === node.booted ? node.fallback : node.booted;
    Object.assign(node, { booted: digest, fallback, staged: "", isDown: !isReady, boots: node.boots + 1 });
    this.#report(name);
  }

  #report(name: string): void {
    const stored = this.kube.get("nodes", name);
    if (stored) this.kube.put("nodes", { ...stored, ...this.#statusOf(name) });
    this.#count();
  }

  #statusOf(name: string): { status: object } {
    const node = this.nodes.get(name) as FakeNode;
    const ready = {
      type: "Ready",
      status: node.isDown ? "Unknown" : "True",
      reason: node.isDown ? "NodeStatusUnknown" : "KubeletReady",
    };
    const lastTransitionTime = new Date().toISOString();
    return {
      status: {
        conditions: [{ ...ready, lastTransitionTime }],
        nodeInfo: { bootID: bootIdOf(node), kubeletVersion: "v1.36.1" },
      },
    };
  }

  #count(): void {
    const out = new Set([...this.down(), ...this.cordoned()]);
    this.mostOut = Math.max(this.mostOut, out.size);
  }
}

function bootIdOf({ name, boots }: FakeNode): string {
  return `boot-${boots}-of-${name}`;
}
