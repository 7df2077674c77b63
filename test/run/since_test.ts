import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./children.ts";
import { groups } from "./groups.ts";
import { importGraph } from "./import_graph.ts";
import { filesOf } from "./pieces.ts";
import { affected, changedFiles, readGraph, type Selection, sinceLines } from "./since.ts";

const texts = {
  "test/unit/budget_test.ts": 'import { budget } from "../../workflows/budget.ts";',
  "test/unit/main_test.ts": 'const main = new URL("../../cli/main.ts", import.meta.url);',
  "test/golden/profile_test.ts": 'import { render } from "../../profiles/render.ts";',
  "test/integration/stories/demo_test.ts": 'const args = ["task", "--quiet", "demo"];',
  "test/integration/world_test.ts": 'import { start } from "../../deploy/processes.ts";',
  "workflows/mod.ts": 'export * from "./budget.ts";',
  "workflows/budget.ts": 'import type { Node } from "./node.ts";',
  "workflows/node.ts": "",
  "workers/worker.ts": 'const path = new URL("../workflows/mod.ts", import.meta.url);',
  "workers/controller.ts": "// from the text of ./worker.ts",
  "cli/main.ts": 'const { plan } = await import("./plan.ts");',
  "cli/plan.ts": "",
  "deploy/demo/main.ts": 'import { start } from "../processes.ts";',
  "deploy/processes.ts": 'const args = [`workers/${name}.ts`];\nconst crds = new URL("./crds/", import.meta.url);',
  "profiles/render.ts": "const file = new URL(`./${template}.eta`, import.meta.url);",
};

const files = [
  ...Object.keys(texts),
  "deploy/crds/pools.yaml",
  "profiles/flatcar/packages.eta",
  ".ci/run",
  "README.md",
];
const tasks = { demo: "deno run --allow-run deploy/demo/main.ts" };
const graph = importGraph(new Map(Object.entries(texts)), { files, tasks });

const small = {
  unit: ["test/unit/budget_test.ts", "test/unit/main_test.ts"],
  golden: ["test/golden/profile_test.ts"],
  integration: ["test/integration/stories/demo_test.ts", "test/integration/world_test.ts"],
};

const selected = ({ groups }: Selection): { run: string[]; leftOut: string[] } => {
  return { run: groups.flatMap(({ run }) => run), leftOut: groups.flatMap(({ leftOut }) => leftOut) };
};

Deno.test("importGraph: distinguishes imports, started modules and files that are read", () => {
  deepEqual(graph.get("workers/worker.ts"), { imports: [], starts: ["workflows/mod.ts"], reads: [] });
  deepEqual(graph.get("cli/main.ts"), { imports: ["cli/plan.ts"], starts: [], reads: [] });
  deepEqual(graph.get("deploy/processes.ts"), {
    imports: [],
    starts: ["workers/worker.ts", "workers/controller.ts"],
    reads: ["deploy/crds/pools.yaml"],
  });
  deepEqual(graph.get("profiles/render.ts")?.reads, ["profiles/flatcar/packages.eta"]);
  deepEqual(graph.get("test/integration/stories/demo_test.ts")?.starts, ["deploy/demo/main.ts"]);
  deepEqual(graph.get("workers/controller.ts"), { imports: [], starts: [], reads: [] });
});

Deno.test("affected: selects tests through imports of any depth, including types, and leaves out those that only start processes", () => {
  deepEqual(selected(affected(small, ["workflows/node.ts"], graph)), {
    run: ["test/unit/budget_test.ts"],
    leftOut: small.integration,
  });
});

Deno.test("affected: selects a unit test that starts the changed module, and an integration test that imports it", () => {
  deepEqual(selected(affected(small, ["cli/plan.ts"], graph)), { run: ["test/unit/main_test.ts"], leftOut: [] });
  deepEqual(selected(affected(small, ["deploy/processes.ts"], graph)), {
    run: ["test/integration/world_test.ts"],
    leftOut: ["test/integration/stories/demo_test.ts"],
  });
});

Deno.test("affected: selects the users of a changed or deleted file that is read by pattern or folder", () => {
  deepEqual(selected(affected(small, ["profiles/flatcar/packages.eta"], graph)).run, small.golden);
  deepEqual(selected(affected(small, ["deploy/crds/pools.yaml"], graph)).run, ["test/integration/world_test.ts"]);
});

Deno.test("affected: selects no other test file for a change of a test file", () => {
  const [changed = ""] = small.integration;
  deepEqual(selected(affected(small, [changed], graph)), { run: [changed], leftOut: [] });
});

