// deno-lint-ignore-file no-console -- this program prints its measurements
/**
 * The cost of a fleet of a thousand pools without machines while nothing happens: memory, CPU time, and the requests to
 * a real API server, counted in its audit log. Exits with 1 for more than one request a second, including the renewal
 * of all credentials. Here the API server ends each watch after a few minutes, not after 30 to 60 minutes as by
 * default, so Ostler reopens watches more often.
 */
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { type Asked, askedBytes, askedSince, isOfProcess, ourUsers } from "../integration/asked.ts";
import { renewNow, untilRenewed } from "../integration/due_credentials.ts";
import { machineDeployment, poolsPath } from "../integration/pool_objects.ts";
import type { RolloutStatus } from "../integration/pool_objects.ts";
import { withWorld, type World } from "../integration/world.ts";
import { loadOf, type ProcessLoad } from "./process_load.ts";

const [pools = 1_000, minutes = 6] = process.argv.slice(2).map(Number);
const mostPerSecond = 1;
/** Pools that are created concurrently. */
const atOnce = 100;
/** The API server ends a watch after two to four minutes (`watchSeconds` to twice that). */
const watchSeconds = 120;
/** The default lifetime of credentials in seconds, and the fraction of it after which they are renewed. */
const [lifeSeconds, dueAfter] = [86_400, 1 / 4];
const rolloutsPath = "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts";

const poolOf = (nth: number): string => `pool-${nth}`;

function isForWork({ by, verb, path }: Asked): boolean {
  return !isOfProcess(`${by} ${verb} ${path}`);
}

/** Creates the pools a few at a time, because the speed of creation is not measured. */
async function createPools(world: World): Promise<void> {
  const begun = performance.now();
  for (let made = 0, converged = 0; converged < pools; converged = await convergedOf(world)) {
    const some = Math.max(0, Math.min(pools, converged + atOnce) - made);
    const names = Array.from({ length: some }, (_, nth) => poolOf(made + nth));
    await Promise.all(names.map((name) => world.create(poolsPath(), machineDeployment({ name, replicas: 0 }))));
    made += some;
    console.log(`${converged} of ${pools} pools have converged after ${seconds(begun)} s`);
    await setTimeout(5_000);
  }
}

async function convergedOf(world: World): Promise<number> {
  const rollouts = await world.list<{ status?: RolloutStatus }>(rolloutsPath);
  return rollouts.filter(({ status }) => status?.phase === "Converged").length;
}

/** Waits until Ostler has sent, for 20 s, only requests that it sends even when nothing changes, such as for leases. */
async function untilQuiet(world: World): Promise<void> {
  for (;;) {
    const from = await askedBytes(world);
    await setTimeout(20_000);
    if (!(await askedSince(world, from)).some(isForWork)) return;
  }
}

type Loads = Map<string, ProcessLoad>;

async function loads({ site }: World): Promise<Loads> {
  const { controller, worker } = site.ostler;
  const running = { controller, worker, temporal: site.stack.processes.get("temporal") };
  const each = Object.entries(running).map(async ([name, { pid = 0 }]) => [name, await loadOf(pid)] as const);
  return new Map(await Promise.all(each));
}

/** Prints and returns the requests per second while nothing happens. */
async function measureIdle(world: World): Promise<number> {
  const [from, before, begun] = [await askedBytes(world), await loads(world), performance.now()];
  await setTimeout(minutes * 60_000);
  const passed = (performance.now() - begun) / 1000;
  const [requests, after] = [await askedSince(world, from), await loads(world)];
  console.log(
    `\n${pools} idle pools for ${Math.round(passed)} s: ${(requests.length / passed).toFixed(2)} requests a second`,
  );
  printRequests(requests, passed);
  for (const [name, { cpuSeconds, residentMib }] of after) {
    const cpu = (cpuSeconds - (before.get(name)?.cpuSeconds ?? 0)) / passed;
    console.log(`${name.padEnd(12)} ${(100 * cpu).toFixed(1).padStart(5)} % of a core, ${residentMib} MiB resident`);
  }
  return requests.length / passed;
}

function printRequests(requests: Asked[], passed: number): void {
  const counts = new Map<string, number>();
  for (const { by, verb, resource } of requests) {
    const kind = `${by.padEnd(12)} ${verb.padEnd(8)} ${resource}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  for (const [kind, count] of [...counts].sort(([, a], [, b]) => b - a)) {
    console.log(`${kind.padEnd(60)} ${String(count).padStart(5)}  ${(count / passed).toFixed(3)} a second`);
  }
}

/**
 * Prints and returns the requests per second for renewing the credentials of all pools, extrapolated from renewals for
 * at most ten pools.
 */
async function measureRenewal(world: World): Promise<number> {
  const due = Array.from({ length: Math.min(10, pools) }, (_, nth) => poolOf(nth));
  const from = await askedBytes(world);
  await renewNow(world, due);
  await untilRenewed(world, due);
  await untilQuiet(world);
  const requests = (await askedSince(world, from)).filter(isForWork);
  const perSecond = requests.length / due.length * pools / (lifeSeconds * dueAfter);
  console.log(
    `\n${due.length} pools renewed with ${requests.length} requests: ${perSecond.toFixed(2)} a second for all`,
  );
  printRequests(requests, lifeSeconds * dueAfter / pools * due.length);
  return perSecond;
}

function seconds(since: number): number {
  return Math.round((performance.now() - since) / 1000);
}

await withWorld({ audited: ourUsers, watchSeconds }, async (world) => {
  const begun = performance.now();
  await createPools(world);
  await untilQuiet(world);
  console.log(`${pools} pools are published after ${seconds(begun)} s`);
  const idle = await measureIdle(world);
  const all = idle + await measureRenewal(world);
  console.log(`\nidle, with renewals: ${all.toFixed(2)} requests a second; at most ${mostPerSecond} is allowed`);
  if (all > mostPerSecond) process.exitCode = 1;
});
process.exit();
