import { equal, rejects } from "node:assert/strict";
import { hashOf } from "../../../../activities/node_version/version_release.ts";
import { poolOfGroup } from "../../../../workflows/commands/start_options.ts";
import { GroupInMemory, version } from "../../../support/group_in_memory.ts";
import { awaitMachineGone } from "../../../../activities/pool/await_machine.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { machine, pool } from "../../../support/machine_objects.ts";

const leaving = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };

function kubeWith(overrides: Parameters<typeof machine>[1]): FakeKube {
  const kube = new FakeKube();
  kube.put("machines", machine("a", overrides));
  return kube;
}

/** With a grace of 0 ms, a wait that begins after its deadline reads the machine once, and then times out. */
const grace = 0;

function wait(until = Date.now()): Parameters<typeof awaitMachineGone>[1] {
  return { pool, machine: "a", until };
}

Deno.test("awaitMachineGone: ends when the machine is deleted", async () => {
  const kube = kubeWith(leaving);
  let looks = 0;
  kube.onRequest = () => {
    if (looks++ === 1) kube.remove("machines", "a", "fleet");
  };
  await inActivity(() => awaitMachineGone(kube.client, wait(Date.now() + 10_000)));
});

Deno.test("awaitMachineGone: names the remaining finalizers when it times out", async () => {
  await rejects(inActivity(() => awaitMachineGone(kubeWith(leaving).client, wait(), grace)), {
    type: "MachineRemains",
    message: 'Timed out waiting for machine "a" to be deleted: finalizers remain: machine-delete-finalizer; ' +
      "see the log of machine-controller",
  });
});

Deno.test("awaitMachineGone: gives the controller time after an outage that lasted beyond the deadline", async () => {
  const kube = kubeWith(leaving);
  let looks = 0;
  kube.onRequest = () => {
    if (looks++ === 1) kube.remove("machines", "a", "fleet");
  };
  await inActivity(() => awaitMachineGone(kube.client, wait(Date.now() - 60_000)));
  await rejects(inActivity(() => awaitMachineGone(kubeWith(leaving).client, wait(Date.now() - 60_000), 20)), {
    type: "MachineRemains",
  });
});

/**
 * Returns a group whose cloud was asked `agoMs` milliseconds ago to terminate machine "workers-1". Since then the cloud
 * has waited for a lifecycle hook.
 */
async function waitingGroup(agoMs: number): Promise<GroupInMemory> {
  const group = new GroupInMemory();
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  const driver = await group.driver();
  const { instances } = driver;
  const what = 'the Auto Scaling group waits for CompleteLifecycleAction of lifecycle hook "drain"';
  const waitsFor = { what, longestMs: 3_600_000 };
  driver.instances = async (id) =>
    (await instances(id)).map((each) => each.state === "Terminating" ? { ...each, waitsFor } : each);
  await group.backend.orders.release({ pool: ofGroup, machine: "workers-1" });
  const [record] = group.kube.all("pendingnodes");
  if (record) record.metadata.creationTimestamp = new Date(Date.now() - agoMs).toISOString();
  return group;
}

const ofGroup = poolOfGroup("workers");

Deno.test("fault G8: awaitMachineGone waits beyond its own deadline while a lifecycle hook of the Auto Scaling group has time left", async () => {
  const group = await waitingGroup(1_800_000);
  const order = { pool: ofGroup, machine: "workers-1", until: Date.now() - 1 };
  setTimeout(() => group.settle(), 100);
  await inActivity(() => awaitMachineGone(group.client, order, grace));
  equal(group.cloud.instance("sim:///a/workers-1")?.state, "Terminated");
});

Deno.test("fault G8: awaitMachineGone names the lifecycle hook that was not completed in time", async () => {
  const group = await waitingGroup(7_200_000);
  const order = { pool: ofGroup, machine: "workers-1", until: Date.now() - 1 };
  const message = 'Timed out waiting for machine "workers-1" to be deleted: the Auto Scaling group waits for ' +
    'CompleteLifecycleAction of lifecycle hook "drain"';
  await rejects(inActivity(() => awaitMachineGone(group.client, order, grace)), { type: "MachineRemains", message });
});

Deno.test("fault G8: awaitMachineGone refers to the group's events in its cloud when an instance of a ScalingGroup remains", async () => {
  const group = new GroupInMemory();
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  await group.backend.orders.release({ pool: ofGroup, machine: "workers-1" });
  const order = { pool: ofGroup, machine: "workers-1", until: Date.now() - 1 };
  await rejects(inActivity(() => awaitMachineGone(group.client, order, grace)), {
    message: /: the machine still exists; see the group's events in its cloud \(scaling activities on AWS, /,
  });
});
