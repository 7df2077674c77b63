import assert from "node:assert/strict";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import plugin from "./house_rules.ts";

interface Case {
  file: string;
  code: string;
  /** The rules that must report a finding; undefined if the code must have none. */
  finds?: string[];
}

function findings({ file, code }: Case): Deno.lint.Diagnostic[] {
  return Deno.lint.runPlugin(plugin, file, code);
}

function prove(name: string, cases: Case[]): void {
  Deno.test(`house rules: ${name}`, () => {
    for (const each of cases) {
      const found = findings(each).map((diagnostic) => diagnostic.id.replace("house/", ""));
      assert.deepEqual(found, each.finds ?? [], `${each.file}: ${each.code.slice(0, 200)}`);
    }
  });
}

const law = ["import-law"];
const dirty = (file: string, code: string, finds: string[] = law): Case => ({ file, code, finds });
const clean = (file: string, code: string): Case => ({ file, code });

/**
 * Returns two cases of a file that imports `target`, once as a value and once as a type; both must break the import
 * rules.
 */
function namedBy(file: string, target: string): Case[] {
  const path = posix.relative(posix.dirname(file), target);
  const specifier = path.startsWith(".") ? path : `./${path}`;
  return ["import", "import type"].map((verb) => dirty(file, `${verb} { x } from "${specifier}";`));
}

prove("policy imports only itself, and contracts as types", [
  clean("workflows/policy/budget.ts", `import { order } from "./order.ts";`),
  clean("workflows/policy/budget.ts", `import type { Member } from "../contracts/mod.ts";`),
  dirty("workflows/policy/budget.ts", `import { Member } from "../contracts/mod.ts";`),
  dirty("workflows/policy/budget.ts", `import { sleep } from "@temporalio/workflow";`),
  dirty("workflows/policy/budget.ts", `import type { Duration } from "@temporalio/workflow";`),
]);

prove("workflows import themselves and the SDK, and everything else only as types", [
  clean("workflows/replace_node.ts", `import { sleep } from "@temporalio/workflow"; import { plan } from "./plan.ts";`),
  clean("workflows/replace_node.ts", `import type { Activities } from "../activities/mod.ts";`),
  dirty("workflows/replace_node.ts", `import { drain } from "../activities/pods.ts";`),
  dirty("workflows/replace_node.ts", `import { type Activities } from "../activities/mod.ts";`),
  dirty("workflows/replace_node.ts", `import { z } from "zod";`),
  dirty("workflows/replace_node.ts", `import { readFile } from "node:fs/promises";`),
  dirty("workflows/replace_node.ts", `import type { Config } from "../workers/config.ts";`),
  dirty("workflows/replace_node.ts", `import { sleep } from "@temporalio/workflow-next";`),
]);

prove("steps/ and machine/ of workflows/ do not import each other, and state/ imports neither", [
  clean(
    "workflows/machine/drain.ts",
    `import { apply } from "../state/apply.ts"; import { awaits } from "../proxies.ts";`,
  ),
  clean("workflows/steps/see.ts", `import { isIdle } from "../state/tasks.ts";`),
  clean(
    "workflows/begin_steps.ts",
    `import { drain } from "./machine/drain.ts"; import { see } from "./steps/see.ts";`,
  ),
  dirty("workflows/machine/drain.ts", `import { see } from "../steps/see.ts";`),
  dirty("workflows/machine/drain.ts", `import type { Seen } from "../steps/see.ts";`),
  dirty("workflows/steps/see.ts", `import { drain } from "../machine/drain.ts";`),
  dirty("workflows/steps/see.ts", `import type { Drain } from "../machine/drain.ts";`),
  dirty("workflows/state/tasks.ts", `import { drain } from "../machine/drain.ts";`),
  dirty("workflows/state/tasks.ts", `import { see } from "../steps/see.ts";`),
]);

prove("profiles import only zod, eta and node: modules", [
  clean(
    "profiles/render.ts",
    `import { Eta } from "eta"; import { z } from "zod"; import { os } from "./ubuntu/profile.ts";`,
  ),
  dirty("profiles/ubuntu/profile.ts", `import type { Member } from "../../workflows/contracts/mod.ts";`),
  dirty("profiles/render.ts", `import { KubeConfig } from "@kubernetes/client-node";`),
]);

