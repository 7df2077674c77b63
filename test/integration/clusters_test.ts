/**
 * Two clusters with pools of equal names on one Temporal namespace: each rolls its own, or the later one is refused.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Server } from "../../cli/connect/server.ts";
import { readPolling } from "../../cli/fleet/pollers.ts";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { machineDeployment, poolPath, poolsPath, rollTo } from "./pool_objects.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

interface Named {
  metadata: { name: string; uid: string };
}

const machines = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
const root = fileURLToPath(new URL("../../", import.meta.url));

Deno.test("clusters: two on one Temporal namespace are kept apart", async (t) => {
  await withWorld({ seed: 21, settings: { OSTLER_CLUSTER: "north" } }, async (north) => {
    const { address } = north.site.stack.temporal;
    const settings = { OSTLER_CLUSTER: "south", TEMPORAL_ADDRESS: address };
    await withWorld({ seed: 22, settings }, async (south) => {
      await t.step("pools of equal names are rolled by separate runs", () => rollsBoth(north, south));
      await t.step("a list needs only Temporal, and shows both", () => listsBoth(north, south));
      await t.step("one is removed and added again while the other continues to roll", () => comesAgain(north, south));
      south.site.ostler.worker.kill("SIGSTOP");
      await t.step("without names the later one is refused, and stays up", () => refuses(north, south));
      await t.step("a list shows a cluster without a worker", () => showsGone(north, south));
      south.site.ostler.worker.kill("SIGCONT");
    });
  });
});

async function rollsBoth(north: World, south: World): Promise<void> {
  for (const world of [north, south]) await world.create(poolsPath(), machineDeployment({ replicas: 1 }));
  await Promise.all([north, south].map((world) => world.untilPhase("pool", "Converged")));
  const [kept] = await south.list<Named>(machines);
  const [old] = await north.list<Named>(machines);
  await north.patch(poolPath("pool"), rollTo("1.36.1"));
  await north.untilPhase("pool", "Converged");
  assert.notEqual((await north.list<Named>(machines))[0]?.metadata.uid, old?.metadata.uid);
  assert.deepEqual((await south.list<Named>(machines)).map(({ metadata }) => metadata.uid), [kept?.metadata.uid]);
  for (const cluster of ["north", "south"]) {
    const run = await north.temporal.workflow.getHandle(`${cluster}/machine-deployment/kube-system/pool`).describe();
    assert.equal(run.taskQueue, `ostler-${cluster}`);
    const found = await north.temporal.workflow.count(
      `KubernetesCluster = "${cluster}" AND MachineDeployment = "pool"`,
    );
    assert.ok(found.count > 0);
  }
}

interface Listed {
  name: string;
  uid: string;
  workers: number;
  rollouts: Record<string, number>;
  credentials: { schedule: string; renewedAt: string | null };
  needs: string[];
}

async function listsBoth(north: World, south: World): Promise<void> {
  const { items, code } = await list(north);
  assert.deepEqual(items.map(({ name, workers, needs }) => [name, workers > 0, needs]), [
    ["north", true, []],
    ["south", true, []],
  ]);
  const uids = await Promise.all([north, south].map((world) => world.get<Named>("/api/v1/namespaces/kube-system")));
  assert.deepEqual(items.map(({ uid }) => uid), uids.map((one) => one?.metadata.uid));
  assert.deepEqual(items.map(({ credentials }) => credentials.schedule), ["Runs", "Runs"]);
  assert.equal(code, 0);
}

// Both are converged and have no open run: the run of a halted pool would stay open, and answer.
async function showsGone(north: World, south: World): Promise<void> {
  await south.patch(poolPath("pool"), rollTo("1.36.1"));
  // Uses the code of the command and not the command, which would start a process for each read over 90 seconds.
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

async function comesAgain(north: World, south: World): Promise<void> {
  await north.observed(1, async () => {
    await Promise.all([north, south].map((world) => world.patch(poolPath("pool"), rollTo("1.36.2"))));
    await south.until("its rollout", async () => (await south.status("pool"))?.phase !== "Converged");
    await north.until("a machine under way", async () => (await north.status("pool"))?.underway?.length === 1);
    await removed(south, north.site.stack.temporal);
    await north.untilPhase("pool", "Converged");
  });
  const { items, code } = await list(north);
  assert.deepEqual([items.map(({ name }) => name), code], [["north"], 0]);
  const { controller, worker } = south.site.ostler;
  await Promise.all([controller.start(), worker.start()]);
  await south.untilPhase("pool", "Converged");
  await listsBoth(north, south);
}

/** With an open rollout, by the two commands of docs/how-to/temporal.md. */
async function removed({ site: { ostler }, tools }: World, { address }: { address: string }): Promise<void> {
  await Promise.all([ostler.controller.stop(), ostler.worker.stop()]);
  const query = `KubernetesCluster = "south" AND ExecutionStatus = "Running"`;
  const lines = [
    ["schedule", "delete", "--schedule-id", "south/renew-credentials"],
    ["workflow", "terminate", "--query", query, "--reason", "south is no more", "--yes"],
  ];
  for (const line of lines) {
    const args = [...line, "--address", address];
    const { success, stderr } = await new Deno.Command(tools.temporal, { args }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
  }
}

async function list(world: World): Promise<{ items: Listed[]; code: number }> {
  const { code, out } = await ostler(world, ["clusters", "--check", "-o", "json"]);
  const { items } = JSON.parse(out) as { items: Listed[] };
  return { code, items: items.filter(({ name }) => name !== "") };
}

/** Runs the command as people do, without a cluster. */
async function ostler({ site }: World, args: string[]): Promise<{ code: number; out: string }> {
  const env = { TEMPORAL_ADDRESS: site.stack.temporal.address, KUBECONFIG: "/nowhere", NO_COLOR: "1" };
  const { code, stdout } = await new Deno.Command(process.execPath, {
    args: ["run", "--no-prompt", "--cached-only", "--no-check", "--allow-all", "cli/main.ts", ...args],
    ...{ cwd: root, env, stderr: "inherit" },
  }).output();
  return { code, out: new TextDecoder().decode(stdout) };
}

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

/** A process of Ostler without a name for its cluster, beside those of the site. */
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
