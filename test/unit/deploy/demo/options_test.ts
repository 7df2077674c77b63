import assert from "node:assert/strict";
import { parseOptions, usage, UsageError } from "../../../../deploy/local/demo/options.ts";
import { storyNames } from "../../../../deploy/local/demo/stories/story_names.ts";

Deno.test("parseOptions gives three machines, four seconds and a random seed by default", () => {
  const { seed, ...rest } = parseOptions([]);
  assert.deepEqual(rest, { replicas: 3, bootSeconds: 4, keep: false, json: false, help: false });
  assert.ok(Number.isInteger(seed) && seed > 0);
});

Deno.test("parseOptions reads every flag", () => {
  const args = ["--replicas", "5", "--boot-seconds=0.5", "--seed", "7", "--keep", "--json", "--help"];
  assert.deepEqual(parseOptions(args), { replicas: 5, bootSeconds: 0.5, seed: 7, keep: true, json: true, help: true });
});

Deno.test("parseOptions names the flag or word that it does not know", () => {
  assert.throws(() => parseOptions(["--fast"]), (error) => error instanceof UsageError && /--fast/.test(error.message));
  assert.throws(
    () => parseOptions(["quickly"]),
    (error) => error instanceof UsageError && /quickly/.test(error.message),
  );
  assert.throws(() => parseOptions(["--replicas"]), UsageError);
});

Deno.test("parseOptions refuses numbers out of range, fractions of machines and words", () => {
  const wrong: Record<string, string[]> = {
    "--replicas": ["0", "21", "2.5", "many", " ", "-1"],
    "--boot-seconds": ["0", "1e9", "soon"],
    "--seed": ["-1", "1.5", "4294967296"],
  };
  for (const [flag, texts] of Object.entries(wrong)) {
    for (const text of texts) {
      assert.throws(
        () => parseOptions([`${flag}=${text}`]),
        new RegExp(`Cannot use ${flag} "${text}": a `),
        `${flag}=${text}`,
      );
    }
  }
});

Deno.test("parseOptions takes the name of a story, which brings its own machines", () => {
  const { seed: _, ...rest } = parseOptions(["--story", "canary", "--json"]);
  assert.deepEqual(rest, { story: "canary", replicas: 3, bootSeconds: 4, keep: false, json: true, help: false });
  assert.throws(
    () => parseOptions(["--story", "fable"]),
    /Cannot use --story "fable": one of canary, .*abort is needed/,
  );
  assert.throws(
    () => parseOptions(["--story", "pdb", "--replicas", "5"]),
    /Cannot use --replicas "5": story "pdb" brings its own/,
  );
});

Deno.test("usage names every flag and every story", () => {
  for (const story of storyNames) assert.ok(usage.includes(story), story);
  for (const flag of ["story", "replicas", "boot-seconds", "seed", "keep", "json", "help"]) {
    assert.match(usage, new RegExp(`--${flag} `));
  }
});
