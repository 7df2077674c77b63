import { deepEqual } from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { importCycles } from "../support/import_cycles.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

function house(): Map<string, string> {
  const rooms = "{workflows,activities,profiles,workers,cli,deploy,test}/**/*.ts";
  const paths = globSync(rooms, { cwd: root, exclude: (path) => path.includes("node_modules") });
  return new Map(paths.map((path) => [path.replaceAll("\\", "/"), readFileSync(`${root}${path}`, "utf8")]));
}

Deno.test("modules: no module imports itself through other modules, not even as a type", () => {
  const modules = house();
  deepEqual([modules.size > 500, importCycles(modules)], [true, []]);
});

Deno.test("importCycles: finds one cycle that consists of a value import, a type import, an export and an import type", () => {
  const modules = new Map([
    ["a/one.ts", 'import { two } from "../b/two.ts";\nimport { sound } from "../sound.ts";'],
    ["b/two.ts", 'import type { Three } from "./three.ts";'],
    ["b/three.ts", 'export * from "./four.ts";'],
    ["b/four.ts", 'export type Four = import("../a/one.ts").One;'],
    ["sound.ts", 'import "./leaf.ts";'],
    ["leaf.ts", ""],
  ]);
  deepEqual(importCycles(modules), [["a/one.ts", "b/four.ts", "b/three.ts", "b/two.ts"]]);
});

Deno.test("importCycles: returns two separate cycles, and omits a module that only imports modules of a cycle", () => {
  const modules = new Map([
    ["start.ts", 'import "./one.ts";\nimport "./three.ts";'],
    ["one.ts", 'import "./two.ts";'],
    ["two.ts", 'import "./one.ts";'],
    ["three.ts", 'import {\n  three,\n} from "./three.ts";'],
  ]);
  deepEqual(importCycles(modules).sort(), [["one.ts", "two.ts"], ["three.ts"]]);
});

Deno.test("importCycles: ignores packages and comments", () => {
  const modules = new Map([
    ["one.ts", 'import "zod";\n// as in from "./two.ts"\n/** import "./two.ts" */\nimport "./gone.ts";'],
    ["two.ts", 'import "./one.ts";'],
  ]);
  deepEqual(importCycles(modules), []);
});
