import { deepEqual, equal, rejects } from "node:assert/strict";
import { withOwnCluster } from "../../../activities/own_cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";

const web = { namespace: "fleet", name: "web" };

/** Returns an activity of a worker that serves `cluster`, and the inputs with which the activity ran. */
function stepOf(cluster: string): { step: (input: { pool?: PoolRef }) => Promise<void>; done: unknown[] } {
  const done: unknown[] = [];
  const steps = withOwnCluster(cluster, {
    readPool: (input: { pool?: PoolRef }) => Promise.resolve(void done.push(input)),
  });
  return { step: steps.readPool, done };
}

Deno.test("ownCluster: activities accept pools of the worker's own cluster, and arguments without a pool", async () => {
  const { step, done } = stepOf("north");
  await step({ pool: { cluster: "north", ...web } });
  await step({});
  equal(done.length, 2);
  const plain = stepOf("");
  await plain.step({ pool: web });
  equal(plain.done.length, 1);
});

for (
  const [cluster, pool, state] of [
    [
      "north",
      { cluster: "south", ...web },
      'the pool belongs to cluster "south", but this worker serves cluster "north"',
    ],
    ["north", web, 'the pool belongs to the cluster without a name, but this worker serves cluster "north"'],
    [
      "",
      { cluster: "south", ...web },
      'the pool belongs to cluster "south", but this worker serves the cluster without a name',
    ],
  ] as const
) {
  Deno.test(`ownCluster: activities refuse a pool of another cluster: ${state}`, async () => {
    const { step, done } = stepOf(cluster);
    const message = `Failed to run activity "readPool" for pool "fleet/web": ${state}`;
    await rejects(step({ pool }), { type: "ObjectInvalid", nonRetryable: true, message });
    deepEqual(done, []);
  });
}

Deno.test("ownCluster: activities refuse a cluster-scoped object of another cluster", async () => {
  const done: unknown[] = [];
  const { admit } = withOwnCluster("north", {
    admit: (input: { object: { cluster?: string; name: string } }) => Promise.resolve(void done.push(input)),
  });
  await admit({ object: { cluster: "north", name: "w" } });
  await rejects(admit({ object: { name: "w" } }), { type: "ObjectInvalid", nonRetryable: true });
  equal(done.length, 1);
});
