import { equal } from "node:assert/strict";
import { HandedOn } from "../../../../activities/kube/handed_on.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

const { client } = new FakeKube();
const [given, later] = [1_000_000, 1_006_000];

/** What activity `taker` takes of what activity `giver` has given. */
async function taken(
  giver: { runId?: string; activityId: string },
  taker: { runId?: string; activityId: string },
  { at = given, by = client } = {},
): Promise<string | undefined> {
  const handed = new HandedOn<string>();
  await inActivity(() => Promise.resolve(handed.give(client, "read", given)), giver);
  return await inActivity(() => Promise.resolve(handed.take(by, at)), taker);
}

Deno.test("HandedOn reaches the next activity of a run, and no other", async () => {
  equal(await taken({ activityId: "7" }, { activityId: "8" }), "read");
  for (const activityId of ["6", "7", "9", "77"]) equal(await taken({ activityId: "7" }, { activityId }), undefined);
  equal(await taken({ activityId: "7" }, { activityId: "8", runId: "another" }), undefined);
});

Deno.test("HandedOn reaches nobody when a moment has passed, and nobody who asks another API server", async () => {
  equal(await taken({ activityId: "7" }, { activityId: "8" }, { at: later }), undefined);
  equal(await taken({ activityId: "7" }, { activityId: "8" }, { by: new FakeKube().client }), undefined);
});

Deno.test("HandedOn is taken once", async () => {
  const handed = new HandedOn<string>();
  await inActivity(() => Promise.resolve(handed.give(client, "read")), { activityId: "1" });
  const take = (): Promise<string | undefined> =>
    inActivity(() => Promise.resolve(handed.take(client)), { activityId: "2" });
  equal(await take(), "read");
  equal(await take(), undefined);
});

Deno.test("HandedOn keeps nothing for who is no activity", () => {
  const handed = new HandedOn<string>();
  handed.give(client, "read");
  equal(handed.take(client), undefined);
});
