import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { loadYaml } from "@kubernetes/client-node";
import { stories } from "../../../../../deploy/local/demo/stories/catalogue.ts";
import { rolloutPolicy } from "../../../../../deploy/local/demo/stories/policy_objects.ts";
import { type StoryName, storyNames } from "../../../../../deploy/local/demo/stories/story_names.ts";
import { RolloutPolicySpec } from "../../../../../activities/policy/rollout_policy.ts";

const definition = new URL("../../../../../deploy/kubernetes/crds/rollout_policies.yaml", import.meta.url);

Deno.test("stories: the catalogue has exactly the names that --story accepts", () => {
  assert.deepEqual(Object.keys(stories).sort(), [...storyNames].sort());
});

Deno.test("stories: each story uses a valid RolloutPolicy", () => {
  for (const name of storyNames) {
    const { spec } = rolloutPolicy(stories[name].policy) as { spec: unknown };
    assert.ok(RolloutPolicySpec.safeParse(spec).success, name);
  }
});

Deno.test("rolloutPolicy: returns an object with the apiVersion and kind of the RolloutPolicy CRD", async () => {
  const crd = loadYaml(await readFile(fileURLToPath(definition), "utf8")) as {
    spec: { group: string; names: { kind: string }; versions: { name: string }[] };
  };
  const { apiVersion, kind } = rolloutPolicy({});
  assert.deepEqual([apiVersion, kind], [`${crd.spec.group}/${crd.spec.versions[0]?.name}`, crd.spec.names.kind]);
});

/**
 * Stories that tests in test/campaign run as the demo does; "installed" needs machines that really boot. Integration
 * tests run all other stories, without the demo.
 */
const inCampaign: Partial<Record<StoryName, string>> = {
  "abort": "campaign/told_stories",
  "bad-profile": "campaign/told_stories",
  "canary": "campaign/told_stories",
  "in-place": "campaign/told_stories",
  "installed": "campaign/installed",
  "scaling-group": "campaign/scaling_group_story",
  "window": "campaign/told_stories",
};

Deno.test("stories: each story has a test", async () => {
  const tests = new URL("../../../../", import.meta.url);
  for (const name of storyNames) {
    const file = inCampaign[name] ?? `integration/stories/${name.replaceAll("-", "_")}`;
    const text = await readFile(new URL(`${file}_test.ts`, tests), "utf8");
    assert.match(text, new RegExp(`(testStory|keepsPromises)\\("${name}"`));
  }
});
