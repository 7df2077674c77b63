import { equal, rejects } from "node:assert/strict";
import { deleteMachine } from "../../../../activities/pool/delete_machine.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { machine, node, pool, putPool } from "../../../support/machine_objects.ts";

function kubeWith(ready: boolean): FakeKube {
  const kube = new FakeKube();
  putPool(kube);
  kube.put("machines", machine("a", { finalizers: [] }));
  kube.put("nodes", node("node-a", { ready }));
  return kube;
}

const repair = { pool, machine: "a", node: "node-a", drain: false, ifNotReady: true };

Deno.test("fault E14 deleteMachine: keeps a machine whose node became Ready again before its repair", async () => {
  const kube = kubeWith(true);
  await rejects(deleteMachine(kube.client, repair), { type: "GenerationStale", nonRetryable: true });
  equal(kube.writes.length, 0);
  await deleteMachine(kube.client, { ...repair, ifNotReady: false });
  equal(kube.get("machines", "a", "fleet"), undefined);
});

Deno.test("fault E14 deleteMachine: replaces a machine whose node is not Ready, or was deleted", async () => {
  const gone = kubeWith(false);
  gone.remove("nodes", "node-a");
  for (const kube of [kubeWith(false), gone]) {
    await deleteMachine(kube.client, repair);
    equal(kube.get("machines", "a", "fleet"), undefined);
  }
});
