/** The command from a release, on a machine that has no other file of Ostler. */
import assert from "node:assert/strict";
import { machineDeployment, poolsPath } from "../integration/pool_objects.ts";
import { withWorld, type World } from "../integration/world.ts";
import { PackedCommand } from "./packed_command.ts";

Deno.test("packed command: lists the clusters of a Temporal server and their objects, with nothing else installed", async () => {
  await withWorld({ seed: 21, settings: { OSTLER_CLUSTER: "north" } }, async (north) => {
    const settings = { OSTLER_CLUSTER: "south", TEMPORAL_ADDRESS: north.site.stack.temporal.address };
    await withWorld({ seed: 22, settings }, async (south) => {
      for (const world of [north, south]) await world.create(poolsPath(), machineDeployment({ replicas: 1 }));
      await Promise.all([north, south].map((world) => world.untilPhase("pool", "Converged")));
      await findsBoth(north);
    });
  });
});

async function findsBoth({ site: { stack: { temporal, adminKubeconfig } } }: World): Promise<void> {
  await using command = await PackedCommand.make();
  const env = { TEMPORAL_ADDRESS: temporal.address, KUBECONFIG: adminKubeconfig, OSTLER_CLUSTER: "north" };
  const asked = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await command.run(args, env);
    assert.deepEqual([code, err], [0, ""], args.join(" "));
    return out;
  };
  assert.match(await asked("clusters"), /^north +.*\nsouth +/m);
  assert.match(await asked("status", "-n", "kube-system"), /^pool +.*Converged/m);
  // The template is rendered by the Deno of the archive, without permissions.
  assert.match(await asked("plan", "pool", "-n", "kube-system"), /pool/);
  assert.match(
    await asked("setup", "--dry-run"),
    /^search attributes: .*\naccess to Temporal: WARNING: .*\npermissions of ServiceAccount/m,
  );
}
