import { deepEqual, equal, ok } from "node:assert/strict";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import type { Journal } from "../../../../../activities/clouds/driver.ts";
import { directCloud, GroupStage, next, pool } from "../../../../support/group_stage.ts";
import { useCloud } from "../../../../support/staged_cluster.ts";

/** Orders a machine by a driver that calls `work` with the journal of the order. */
async function ordered(work: (journal: Journal, stage: GroupStage) => Promise<void>): Promise<GroupStage> {
  const stage = new GroupStage({ size: 1 });
  stage.ask(next, { stage: "Workers", digest: hashOf(next) });
  const driver = directCloud(stage.cloud);
  const order: typeof driver.order = async (asked) => {
    ok(asked.journal);
    await work(asked.journal, stage);
    return await driver.order(asked);
  };
  useCloud(stage.client, () => Promise.resolve({ ...driver, order }));
  await stage.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" });
  return stage;
}

function attemptIn(stage: GroupStage): string | undefined {
  return stage.kube.get("pendingnodes", "workers-new-1")?.metadata.annotations?.["ostler.dev/attempt"];
}

Deno.test("fault G7: admit keeps the journal of an order in its record, before the cloud answers", async () => {
  const seen: unknown[] = [];
  const stage = await ordered(async (journal, stage) => {
    seen.push(
      await journal.read(),
      await journal.write({ from: "", to: "1 a" }),
      attemptIn(stage),
      await journal.read(),
    );
  });
  deepEqual(seen, ["", true, "1 a", "1 a"]);
  equal(attemptIn(stage), "1 a");
});

Deno.test("fault G7: admit changes no journal that another process has changed", async () => {
  const seen: unknown[] = [];
  await ordered(async (journal, stage) => {
    const writes = ["1 a", "1 b"].map((to) => journal.write({ from: "", to }));
    seen.push((await Promise.all(writes)).sort());
    seen.push(await journal.write({ from: "other", to: "2" }), attemptIn(stage) === "2");
  });
  deepEqual(seen, [[false, true], false, false]);
});