prove("activities implement contracts and never call workflows", [
  clean("activities/nodes.ts", `import { V1Node } from "@kubernetes/client-node"; import { z } from "zod";`),
  clean(
    "activities/nodes.ts",
    `import { createHash } from "node:crypto"; import { render } from "../profiles/mod.ts";`,
  ),
  clean("activities/nodes.ts", `import { heartbeat } from "@temporalio/activity";`),
  clean("activities/nodes.ts", `import type { NodeActivities } from "../workflows/contracts/mod.ts";`),
  dirty("activities/nodes.ts", `import { specChanged } from "../workflows/commands/messages.ts";`),
  dirty("activities/nodes.ts", `import type { Plan } from "../workflows/policy/plan.ts";`),
  dirty("activities/nodes.ts", `import { config } from "../workers/config.ts";`),
  dirty("activities/nodes.ts", `import { env } from "node:process";`),
]);

prove("activities/temporal imports @temporalio/worker only as a type, and no other activities", [
  clean("activities/temporal/server.ts", `import type { NativeConnection } from "@temporalio/worker";`),
  dirty("activities/temporal/server.ts", `import { NativeConnection } from "@temporalio/worker";`),
  dirty("activities/temporal/server.ts", `import { drain } from "../node/drain.ts";`),
]);

prove("cli imports contracts, messages, profiles and the kube client", [
  clean(
    "cli/plan.ts",
    `import { progress } from "../workflows/commands/messages.ts"; import { kube } from "../activities/kube/client.ts";`,
  ),
  clean(
    "cli/plan.ts",
    `import type { Progress } from "../workflows/contracts/mod.ts"; import { profiles } from "../profiles/mod.ts";`,
  ),
  dirty("cli/plan.ts", `import { config } from "../workers/config.ts";`),
  dirty("cli/plan.ts", `import type { Config } from "../workers/config.ts";`),
  clean("cli/plan.ts", `import { readTemporalServer } from "../activities/temporal/temporal_server.ts";`),
  dirty("cli/plan.ts", `import { askTemporal } from "../workers/temporal_trouble.ts";`),
  dirty("cli/plan.ts", `import { drain } from "../activities/pods.ts";`),
  dirty("cli/plan.ts", `import { rollOut } from "../workflows/roll_out.ts";`),
]);

const kinds = ["machine_controller", "node_pool", "scaling_group"];

prove("only the registry imports from a backend's folder, also as a type", [
  ...kinds.flatMap((kind) => [
    clean("activities/backends/registry.ts", `import { backend } from "./${kind}/mod.ts";`),
    clean("test/unit/x_test.ts", `import { backend } from "../../activities/backends/${kind}/mod.ts";`),
    ...["activities/mod.ts", "activities/pool/read_pool.ts", "activities/backends/contract.ts"].flatMap((file) =>
      namedBy(file, `activities/backends/${kind}/mod.ts`)
    ),
    ...["workers/worker.ts", "workers/metrics/registry.ts", "cli/rollout/nodes.ts", "deploy/local/demo/main.ts"]
      .flatMap((file) => namedBy(file, `activities/backends/${kind}/mod.ts`)),
    ...["deploy/release/main.ts", "deploy/hands/main.ts", "workflows/roll_out.ts"]
      .flatMap((file) => namedBy(file, `activities/backends/${kind}/mod.ts`)),
  ]),
  clean("workers/worker.ts", `import { watchAll } from "../activities/backends/registry.ts";`),
  clean("cli/rollout/nodes.ts", `import type { PoolNode } from "../../activities/backends/registry.ts";`),
]);

prove("a backend imports neither another backend nor the registry, also as a type", [
  ...kinds.flatMap((kind) => [
    clean(`activities/backends/${kind}/mod.ts`, `import { watchAll } from "./watch_all.ts";`),
    clean(`activities/backends/${kind}/mod.ts`, `import type { Backend } from "../contract.ts";`),
    clean(`activities/backends/${kind}/mod.ts`, `import { JoinedNodes } from "../joined_nodes.ts";`),
    ...namedBy(`activities/backends/${kind}/mod.ts`, "activities/backends/registry.ts"),
    ...kinds.filter((other) => other !== kind)
      .flatMap((other) => namedBy(`activities/backends/${kind}/mod.ts`, `activities/backends/${other}/mod.ts`)),
  ]),
]);

