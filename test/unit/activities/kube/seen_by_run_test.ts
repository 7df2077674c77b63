import { equal } from "node:assert/strict";
import { SeenByRun } from "../../../../activities/kube/seen_by_run.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

const { client } = new FakeKube();
const [noted, moment, later] = [1_000_000, 1_029_000, 1_031_000];

const note = (seen: SeenByRun<string>, runId: string): Promise<void> =>
  inActivity(() => Promise.resolve(seen.note(client, `by ${runId}`, noted)), { runId });

const get = (seen: SeenByRun<string>, runId: string, { at = moment, by = client } = {}): Promise<string | undefined> =>
  inActivity(() => Promise.resolve(seen.get(by, at)), { runId, activityId: "9" });

Deno.test("SeenByRun tells every activity of a run, and none of another", async () => {
  const seen = new SeenByRun<string>();
  await note(seen, "one");
  for (let nth = 0; nth < 2; nth++) equal(await get(seen, "one"), "by one");
  equal(await get(seen, "other"), undefined);
});

Deno.test("SeenByRun tells nothing when a moment has passed, nor of another API server", async () => {
  const seen = new SeenByRun<string>();
  await note(seen, "one");
  equal(await get(seen, "one", { at: later }), undefined);
  equal(await get(seen, "one", { by: new FakeKube().client }), undefined);
});

Deno.test("SeenByRun keeps what the last thousand runs have seen", async () => {
  const seen = new SeenByRun<string>();
  for (let nth = 0; nth <= 1_000; nth++) await note(seen, `run-${nth}`);
  equal(await get(seen, "run-0"), undefined);
  equal(await get(seen, "run-1"), "by run-1");
});

Deno.test("SeenByRun keeps nothing for who is no activity", () => {
  const seen = new SeenByRun<string>();
  seen.note(client, "seen");
  equal(seen.get(client), undefined);
});
