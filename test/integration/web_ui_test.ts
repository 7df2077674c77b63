/** Temporal's web UI for a rollout that runs, is halted, and was rolled back. */
import assert from "node:assert/strict";
import { Browser, chromiumPath, hasChromium } from "./browser.ts";
import {
  machineDeployment,
  policiesPath,
  poolPath,
  poolsPath,
  rolloutPolicy,
  rollTo,
  workload,
} from "./pool_objects.ts";
import { inSharedWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const labels = { pool: "pool" };
const broken = (image: string): boolean => image.endsWith("-broken");

/** The first wave soaks until the test promotes it. */
const policy = {
  waves: [{ upTo: 1, soak: "1h" }, { upTo: "100%" }],
  gates: [{ name: "node-ready", run: "EachWave", within: "60s", nodeCondition: { type: "Ready", status: "True" } }],
};

/** Short deadlines only for broken machines, because on a busy computer good ones may take longer. */
const join = { instance: "20s", address: "20s", registered: "20s", ready: "20s", attempts: 0 };

const pages: [string, (world: World, browser: Browser) => Promise<void>][] = [
  ["a running rollout: shows its machines, and what blocks them", running],
  ["a soaking rollout: shows when the soak ends, and how to end it earlier", soaking],
  ["a halted rollout: shows why it halted, what is held, and what to do", halted],
  ["a rolled back rollout: shows from which revision, and why", rolledBack],
];

const name = "details: describe a run in the web UI without opening an event";

Deno.test({
  name: hasChromium ? name : `${name} (skipped: there is no "${chromiumPath}")`,
  ignore: !hasChromium,
  // The browser's driver keeps its own timers.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t): Promise<void> {
    const faults = [{ kind: "not-ready" as const, when: ({ image }: { image: string }) => broken(image) }];
    await inSharedWorld({ seed: 11, script: { faults } }, async (world) => {
      const browser = await Browser.open();
      try {
        await t.step(`creates a pool; screenshots of it are stored in "${browser.folder}"`, () => create(world));
        for (const [what, look] of pages) {
          // Each page is read in the state that the previous step created, so a failed step ends the test.
          if (!await t.step(what, () => look(world, browser))) break;
        }
      } finally {
        await browser.close();
      }
    });
  },
});

async function create(world: World): Promise<void> {
  await world.create(policiesPath(), rolloutPolicy("careful", policy, labels));
  await world.create(poolsPath(), machineDeployment({ replicas: 3, labels }));
  await world.untilPhase("pool", "Converged");
}

async function running(world: World, browser: Browser): Promise<void> {
  const { deployment, budget } = workload("web", 3);
  await world.create("/apis/apps/v1/namespaces/default/deployments", deployment);
  const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  await world.create(budgets, budget);
  await world.patch(`${budgets}/web`, { spec: { minAvailable: 3 } });
  await world.until("three pods Running", () => areRunning(world));
  await world.patch(poolPath("pool"), rollTo("1.36.1"));
  // Each load of the page keeps a core busy for seconds, so the page is opened only when it can show everything that is
  // expected.
  await world.until(
    "the blocked drain",
    async () => (await world.status("pool"))?.underway?.some(({ blockers = [] }) => blockers.length > 0),
  );
  const page = await browser.look(world, { name: "running", pool: "pool", expected: /is blocked by/ });
  tells(page.details, [
    /^Rolling: /,
    /1 of 3 updated, [34] ready/,
    /Wave 1 of 2/,
    /1 of 1\s+rolling/,
    /0 of 2\s+waiting/,
    /Under way/,
    /pool-\S+\s+Draining\s+\d{4}-\d\d-\d\d \d\d:\d\d\s+\d{4}-\d\d-\d\d \d\d:\d\d/,
    /pool-\S+ is blocked by pod default\/web-\S+ of Deployment default\/web: .*PodDisruptionBudget/,
    /Let the pods listed above move/,
    /Stop admitting machines: ostler pause pool -n kube-system/,
    /Target image docker:\/\/images\.example\/ubuntu:1\.36\.1, kubelet 1\.36\.1/,
    /policy careful/,
  ]);
  assert.equal(page.tables, 2);
  assert.match(page.summary, /Roll out kube-system\/pool/);
  await world.patch(`${budgets}/web`, { spec: { minAvailable: 0 } });
}

async function areRunning(world: World): Promise<boolean> {
  const pods = await world.list<{ status: { phase?: string } }>("/api/v1/namespaces/default/pods");
  return pods.length === 3 && pods.every(({ status }) => status.phase === "Running");
}

async function soaking(world: World, browser: Browser): Promise<void> {
  await world.until("the soak", async () => (await world.status("pool"))?.reason === "Soaking");
  const page = await browser.look(world, { name: "soaking", pool: "pool", expected: /soaking until/ });
  tells(page.details, [
    /^Rolling: Wave 1 soaks until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n/,
    /1 of 3 updated, 3 ready, 2 old/,
    /1 of 1\s+soaking until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/,
    /0 of 2\s+waiting/,
    /End the soak now: ostler promote pool -n kube-system/,
  ]);
  assert.equal(page.tables, 1);
}

async function halted(world: World, browser: Browser): Promise<void> {
  await order(world, "promote", { full: true });
  await world.untilPhase("pool", "Converged");
  await world.patch(`${policiesPath()}/careful`, { spec: { join } });
  await world.patch(poolPath("pool"), rollTo("1.36.1", "docker://images.example/ubuntu:new-broken"));
  await world.untilPhase("pool", "Halted");
  const page = await browser.look(world, { name: "halted", pool: "pool", expected: /^Halted: / });
  tells(page.details, [
    /^Halted: Quarantined/,
    /Revision \d+ \(docker:\/\/images\.example\/ubuntu:new-broken\) is quarantined since/,
    /ready/,
    /0 of 3 updated, 3 ready/,
    /1 failed/,
    /Wave 1 of 2/,
    /0 of 1\s+halted/,
    /Change the MachineDeployment/,
    /Retry with fresh attempts: ostler retry pool -n kube-system/,
    /Roll back to the last good revision: ostler abort pool -n kube-system/,
  ]);
}

async function rolledBack(world: World, browser: Browser): Promise<void> {
  await world.patch(`${policiesPath()}/careful`, { spec: { onFailure: "Rollback" } });
  await world.patch(poolPath("pool"), rollTo("1.36.1", "docker://images.example/ubuntu:newer-broken"));
  await world.untilPhase("pool", "RolledBack");
  const page = await browser.look(world, { name: "rolled-back", pool: "pool", expected: /^RolledBack/ });
  tells(page.details, [
    /^RolledBack\n/,
    /All 3 machines run \S+:1\.36\.1 again; revision \d+ was rolled back: .*did not pass join stage .ready.*not Ready/,
    /3 of 3 updated, 3 ready, 1 failed/,
    /Quarantined revision \d+ \(docker:\/\/images\.example\/ubuntu:newer-broken\) since/,
    /What to do The failed spec is quarantined/,
    /Target image docker:\/\/images\.example\/ubuntu:1\.36\.1/,
  ]);
  assert.equal(page.tables, 0);
}

async function order(world: World, update: string, command: object): Promise<void> {
  const handle = world.temporal.workflow.getHandle("machine-deployment/kube-system/pool");
  await handle.executeUpdate(update, { args: [{ by: "test", reason: "to see the next page", ...command }] });
}

/** Expects a match of each pattern anywhere on the page. */
function tells(page: string, parts: readonly RegExp[]): void {
  const missing = parts.filter((part) => !part.test(page));
  assert.deepEqual(missing, [], `Unexpected content of the page: ${page}`);
}
