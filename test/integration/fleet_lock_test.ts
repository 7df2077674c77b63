/** FleetLock on a real API server and a real Temporal: nodes that ask as Zincati does. */
import assert from "node:assert/strict";
import { type Lock, lockOf } from "../../activities/backends/node_pool/lock.ts";
import { clientIdOf } from "../../activities/backends/node_pool/fleet_lock.ts";
import { ImageGround } from "../../deploy/local/cloud/image_nodes/image_ground.ts";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { eventually } from "../support/eventually.ts";
import { inSharedWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const group = "/apis/ostler.dev/v1alpha1/namespaces/kube-system";
/** Time limit (ms) that ends a story that hangs; the times that are promised are measured separately. */
const longestMs = 120_000;

interface Node {
  metadata: { name: string; annotations?: Record<string, string> };
  spec: { unschedulable?: boolean };
}

/** Reads which nodes are cordoned, and which ask for a lock or hold one. */
class Locks implements Disposable {
  /** Maximum number of nodes that were cordoned, or held a lock, in one read. */
  mostOut = 0;
  readonly #world: World;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(world: World) {
    this.#world = world;
    this.#timer = setInterval(() => void this.cordoned().catch(() => undefined), 200); // the next read may succeed
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async cordoned(): Promise<string[]> {
    const nodes = await this.#world.list<Node>("/api/v1/nodes");
    const out = nodes.filter((node) => node.spec.unschedulable || lockOf(node.metadata.annotations)?.held);
    this.mostOut = Math.max(this.mostOut, out.length);
    return nodes.filter(({ spec }) => spec.unschedulable).map(({ metadata }) => metadata.name);
  }

  async of(node: string): Promise<Lock | undefined> {
    return lockOf((await this.#world.get<Node>(`/api/v1/nodes/${node}`))?.metadata.annotations);
  }

  /** Waits until the node has asked for the lock and does not hold it yet. */
  async waits(node: string): Promise<void> {
    await eventually(`"${node}" to wait for its turn`, async () => (await this.of(node))?.held === 0, {
      withinMs: longestMs,
    });
  }
}

type Verb = "pre-reboot" | "steady-state";

/** Simulates Zincati, the FleetLock client of Fedora CoreOS, on every node. */
class Clients {
  readonly #url: string;
  readonly #idOf: (node: string) => string;

  constructor(url: string, idOf: (node: string) => string) {
    this.#url = url;
    this.#idOf = idOf;
  }

  /** Sends one request, which `signal` cancels; returns status 0 if no response came. */
  async ask(node: string, verb: Verb, signal?: AbortSignal): Promise<{ status: number; kind?: string }> {
    const bound = AbortSignal.timeout(longestMs);
    try {
      const response = await fetch(`${this.#url}/v1/${verb}`, {
        method: "POST",
        headers: { "fleet-lock-protocol": "true" },
        body: JSON.stringify({ client_params: { id: this.#idOf(node), group: "default" } }),
        signal: signal ? AbortSignal.any([signal, bound]) : bound,
      });
      const text = await response.text();
      const said = text === "" ? {} : JSON.parse(text) as { kind: string };
      return { status: response.status, ...said };
    } catch {
      return { status: 0 }; // The server is down, or an idle connection was closed: the client has to retry.
    }
  }

  /** Retries until the answer is 200, as the FleetLock protocol requires of a client. */
  async askOn(node: string, verb: Verb): Promise<void> {
    await eventually(`${verb} of "${node}"`, async () => (await this.ask(node, verb)).status === 200, {
      withinMs: longestMs,
    });
  }
}

Deno.test({
  name:
    "FleetLock: nodes get the lock one at a time, each after its drain; the lock of a deleted node is free within a minute",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const [port = 0] = await freePorts(1);
    await using ground = new ImageGround({ nodes: 3, labels: { os: "coreos" }, booted: `sha256:${"a".repeat(64)}` });
    await inSharedWorld({ settings: { OSTLER_FLEET_LOCK_ADDRESS: `127.0.0.1:${port}` } }, async (world) => {
      await ground.settle(world.site.stack.adminKubeconfig);
      await world.create(`${group}/nodepools`, {
        ...{ apiVersion: "ostler.dev/v1alpha1", kind: "NodePool" },
        metadata: { namespace: "kube-system", name: "coreos" },
        spec: { nodeSelector: { matchLabels: { os: "coreos" } }, driver: "FleetLock", fleetLock: { group: "default" } },
      });
      using locks = new Locks(world);
      const idOf = (node: string): string => clientIdOf(ground.nodes.get(node)?.machineId ?? "f".repeat(32));
      const clients = new Clients(`http://127.0.0.1:${port}`, idOf);
      await takesTurns(world, { ground, locks, clients });
      assert.equal(locks.mostOut, 1);
    });
  },
});

async function takesTurns(
  world: World,
  { ground, locks, clients }: { ground: ImageGround; locks: Locks; clients: Clients },
): Promise<void> {
  const [one = "", two = "", three = ""] = [...ground.nodes.keys()];
  await clients.askOn(one, "steady-state");
  await clients.askOn(one, "pre-reboot");
  assert.deepEqual(await locks.cordoned(), [one]);

  // A client dies while its node waits for the lock: the node keeps its position, and uses no slot of the budget.
  const dying = new AbortController();
  const second = clients.ask(two, "pre-reboot", dying.signal);
  await locks.waits(two);
  assert.deepEqual(await locks.cordoned(), [one]);
  dying.abort();
  assert.equal((await second).status, 0);

  await clients.askOn(one, "steady-state");
  await eventually("the next in turn", async () => (await locks.cordoned()).join() === two, { withinMs: longestMs });
  await clients.askOn(two, "pre-reboot");
  assert.deepEqual(await locks.cordoned(), [two]);

  const third = clients.askOn(three, "pre-reboot");
  await locks.waits(three);
  await world.remove(`/api/v1/nodes/${two}`);
  const deletedAt = Date.now();
  ground.nodes.delete(two);
  await third;
  assert.deepEqual(await locks.cordoned(), [three]);
  // Measures when the next node holds the lock, and not when its client receives the answer.
  const { held = 0 } = await locks.of(three) ?? {};
  assert.ok(held > 0 && held - deletedAt < 60_000, `The lock of a deleted node was free after ${held - deletedAt} ms`);

  await clients.askOn(three, "steady-state");
  await eventually("all in service", async () => (await locks.cordoned()).length === 0, { withinMs: longestMs });
  assert.deepEqual((await clients.ask("a stranger", "pre-reboot")).status, 400);
}
