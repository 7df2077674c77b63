/**
 * The number of requests to the API server by Ostler's processes: for one change, for a renewal, and while nothing
 * changes.
 */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { asked, askedForWork, isOfProcess, ourUsers, untilQuiet } from "./asked.ts";
import { renewNow, untilRenewed } from "./due_credentials.ts";
import { machineDeployment, poolPath, poolsPath, rollTo } from "./pool_objects.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

/** Maximum number of requests for one change of an existing pool without machines. */
const most = 16;
/**
 * Maximum number of requests for renewing the credentials of one converged pool, including its share of the requests
 * that serve several pools at once.
 */
const mostForRenewal = 12;
const renewed = ["pool-1", "pool-2", "pool-3", "pool-4", "pool-5"];
const pools = 20;
const idleSeconds = 30;

Deno.test("requests: a change of a pool without machines needs at most 16, a renewal at most 12, and no idle pool is read", async () => {
  await withWorld({ audited: ourUsers }, async (world) => {
    for (let nth = 0; nth < pools; nth++) {
      await world.create(poolsPath(), machineDeployment({ name: `pool-${nth}`, replicas: 0 }));
    }
    for (let nth = 0; nth < pools; nth++) await world.untilPhase(`pool-${nth}`, "Converged");
    await untilQuiet(world);
    await changesCost(world);
    await renewalsCost(world);
    await idleCosts(world);
  });
});

async function changesCost(world: World): Promise<void> {
  const before = (await askedForWork(world)).length;
  await world.patch(poolPath("pool-0"), rollTo("1.36.1"));
  await world.until("the new revision", async () => (await world.status("pool-0"))?.revision === "2");
  await world.untilPhase("pool-0", "Converged");
  await untilQuiet(world);
  const requests = (await askedForWork(world)).slice(before);
  assert.ok(requests.length <= most, `${requests.length} requests:\n${requests.join("\n")}`);
}

async function renewalsCost(world: World): Promise<void> {
  const before = (await askedForWork(world)).length;
  await renewNow(world, renewed);
  await untilRenewed(world, renewed);
  await untilQuiet(world);
  const requests = (await askedForWork(world)).slice(before);
  const each = requests.length / renewed.length;
  assert.ok(
    each <= mostForRenewal,
    `Counted ${each} requests for each of ${renewed.length} pools:\n${requests.join("\n")}`,
  );
}

// While nothing changes no request may name a pool, so that a thousand pools cost the same.
async function idleCosts(world: World): Promise<void> {
  const before = (await asked(world)).length;
  await setTimeout(idleSeconds * 1000);
  const requests = (await asked(world)).slice(before);
  assert.deepEqual(requests.filter((request) => !isOfProcess(request)), []);
  assert.ok(requests.length <= idleSeconds, `${requests.length} requests in ${idleSeconds} seconds`);
}
