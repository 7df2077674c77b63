/**
 * How soon a rollout continues after failures, with processes of Ostler that are restarted as by a kubelet: a machine's
 * last deadline passed → halted; Ostler's worker killed → next step; API server back → next step. Steps are those that
 * people see on the Rollout. Run directly, it prints its rows:
 *
 *     deno run -A test/bench/react.ts
 */
import { setTimeout as pause } from "node:timers/promises";
import { waitFor } from "../../deploy/local/process/wait_until.ts";
import type { Progress } from "../../workflows/contracts/mod.ts";
import {
  machineDeployment,
  policiesPath,
  poolPath,
  poolsPath,
  rolloutPolicy,
  rollTo,
} from "../integration/pool_objects.ts";
import { withWorld, type World } from "../integration/world.ts";
import { type Figure, figuresOf } from "./figure.ts";
import { MomentWatch, type Sight } from "./moment_watch.ts";
import { printAlone } from "./table.ts";

const replicas = 2;
const labels = { bench: "react" };
const bad = "docker://images.example/ubuntu:never-ready";
/** Only the deadline of the last stage, `ready`, matters: each attempt to join takes that long. */
const join = { instance: "10s", address: "11s", registered: "12s", ready: "13s", attempts: 1 };
/**
 * Seconds that a machine takes to boot; the failure comes in the middle, while the rollout waits and writes nothing.
 */
const bootSeconds = { min: 5, max: 5 };
const midwayMs = 2_000;
/** Duration of the API server's outage: long enough that the controller gives up its lease, and is restarted. */
const awayMs = 15_000;
const longestSeconds = 120;

/** The visible progress of a rollout. */
const steps: Sight = {
  path: "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts",
  keyOf: ({ status }) => {
    const { phase, updated, underway = [] } = (status ?? {}) as {
      phase?: string;
      updated?: string;
      underway?: { machine: string; step: string }[];
    };
    return `${phase} ${updated} ${underway.map(({ machine, step }) => `${step} ${machine}`).join(" ")}`;
  },
};

const readyNodes: Sight = {
  path: "/api/v1/nodes",
  keyOf: ({ metadata, status }) => {
    const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
    return conditions.some((one) => one.type === "Ready" && one.status === "True") ? metadata?.name : undefined;
  },
};

/** Rolls one pool three times, each time with another failure. */
export async function measureReact(): Promise<Figure[]> {
  let figures: Figure[] = [];
  const faults = [{ kind: "not-ready" as const, when: ({ image }: { image: string }) => image === bad }];
  await withWorld({ script: { faults, bootSeconds }, mayRevive: true }, async (world) => {
    await world.create(policiesPath(), rolloutPolicy("react", { join }, labels));
    await world.create(poolsPath(), machineDeployment({ replicas, surge: 1, labels }));
    await world.untilPhase("pool", "Converged");
    using watch = await MomentWatch.open(world.site.stack.adminKubeconfig, steps);
    using nodes = await MomentWatch.open(world.site.stack.adminKubeconfig, readyNodes);
    figures = figuresOf({ part: "react", column: "Ostler" }, [
      ["worker killed to next step", "s", await afterWorker(world, watch)],
      ["API server back to next step", "s", await afterApi(world, { watch, nodes })],
      ["bad image, deadline passed to halted", "s", await afterDeadline(world, watch)],
    ]);
  });
  return figures;
}

/** Starts a rollout, and resolves in the middle of the join of the first new machine. */
async function roll(world: World, image: string): Promise<void> {
  await world.patch(poolPath("pool"), rollTo("1.36.1", image));
  await world.until("a machine to join", async () => {
    return (await world.status("pool"))?.underway?.some(({ step }) => step === "Joining");
  });
  await pause(midwayMs);
}

async function afterWorker(world: World, watch: MomentWatch): Promise<number> {
  await roll(world, "docker://images.example/ubuntu:worker");
  const { worker } = world.site.ostler;
  const killed = performance.now();
  worker.kill("SIGKILL");
  await worker.restart();
  const next = await firstAfter(watch, killed);
  await world.untilPhase("pool", "Converged");
  return (next - killed) / 1000;
}

async function afterApi(world: World, { watch, nodes }: { watch: MomentWatch; nodes: MomentWatch }): Promise<number> {
  await roll(world, "docker://images.example/ubuntu:api");
  const server = world.site.stack.processes.get("kube-apiserver");
  server.kill("SIGKILL");
  await pause(awayMs);
  await server.restart();
  const back = performance.now();
  const next = await firstAfter(watch, back);
  // The next step is due only when the new machine has joined: until then Ostler waits for the cloud, so that time does
  // not count.
  const joined = [...nodes.moments.values()].filter((moment) => moment < next);
  await world.untilPhase("pool", "Converged");
  return (next - Math.max(back, ...joined)) / 1000;
}

async function afterDeadline(world: World, watch: MomentWatch): Promise<number> {
  await world.patch(poolPath("pool"), rollTo("1.36.1", bad));
  const handle = world.temporal.workflow.getHandle("machine-deployment/kube-system/pool");
  let until = NaN;
  // Each query overwrites `until` with the deadline of the current attempt to join, so at the end it is the deadline of
  // the last attempt.
  await world.until("the rollout to halt", async () => {
    const { phase, underway } = await handle.query<Progress>("progress");
    until = Date.parse(underway.find(({ step }) => step === "Joining")?.until ?? "") || until;
    return phase === "Halted";
  }, longestSeconds);
  await world.untilPhase("pool", "Halted");
  const halted = [...watch.moments].find(([key]) => key.startsWith("Halted"))?.[1] ?? NaN;
  return (performance.timeOrigin + halted - until) / 1000;
}

/** Returns the first moment after `begun` at which anything new was seen. */
async function firstAfter(watch: MomentWatch, begun: number): Promise<number> {
  return await waitFor(() => {
    const later = [...watch.moments.values()].filter((moment) => moment > begun);
    return later.length > 0 && Math.min(...later);
  }, { what: "the next step", timeoutMs: longestSeconds * 1000 });
}

if (import.meta.main) await printAlone([undefined], measureReact);
