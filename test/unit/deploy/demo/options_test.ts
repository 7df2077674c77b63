import assert from "node:assert/strict";
import { parseOptions, usage, UsageError } from "../../../../deploy/local/demo/options.ts";
import { storyNames } from "../../../../deploy/local/demo/stories/story_names.ts";

const simulated = { machines: "simulated", installDocker: false };

Deno.test("parseOptions: defaults to three machines, four seconds and a random seed", () => {
  const { seed, ...rest } = parseOptions([]);
  const numbers = { replicas: 3, bootSeconds: 4, cutSeconds: 30 };
  assert.deepEqual(rest, { ...simulated, ...numbers, keep: false, json: false, help: false });
  assert.ok(Number.isInteger(seed) && seed > 0);
});

Deno.test("parseOptions: reads every flag", () => {
  const args = ["--replicas", "5", "--boot-seconds=0.5", "--seed", "7", "--keep", "--json", "--help"];
  const numbers = { replicas: 5, bootSeconds: 0.5, cutSeconds: 30, seed: 7 };
  assert.deepEqual(parseOptions(args), { ...simulated, ...numbers, keep: true, json: true, help: true });
});

Deno.test("parseOptions: accepts container machines, which really boot, and the flags that apply only to them", () => {
  const { machines, installDocker } = parseOptions(["--machines", "container", "--install-docker"]);
  assert.deepEqual([machines, installDocker], ["container", true]);
  const wrong: [args: string[], reason: RegExp][] = [
    [["--machines", "metal"], /Invalid --machines "metal": must be one of simulated, container/],
    [["--install-docker"], /Invalid --install-docker: simulated machines do not use a Docker engine/],
    [["--machines=container", "--boot-seconds=1"], /Invalid --boot-seconds "1": .*applies to simulated machines only/],
    [["--machines=container", "--story=pdb"], /Invalid --machines "container": story "pdb" needs simulated/],
  ];
  for (const [args, reason] of wrong) assert.throws(() => parseOptions(args), reason);
});

Deno.test("parseOptions: names an unknown flag or word", () => {
  assert.throws(() => parseOptions(["--fast"]), (error) => error instanceof UsageError && /--fast/.test(error.message));
  assert.throws(
    () => parseOptions(["quickly"]),
    (error) => error instanceof UsageError && /quickly/.test(error.message),
  );
  assert.throws(() => parseOptions(["--replicas"]), UsageError);
});

Deno.test("parseOptions: refuses numbers out of range, fractional counts of machines, and text instead of numbers", () => {
  const wrong: Record<string, string[]> = {
    "--replicas": ["0", "21", "2.5", "many", " ", "-1"],
    "--boot-seconds": ["0", "1e9", "soon"],
    "--seed": ["-1", "1.5", "4294967296"],
  };
  for (const [flag, texts] of Object.entries(wrong)) {
    for (const text of texts) {
      assert.throws(
        () => parseOptions([`${flag}=${text}`]),
        new RegExp(`Invalid ${flag} "${text}": must be a `),
        `${flag}=${text}`,
      );
    }
  }
});

Deno.test("parseOptions: accepts the name of a story, and refuses --replicas for a story that sets its own value", () => {
  const { seed: _, ...rest } = parseOptions(["--story", "canary", "--json"]);
  const numbers = { replicas: 3, bootSeconds: 4, cutSeconds: 30 };
  assert.deepEqual(rest, { ...simulated, story: "canary", ...numbers, keep: false, json: true, help: false });
  assert.throws(
    () => parseOptions(["--story", "fable"]),
    /Invalid --story "fable": must be one of canary, .*abort, scaling-group, in-place, installed/,
  );
  assert.throws(
    () => parseOptions(["--story", "pdb", "--replicas", "5"]),
    /Invalid --replicas "5": story "pdb" sets its own value/,
  );
});

Deno.test("parseOptions: accepts simulated and container machines for the stories scaling-group and in-place", () => {
  for (const story of ["scaling-group", "in-place"]) {
    for (const kind of ["simulated", "container"]) {
      assert.equal(parseOptions([`--story=${story}`, `--machines=${kind}`]).machines, kind);
    }
    assert.match(usage, new RegExp(`"${story}" .*(either kind|does too):.* simulated nodes.*containers`));
  }
});

Deno.test("parseOptions: accepts story installed only with container machines, and --cut-seconds only with that story", () => {
  const { machines, cutSeconds } = parseOptions(["--story=installed", "--machines=container", "--cut-seconds=600"]);
  assert.deepEqual([machines, cutSeconds], ["container", 600]);
  assert.throws(
    () => parseOptions(["--story=installed"]),
    /Invalid --story "installed": it needs --machines container/,
  );
  assert.throws(() => parseOptions(["--cut-seconds=5"]), /Invalid --cut-seconds "5": only story "installed"/);
});

Deno.test("parseOptions: accepts story scaling-group with simulated and with container machines", () => {
  const kinds = ["simulated", "container"].map((kind) => {
    return parseOptions(["--story=scaling-group", `--machines=${kind}`]).machines;
  });
  assert.deepEqual(kinds, ["simulated", "container"]);
});

Deno.test("usage: names every flag and every story", () => {
  for (const story of storyNames) assert.ok(usage.includes(story), story);
  for (
    const flag of ["story", "machines", "install-docker", "replicas", "boot-seconds", "seed", "keep", "json", "help"]
  ) {
    assert.match(usage, new RegExp(`--${flag} `));
  }
});
