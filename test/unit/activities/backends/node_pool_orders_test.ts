/**
 * How much time a node gets for each order of an in-place update, such as Stage or Apply; with an API server in memory.
 */
import { deepEqual, ok } from "node:assert/strict";
import {
  awaitBootOrdered,
  awaitImageStaged,
  nodeUpdateSteps,
} from "../../../../activities/backends/node_pool/update_steps.ts";
import { noteAnnotation } from "../../../../activities/backends/node_pool/note.ts";
import type { Updating } from "../../../../activities/backends/node_pool/orders.ts";
import type { OsOrder, OsOutcome } from "../../../../workflows/contracts/mod.ts";
import { poolOfNodePool } from "../../../../workflows/commands/node_pool.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

const minute = 60_000;
const [a, b] = [`sha256:${"a".repeat(64)}`, `sha256:${"b".repeat(64)}`];
const update = { pool: poolOfNodePool("fleet", "edge"), machine: "w-1", image: `registry.example/os@${b}` };

/**
 * A node that carries out each order immediately, and records for each verb how many milliseconds were left until the
 * deadline.
 */
class Node {
  readonly kube = new FakeKube();
  readonly given: Partial<Record<OsOrder["verb"], number>> = {};

  constructor() {
    const spec = {
      nodeSelector: { matchLabels: { pool: "edge" } },
      driver: "bootc",
      image: { reference: update.image },
    };
    this.kube.put("nodepools", { metadata: { namespace: "fleet", name: "edge", uid: "u" }, spec });
    const note = { bootId: "boot-1", booted: a, staged: b };
    this.kube.put("nodes", {
      metadata: {
        ...{ name: "w-1", uid: "uid-of-w-1", labels: { pool: "edge" }, creationTimestamp: "2026-01-01T00:00:00Z" },
        annotations: { [noteAnnotation]: JSON.stringify(note) },
      },
      status: { nodeInfo: { bootID: "boot-1" } },
    });
  }

  /** Lets the nodes of the pool update themselves from now on. */
  handOver(): void {
    const { metadata } = this.kube.get("nodepools", "edge") ?? { metadata: { namespace: "fleet", name: "edge" } };
    const spec = { nodeSelector: { matchLabels: { pool: "edge" } }, driver: "FleetLock" };
    this.kube.put("nodepools", { metadata, spec });
  }

  /** Shows the node as Ready in another boot. */
  boot(): void {
    const { metadata } = this.kube.get("nodes", "w-1") ?? { metadata: { name: "w-1" } };
    const status = { conditions: [{ type: "Ready", status: "True" }], nodeInfo: { bootID: "boot-2" } };
    this.kube.put("nodes", { metadata, status });
  }

  readonly giveOrder = ({ verb, until }: OsOrder): Promise<OsOutcome> => {
    const left = until - Date.now();
    this.given[verb] = left;
    if (left <= 0) return Promise.resolve({ outcome: "Unknown", message: "no pod was created" });
    const staged = verb === "Check" ? "" : b ?? "";
    const status = { bootId: "boot-1", booted: a ?? "", staged, fallback: "" };
    return Promise.resolve({ outcome: "Done", status, findings: [] });
  };

  /** Runs a step that was scheduled `ms` ago with a timeout of 30 minutes, and returns its outcome. */
  asked<T>(
    ms: number,
    step: (updating: Pick<Updating, "kube" | "giveOrder">, until: number) => Promise<T>,
  ): Promise<T> {
    const scheduledTimestampMs = Date.now() - ms;
    const updating = { kube: this.kube.client, giveOrder: this.giveOrder };
    return inActivity(() => step(updating, scheduledTimestampMs + 30 * minute), { scheduledTimestampMs });
  }
}

Deno.test("node orders: a step that starts an hour after it was scheduled still gets its 30 minutes, and does not fail", async () => {
  const node = new Node();
  const staged = await node.asked(
    60 * minute,
    (updating, until) => awaitImageStaged(updating, { ...update, retriedAt: 0, until }),
  );
  const ordered = await node.asked(60 * minute, (updating, until) => awaitBootOrdered(updating, { ...update, until }));
  deepEqual([staged, ordered], [{ outcome: "Staged" }, { outcome: "Ordered", bootId: "boot-1" }]);
  const { Stage = 0, Apply = 0 } = node.given;
  ok(Math.min(Stage, Apply) > 29 * minute && Math.max(Stage, Apply) <= 31 * minute, JSON.stringify(node.given));
});

Deno.test("node orders: a step that starts 10 minutes after it was scheduled gets at most the remaining 20 of its 30 minutes", async () => {
  const node = new Node();
  await node.asked(10 * minute, (updating, until) => awaitImageStaged(updating, { ...update, retriedAt: 0, until }));
  const { Stage = 0 } = node.given;
  ok(Stage > 19 * minute && Stage <= 20 * minute, JSON.stringify(node.given));
});

Deno.test("node orders: the update of a node ends without an order once the driver of its NodePool is FleetLock", async () => {
  const node = new Node();
  node.handOver();
  const stage = { ...update, retriedAt: 0 };
  deepEqual(await node.asked(0, (updating, until) => awaitImageStaged(updating, { ...stage, until })), {
    outcome: "Gone",
  });
  const order = (): ReturnType<typeof awaitBootOrdered> =>
    node.asked(0, (updating, until) => awaitBootOrdered(updating, { ...update, until }));
  deepEqual(await order(), { outcome: "Gone" });
  deepEqual(node.given, {});
});

Deno.test("node orders: a node that was ordered to boot before its NodePool got driver FleetLock is waited for, and then serves", async () => {
  const node = new Node();
  const order = (): ReturnType<typeof awaitBootOrdered> =>
    node.asked(0, (updating, until) => awaitBootOrdered(updating, { ...update, until }));
  const ordered = { outcome: "Ordered", bootId: "boot-1" } as const;
  deepEqual(await order(), ordered);
  node.handOver();
  deepEqual(await order(), ordered);
  node.boot();
  const booted = await node.asked(0, ({ kube, giveOrder }, until) => {
    const steps = nodeUpdateSteps({ kube, giveOrder, makers: {} as Updating["makers"] });
    return steps.awaitNodeBooted({ ...update, bootId: "boot-1", until });
  });
  deepEqual("verdict" in booted && booted.verdict, "Updated");
  deepEqual(Object.keys(node.given), ["Apply"]);
});