Deno.test("affected: selects every test for a file that no module names, but none for Markdown", () => {
  const all = Object.values(small).flat();
  for (const file of [".ci/run", "deno.json", "package.json", "test/run/lanes.ts"]) {
    const selection = affected(small, ["cli/plan.ts", file], graph);
    deepEqual([selection.everythingFor, selected(selection)], [file, { run: all, leftOut: [] }]);
  }
  deepEqual(selected(affected(small, ["README.md"], graph)).run, []);
});

Deno.test("sinceLines: names the tests that are left out", () => {
  const changed = ["workflows/node.ts", "README.md"];
  deepEqual(sinceLines("main", changed, affected(small, changed, graph)), [
    "2 files changed since main. Test files that use the change:",
    "  unit           1 of 2 files",
    "Left out, as only processes that these tests start use the change; run `deno task test` before landing:",
    "  integration    2 of 2 files: stories/demo, world",
  ]);
  deepEqual(sinceLines("main", ["README.md"], affected(small, ["README.md"], graph)), [
    "1 file changed since main. No test file to run uses the change.",
  ]);
  const [title] = sinceLines("main", ["deno.json"], affected(small, ["deno.json"], graph));
  equal(title, '1 file changed since main. All tests run, as "deno.json" can break any of them:');
});

Deno.test("changedFiles: lists committed, staged, unstaged, untracked, moved and deleted files", async () => {
  using checkout = new Checkout(["committed", "staged", "unstaged", "moved", "deleted", "same"]);
  checkout.write("committed");
  checkout.git("commit", "--quiet", "--all", "--message", "second");
  checkout.write("staged");
  checkout.git("add", "staged");
  for (const name of ["unstaged", "untracked ü"]) checkout.write(name);
  renameSync(join(checkout.folder, "moved"), join(checkout.folder, "new"));
  rmSync(join(checkout.folder, "deleted"));
  deepEqual(
    await changedFiles("HEAD~1", checkout.folder),
    ["committed", "deleted", "moved", "new", "staged", "unstaged", "untracked ü"],
  );
});

Deno.test("changedFiles: rejects a revision that git does not know", async () => {
  using checkout = new Checkout(["same"]);
  const message = 'Cannot find revision "nowhere": git does not know it; name a commit, branch or tag';
  await rejects(changedFiles("nowhere", checkout.folder), { message });
  await rejects(changedFiles("--all", checkout.folder), /Cannot find revision "--all": git does not know it/);
});

Deno.test({
  name: "affected: selects few of this repository's tests for a change in one top-level folder",
  // Only git knows which files belong to a checkout.
  ignore: !existsSync(join(root, ".git")),
  fn: async () => {
    const real = Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, filesOf(group)]));
    const graph = await readGraph([]);
    const of = (file: string): ReturnType<typeof selected> => selected(affected(real, [file], graph));
    const ofBudget = of("workflows/policy/budget.ts");
    ok(ofBudget.run.includes("test/unit/workflows/policy/budget_test.ts"));
    ok(ofBudget.run.includes("test/replay/replay_test.ts"));
    deepEqual(ofBudget.run.filter((file) => /^test\/(golden|unit\/profiles|integration)\//.test(file)), []);
    ok(ofBudget.leftOut.includes("test/integration/rollout_test.ts"));
    ok(ofBudget.leftOut.includes("test/integration/stories/pdb_test.ts"));
    const ofTemplate = of("profiles/flatcar/packages.eta").run;
    ok(ofTemplate.includes("test/golden/default_profiles_test.ts"));
    deepEqual(ofTemplate.filter((file) => /^test\/(replay|unit\/workflows)\//.test(file)), []);
    const ofCommand = of("cli/rollout/plan_command.ts").run;
    ok(ofCommand.includes("test/unit/cli/kubectl_plugin_test.ts"), "Expected a script that starts the command");
    deepEqual(ofCommand.filter((file) => /^test\/(golden|replay|integration|machines)\//.test(file)), []);
  },
});

/** A git repository with one commit of some files. */
class Checkout implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "ostler-since-test-"));

  constructor(names: string[]) {
    this.git("init", "--quiet");
    for (const name of names) writeFileSync(join(this.folder, name), `first ${name}`);
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message", "first");
  }

  write(name: string): void {
    writeFileSync(join(this.folder, name), "second");
  }

  git(...args: string[]): void {
    const identity = ["-c", "user.name=ada", "-c", "user.email=ada@localhost", "-c", "commit.gpgsign=false"];
    execFileSync("git", [...identity, ...args], { cwd: this.folder, stdio: "ignore" });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}