prove("only test/ and the demo import deploy/local", [
  clean("test/integration/stack_test.ts", `import { startStack } from "../../deploy/local/stack.ts";`),
  clean("deploy/local/demo/main.ts", `import { startStack } from "../stack.ts"; import Table from "cli-table3";`),
  dirty("workers/controller.ts", `import { startStack } from "../deploy/local/stack.ts";`),
  dirty("workers/controller.ts", `import type { Stack } from "../deploy/local/stack.ts";`),
  dirty("activities/nodes.ts", `import { startStack } from "../deploy/local/stack.ts";`),
  dirty("deploy/kubernetes/crds.ts", `import { startStack } from "../local/stack.ts";`),
  dirty("deploy/local/demo/main.ts", `import { runWorker } from "../../../workers/worker.ts";`),
]);

prove("only tests import test/", [
  clean(
    "workers/worker.ts",
    `import { createActivities } from "../activities/mod.ts"; import { Worker } from "@temporalio/worker";`,
  ),
  dirty("workers/worker.ts", `import { node } from "../test/support/node.ts";`),
  dirty("deploy/local/stack.ts", `import { node } from "../../test/support/node.ts";`),
]);

prove("every kind of import is checked", [
  dirty("workflows/roll_out.ts", `export { drain } from "../activities/pods.ts";`),
  dirty("workflows/roll_out.ts", `export * from "../activities/pods.ts";`),
  clean("workflows/roll_out.ts", `export type { Drain } from "../activities/pods.ts";`),
  dirty("workflows/roll_out.ts", `export const load = () => import("../activities/pods.ts");`),
  dirty("workflows/roll_out.ts", `export const load = (name: string) => import(name);`),
  dirty("workflows/roll_out.ts", `export type Config = import("../workers/config.ts").Config;`),
  clean("workflows/roll_out.ts", `export type Pods = import("../activities/pods.ts").Pods;`),
]);

prove("packages have bare names, and local modules complete file names", [
  dirty("workers/worker.ts", `import { z } from "npm:zod@4";`),
  dirty("workers/worker.ts", `import { assert } from "jsr:@std/assert";`),
  dirty("workers/worker.ts", `import { x } from "https://example.com/x.ts";`),
  dirty("workers/worker.ts", `import { x } from "/opt/x.ts";`),
  dirty("workers/worker.ts", `import { config } from "./config";`, ["import-extension"]),
  dirty("workers/worker.ts", `import { config } from "./config.js";`, ["import-extension"]),
  dirty("workers/worker.ts", `import { config } from "..";`, ["import-extension"]),
  clean("workers/worker.ts", `import crds from "../deploy/kubernetes/crds.json" with { type: "json" };`),
]);

prove("files are snake_case, have meaningful names and are in a folder with an import rule", [
  clean("workflows/replace_node.ts", ""),
  clean("test/unit/workflows/policy/budget_test.ts", ""),
  dirty("workflows/replaceNode.ts", "", ["file-name"]),
  dirty("workflows/replace-node.ts", "", ["file-name"]),
  dirty("workers/utils.ts", "", ["file-name"]),
  dirty("workers/types.ts", "", ["file-name"]),
  dirty("test/helpers/node.ts", "", ["file-name"]),
  dirty("main.ts", "", ["file-name"]),
  clean("workers/common_name.ts", ""),
]);

prove("files have at most 400 lines, in test/ 600", [
  clean("workers/worker.ts", "\n".repeat(400)),
  dirty("workers/worker.ts", "\n".repeat(401), ["file-length"]),
  clean("test/unit/worker_test.ts", "\n".repeat(600)),
  dirty("test/unit/worker_test.ts", "\n".repeat(601), ["file-length"]),
]);

