import { rejects } from "node:assert/strict";
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

Deno.test("awaitMachineGone: times out with the remaining finalizers", async () => {
  await rejects(inActivity(() => awaitMachineGone(kubeWith(leaving).client, wait())), {
    type: "MachineRemains",
    message: 'Timed out waiting for machine "a" to be deleted: finalizers remain: machine-delete-finalizer',
  });
});
