import { deepEqual } from "node:assert/strict";
import { keepProfile, readKeptProfile } from "../../../../activities/config/kept_profile.ts";
import { defaultProfiles, parseProfile } from "../../../../profiles/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

Deno.test("kept profile: pools with the same profile each keep their own settings with it", async () => {
  const kube = new FakeKube();
  const [first] = await defaultProfiles();
  const profile = parseProfile(first?.spec);
  const good = (): Promise<string> => Promise.resolve("");
  const set: Record<string, Record<string, string>> = { a: { MaxPods: "10" }, b: { MaxPods: "20" }, c: {}, d: {} };
  for (const [name, settings] of Object.entries(set)) {
    const pool = { namespace: "fleet", name };
    await inActivity(() =>
      keepProfile(kube.client, { pool, inputs: "i", good, isNew: name !== "c", profile, settings })
    );
  }
  for (const [name, settings] of Object.entries(set)) {
    deepEqual(await readKeptProfile(kube.client, { namespace: "fleet", name }, "i"), { profile, settings });
  }
});