prove("functions have at most 60 lines and 3 parameters", [
  clean("workers/worker.ts", `function run(a: A, b: B, c: C): void {${"\n".repeat(59)}}`),
  dirty("workers/worker.ts", `function run(): void {${"\n".repeat(60)}}`, ["function-size"]),
  dirty("workers/worker.ts", `const run = (a: A, b: B, c: C, d: D): void => {};`, ["function-size"]),
  dirty("workers/worker.ts", `class Run { go(a: A, b: B, c: C, d: D): void {} }`, ["function-size"]),
  clean("test/unit/worker_test.ts", `Deno.test("x", () => {${"\n".repeat(80)}});`),
]);

const undetermined = ["deterministic-workflows"];

prove("workflows are deterministic", [
  dirty("workflows/roll_out.ts", `export const at = Temporal.Now.instant();`, undetermined),
  dirty("workflows/roll_out.ts", `export const at = new Date();`, undetermined),
  dirty("workflows/roll_out.ts", `export const at = Date();`, undetermined),
  dirty("workflows/roll_out.ts", `export const at = performance.now();`, undetermined),
  dirty("workflows/roll_out.ts", `export const home = Deno.cwd();`, undetermined),
  dirty("workflows/roll_out.ts", `export const home = process.env.HOME;`, undetermined),
  dirty("workflows/roll_out.ts", `export const page = await fetch("http://x");`, undetermined),
  dirty("workflows/roll_out.ts", `export const page = await globalThis.fetch("http://x");`, undetermined),
  dirty("workflows/roll_out.ts", `export const get = { fetch };`, undetermined),
  clean("workflows/roll_out.ts", `export const at = new Date(Date.now()).toISOString();`),
  clean(
    "workflows/roll_out.ts",
    `export const state = { process: 1 }; state.process = 2; interface S { fetch: string }`,
  ),
  clean("activities/nodes.ts", `export const at = Temporal.Now.instant(); export const page = fetch("http://x");`),
]);

prove("policy takes the time as a parameter", [
  dirty("workflows/policy/window.ts", `export const at = Date.now();`, undetermined),
  dirty("workflows/policy/window.ts", `export const at = Math.random();`, undetermined),
  clean("workflows/policy/window.ts", `export const text = (ms: number): string => new Date(ms).toISOString();`),
]);

prove("only workers, deploy, cli and test read the environment", [
  dirty("activities/nodes.ts", `export const home = Deno.env.get("HOME");`, ["environment-at-the-edge"]),
  dirty("profiles/render.ts", `export const home = process.env.HOME;`, ["environment-at-the-edge"]),
  ...["workers/config.ts", "deploy/local/tools/main.ts", "cli/main.ts", "test/run.ts"].map((file) =>
    clean(file, `export const home = Deno.env.get("HOME");`)
  ),
]);

prove("error messages have no period at the end", [
  dirty("activities/nodes.ts", `throw new Error("Cannot start: no port.");`, ["error-message", "plain-english"]),
  dirty("activities/nodes.ts", "throw new TypeError(`Cannot start ${a}: no ${b}.`);", ["error-message"]),
  dirty("activities/nodes.ts", `throw new Error("Cannot start: " + "no port.");`, ["error-message"]),
  dirty("activities/nodes.ts", `throw ApplicationFailure.nonRetryable("Cannot x: y.", "T");`, [
    ...["error-message", "plain-english"],
  ]),
  clean(
    "activities/nodes.ts",
    "throw new Error(`Cannot start: no port ${a}`); new Error(message); new Error('Waiting...');",
  ),
]);

Deno.test("house rules: describe the fix of every finding", () => {
  const code =
    `import { z } from "zod"; import { x } from "./x"; export const at = new Date(); throw new Error("No.");`;
  const found = findings({ file: "workflows/rollOut.ts", code: code + "\n".repeat(500) });
  assert.equal(found.length, 6);
  for (const diagnostic of found) assert.ok((diagnostic.hint ?? "").length > 10, diagnostic.id);
});

Deno.test("house rules: evaluate a file by its path in the repository", () => {
  const file = fileURLToPath(new URL("../workflows/roll_out.ts", import.meta.url));
  assert.deepEqual(findings({ file, code: `import { z } from "zod";` }).map((it) => it.id), ["house/import-law"]);
});
