/** Asks gates for their verdicts, and makes the objects that gates read. */
import { ok } from "node:assert/strict";
import { awaitGates } from "../../../../activities/gates/await_gates.ts";
import type { Check, Gate, GateQuestion, GateVerdict } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import type { Stored } from "../../../support/fake_kube.ts";
import { machine, node, pool, putPool } from "../../../support/machine_objects.ts";

/** Polls without a delay, and without time after the deadline. */
const hasty = { machine: 1, wave: 1, metric: 1, grace: 0 };

/** Lets gates query servers of this test. */
const metrics = { hosts: ["127.0.0.1"], ca: "", token: (): Promise<string> => Promise.resolve("") };

/** Returns a gate with the name "probe" and a timeout of one minute, unless `overrides` contains others. */
export function gate(check: Check, overrides: Partial<Gate> = {}): Gate {
  return { name: "probe", run: "EachMachine", within: 60_000, check, ...overrides };
}

async function judged(kube: FakeKube, question: GateQuestion): Promise<GateVerdict[]> {
  const verdicts = await awaitGates(kube.client, question, { patience: hasty, metrics });
  ok(Array.isArray(verdicts));
  return verdicts;
}

/**
 * Returns the verdicts of the gates for machine "a" on "node-a". `overrides` may set a timeout, or ask for a wave
 * instead of a machine.
 */
export async function ask(
  kube: FakeKube,
  gates: Gate[],
  { heartbeats, ...overrides }: Partial<GateQuestion> & { heartbeats?: unknown[] } = {},
): Promise<GateVerdict[]> {
  const question = { pool, gates, machine: "a", node: "node-a", key: "a/0", until: Date.now(), ...overrides };
  return await inActivity(() => judged(kube, question), heartbeats ? { heartbeats } : {});
}

/** Returns the verdicts of the gates for the wave with index 1. */
export async function askWave(kube: FakeKube, gates: Gate[]): Promise<GateVerdict[]> {
  const question = { pool, gates, key: "wave/1", until: Date.now() };
  return await inActivity(() => judged(kube, question));
}

/** Returns a deadline (epoch ms) that is late enough for all reads of a test. */
export function later(): number {
  return Date.now() + 60_000;
}

/** Returns a pool with updated machines "a" and "b", and machine "old" with another template; each has a node. */
export function kubeWithPool(): FakeKube {
  const kube = new FakeKube();
  putPool(kube);
  for (const name of ["a", "b", "old"]) {
    kube.put("machines", machine(name, name === "old" ? { hash: "hash-0" } : {}));
    kube.put("nodes", node(`node-${name}`));
  }
  return kube;
}

/** Returns a pod with labels and an owner, Ready by default. */
export function readyPod(
  name: string,
  { on, ready = true, owner, metadata = {} }: {
    on: string;
    ready?: boolean;
    owner?: string;
    metadata?: Record<string, unknown>;
  },
): Stored {
  const ownerReferences = owner ? [{ kind: "DaemonSet", name: owner, uid: `uid-of-${owner}` }] : [];
  return {
    metadata: { namespace: "apps", name, labels: { app: owner ?? "web" }, ownerReferences, ...metadata },
    spec: { nodeName: on },
    status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}
