/** Machines that do not join: recreated a bounded number of times, then a halt that keeps all old machines. */
import assert from "node:assert/strict";
import { proveApproval } from "./asking_nodes.ts";
import { machineDeployment, poolPath, poolsPath, rollTo } from "./pool_objects.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

const deadlines = JSON.stringify({ instance: "20s", address: "30s", registered: "32s", ready: "35s", recheck: "30s" });

// This test also lets the controller approve node certificates, which does not affect the rollout. At the end it sends
// certificate requests that the controller must not approve.
Deno.test("rollOutMachineDeployment: halts when no new machine joins, and continues after retry", async () => {
  await withWorld(
    { settings: { OSTLER_DEADLINES: deadlines, OSTLER_APPROVE_JOINING_NODES: "true" } },
    async (world) => {
      await world.create(poolsPath(), machineDeployment({ replicas: 2 }));
      await world.untilPhase("pool", "Converged");
      const before = await machineNames(world);

      world.site.cloud.script({ faults: [{ kind: "no-join", when: ({ image }) => image.endsWith(":1.36.1") }] });
      await world.patch(poolPath("pool"), rollTo("1.36.1"));
      await reportAs(world, await world.until("a new machine", async () => newest(before, await machineNames(world))));
      const halted = await world.untilPhase("pool", "Halted");
      assert.equal(halted.reason, "Quarantined");
      assert.match(halted.message, /JoinAttemptsExhausted: Machine "pool-\S+" did not pass join stage "registered"/);
      assert.equal(halted.failedMachines, 1, "Expected one final failure, after three attempts");
      const now = await machineNames(world);
      assert.deepEqual(before.filter((name) => now.includes(name)), before, "Expected all old machines to stay");
      // The status of the Rollout is written before the Events of the same report.
      const told = await world.until("the Events of three failed joins", async () => {
        const found = await expiries(world);
        return found.length >= 3 && found;
      });
      assert.equal(told.length, 3);
      for (const expiry of told) assert.match(expiry, /did not pass join stage "registered"/);
      const reported = told.filter((expiry) => expiry.includes("no route to the mirror"));
      assert.equal(reported.length, 1, "Expected only one of them to have a boot report");

      world.site.cloud.script({ faults: [] });
      const id = "machine-deployment/kube-system/pool";
      await world.temporal.workflow.getHandle(id).executeUpdate("retry", { args: [{ by: "test" }] });
      await world.remove(`/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines/${newest(before, now)}`);
      const done = await world.untilPhase("pool", "Converged");
      assert.equal(done.updated, "2/2");
      await proveApproval(world);
    },
  );
});

/** Sends the reports that the machine's boot scripts would send. */
async function reportAs(world: World, machine: string): Promise<void> {
  const report = { phase: "setup", step: "install packages", state: "Failed", message: "no route to the mirror" };
  const path = "/api/v1/namespaces/cloud-init-settings/configmaps/ostler-boot-pool-kube-system";
  await world.patch(path, { data: { [machine]: JSON.stringify({ ...report, at: new Date().toISOString() }) } });
}

async function machineNames(world: World): Promise<string[]> {
  const path = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
  return (await world.list<{ metadata: { name: string } }>(path)).map(({ metadata }) => metadata.name);
}

function newest(before: string[], now: string[]): string | undefined {
  return now.find((name) => !before.includes(name));
}

async function expiries(world: World): Promise<string[]> {
  const selector = "involvedObject.name=pool,reason=JoinDeadlineExceeded";
  const path = `/api/v1/namespaces/kube-system/events?fieldSelector=${selector}`;
  return (await world.list<{ message: string }>(path)).map(({ message }) => message);
}
