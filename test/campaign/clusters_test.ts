/** Two clusters share one Temporal namespace; one of the clusters has no name, or no worker. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import type { Server } from "../../cli/connect/server.ts";
import { readPolling } from "../../cli/fleet/pollers.ts";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { machineDeployment, poolPath, poolsPath, rollTo } from "../integration/pool_objects.ts";
import { inTwoClusters, list, type Named, ostler, root } from "../integration/two_clusters.ts";
import type { World } from "../integration/world.ts";

Deno.test("clusters: a second cluster without a name is refused, and a cluster whose Ostler worker does not run is reported", async (t) => {
  await inTwoClusters(async (north, south) => {
    for (const world of [north, south]) await world.create(poolsPath(), machineDeployment({ replicas: 1 }));
    await Promise.all([north, south].map((world) => world.untilPhase("pool", "Converged")));
    south.site.ostler.worker.kill("SIGSTOP");
    await t.step(
      "processes of a second cluster without a cluster name are not ready, report the refusal once, and keep running",
      () => refuses(north, south),
    );
    await t.step("`ostler clusters` shows a cluster whose Ostler worker does not run", () => showsGone(north, south));
    south.site.ostler.worker.kill("SIGCONT");
  });
});

async function refuses(north: World, south: World): Promise<void> {
  await using first = await Unnamed.start(north, "worker");
  await north.until("the first worker without a name", () => first.answers("readyz"));
  for (const name of ["worker", "controller"] as const) {
    await using second = await Unnamed.start(south, name, north.site.stack.temporal.address);
    await south.until(
      `the refusal of the ${name}`,
      () => Promise.resolve(second.log.includes("Failed to serve the cluster")),
    );
    const uids = await Promise.all([north, south].map((world) => world.get<Named>("/api/v1/namespaces/kube-system")));
    for (const part of [...uids.map((one) => one?.metadata.uid ?? "none"), "--cluster (OSTLER_CLUSTER)"]) {
      assert.ok(second.log.includes(part), `${part} in ${second.log}`);
    }
    assert.deepEqual([await second.answers("healthz"), await second.answers("readyz")], [true, false]);
    assert.equal(second.log.match(/Failed to serve the cluster/g)?.length, 1);
  }
  assert.equal(await first.answers("readyz"), true);
}

// Both pools have converged, so the change below opens the only workflow run; the run of a halted pool would stay open.
async function showsGone(north: World, south: World): Promise<void> {
  await south.patch(poolPath("pool"), rollTo("1.36.1"));
  // Uses the functions of `ostler clusters`, because the command would start one process for each of the reads, which
  // are repeated for about 90 seconds.
  const { workflowService } = north.temporal;
  const temporal = { namespace: "default", service: { workflowService } } as unknown as Server;
  const isMissed = async (): Promise<boolean> =>
    (await readPolling(temporal, "ostler-south", Date.now())).workers === 0;
  await north.until("south's worker to be reported as missing", isMissed, 150);
  const { items: [here, gone], code } = await list(north);
  const opened = Object.values(gone?.rollouts ?? {}).reduce((sum, count) => sum + count, 0);
  assert.deepEqual([code, (here?.workers ?? 0) > 0, gone?.workers, opened], [1, true, 0, 1]);
  const shown = await ostler(north, ["status", "--all-clusters"]);
  assert.match(shown.out, /^south +kube-system +pool +\w+ +\(no worker polls\)$/m);
  assert.equal(shown.code, 0);
}

/**
 * A process of Ostler without a cluster name, in addition to the processes of Ostler that the test environment runs.
 */
class Unnamed {
  log = "";

  private constructor(readonly child: ChildProcess, readonly port: number) {
    child.stderr?.on("data", (chunk: Uint8Array) => this.log += new TextDecoder().decode(chunk));
  }

  static async start(
    { site }: World,
    name: "worker" | "controller",
    temporal = site.stack.temporal.address,
  ): Promise<Unnamed> {
    const [port = 0] = await freePorts(1);
    const env = {
      ...process.env,
      KUBECONFIG: site.kubeconfigs[name],
      TEMPORAL_ADDRESS: temporal,
      OSTLER_HEALTH_PROBE_ADDRESS: `127.0.0.1:${port}`,
      OSTLER_LEADER_ELECT: "false",
    };
    const args = ["run", "--no-prompt", "--cached-only", "--allow-all", `workers/${name}.ts`];
    return new Unnamed(spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "ignore", "pipe"] }), port);
  }

  async answers(path: "healthz" | "readyz"): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/${path}`).catch(() => undefined);
    await answer?.body?.cancel();
    return answer?.ok ?? false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGTERM");
    await ended;
  }
}
