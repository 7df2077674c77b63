import { deepEqual, equal, rejects } from "node:assert/strict";
import {
  deleteMachine,
  ensureMachineAdmitted,
  ensureVictimMarked,
  ensureVictimReleased,
  ensureVictimUnmarked,
} from "../../../../activities/pool/holds.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { hold, holder, machine, mark, node, pool } from "../../../support/machine_objects.ts";

const target = { pool, machine: "a" };

function kubeWith(annotations: Record<string, string>, metadata: Record<string, unknown> = {}): FakeKube {
  const kube = new FakeKube();
  kube.put("machines", machine("a", { annotations, metadata }));
  kube.put("nodes", node("node-a"));
  return kube;
}

function annotationsOf(kube: FakeKube): Record<string, string> {
  return kube.get("machines", "a", "fleet")?.metadata.annotations ?? {};
}

Deno.test("ensureVictimMarked marks and holds with the workflow id, once", async () => {
  const kube = kubeWith({ other: "stays" });
  await ensureVictimMarked(kube.client, target);
  await ensureVictimMarked(kube.client, target);
  deepEqual(annotationsOf(kube), { other: "stays", [mark]: holder, [hold]: holder });
  deepEqual(kube.writes, ["patch machines fleet/a"]);
});

Deno.test("ensureVictimMarked leaves the hold and the mark of somebody else alone", async () => {
  const kube = kubeWith({ [hold]: "another controller", [mark]: "a person" });
  await ensureVictimMarked(kube.client, target);
  await ensureVictimUnmarked(kube.client, target);
  await ensureVictimReleased(kube.client, target);
  deepEqual(annotationsOf(kube), { [hold]: "another controller", [mark]: "a person" });
});

Deno.test("ensureVictimMarked calls a machine that is gone moot", async () => {
  await rejects(ensureVictimMarked(new FakeKube().client, target), { type: "MachineGone", nonRetryable: true });
});

Deno.test("ensureVictimUnmarked takes both back and calls a machine that is gone done", async () => {
  const kube = kubeWith({ [hold]: holder, [mark]: holder, other: "stays" });
  await ensureVictimUnmarked(kube.client, target);
  deepEqual(annotationsOf(kube), { other: "stays" });
  await ensureVictimUnmarked(new FakeKube().client, target);
});

Deno.test("ensureVictimUnmarked keeps a leaving machine held, so that it runs on", async () => {
  const leaving = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const kube = kubeWith({ [hold]: holder, [mark]: holder }, leaving);
  await ensureVictimUnmarked(kube.client, target);
  equal(annotationsOf(kube)[hold], holder);
  await ensureVictimUnmarked(kube.client, { ...target, letGo: true });
  deepEqual(annotationsOf(kube), {});
});

Deno.test("ensureMachineAdmitted ends our hold and no other", async () => {
  const kube = kubeWith({ [hold]: holder });
  await ensureMachineAdmitted(kube.client, target);
  deepEqual(annotationsOf(kube), {});
  const foreign = kubeWith({ [hold]: "another controller" });
  await ensureMachineAdmitted(foreign.client, target);
  deepEqual([annotationsOf(foreign), foreign.writes], [{ [hold]: "another controller" }, []]);
});

Deno.test("ensureMachineAdmitted calls a machine that is gone moot", async () => {
  await rejects(ensureMachineAdmitted(new FakeKube().client, target), { type: "MachineGone", nonRetryable: true });
});

Deno.test("ensureVictimReleased spares the node a second drain before it lets the machine go", async () => {
  const kube = kubeWith({ [hold]: holder, [mark]: holder });
  await ensureVictimReleased(kube.client, { ...target, node: "node-a" });
  deepEqual(kube.writes, ["patch nodes node-a", "patch machines fleet/a"]);
  equal(kube.get("nodes", "node-a")?.metadata.annotations?.["kubermatic.io/skip-eviction"], "true");
  deepEqual(annotationsOf(kube), { [mark]: holder });
});

Deno.test("ensureVictimReleased is done when node and machine are gone", async () => {
  await ensureVictimReleased(new FakeKube().client, { ...target, node: "node-a" });
});

Deno.test("deleteMachine ends our hold, deletes, and is done when there is nothing", async () => {
  const kube = kubeWith({ [hold]: holder });
  await deleteMachine(kube.client, target);
  deepEqual(kube.writes, ["patch machines fleet/a", "delete machines fleet/a"]);
  deepEqual(annotationsOf(kube), {});
  kube.remove("machines", "a", "fleet");
  await deleteMachine(kube.client, target);
});
