/**
 * The manifests have the scripts of hands, which are the pods that carry out orders on nodes; `GOLDEN=update` rewrites
 * scripts.yaml.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { parse, parseAllDocuments, stringify } from "yaml";
import { handsNamespace, osCommandOf } from "../../../../activities/os/hand_pod.ts";
import { upgradeHandOf } from "../../../../activities/kubernetes/upgrade_hand.ts";
import { handScripts } from "../../../support/hand_scripts.ts";

const folder = new URL("../../../../deploy/kubernetes/hands/", import.meta.url);
const file = new URL("scripts.yaml", folder);
const lead =
  "# The scripts of activities/os, which hands mount. Tests of test/unit/deploy/hands rewrite this file with GOLDEN=update.\n";

Deno.test("scripts.yaml: has the exact scripts of activities/os", async () => {
  const metadata = { name: "ostler-hands-scripts", namespace: handsNamespace };
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: handScripts() };
  const text = lead + stringify(object, { lineWidth: 0 });
  if (process.env["GOLDEN"] === "update") await writeFile(file, text);
  deepEqual(parse(await readFile(file, "utf8")), object);
});

Deno.test("scripts.yaml: has the script of each driver under the name DRIVER.sh", () => {
  for (const driver of ["bootc", "rpm-ostree", "ostree"]) ok(handScripts()[`${driver}.sh`], driver);
});

Deno.test("limit_hands.yaml: allows the exact commands that the worker starts in the pods of hands", async () => {
  const texts = parseAllDocuments(await readFile(new URL("limit_hands.yaml", folder), "utf8"));
  const { spec } = texts[0]?.toJS() as { spec: Record<"validations" | "variables", { expression: string }[]> };
  const order = { node: "n", uid: "u", driver: "bootc", verb: "Status", image: "", digest: "", bootId: "", token: "t" };
  const commands = [
    osCommandOf({ ...order, until: 1 } as never).command,
    upgradeHandOf({ ...order, object: { name: "v" }, version: "v1.36.1", until: 1 } as never, []).command,
  ];
  for (const command of commands) {
    const list = command.map((word) => `'${word}'`).join(", ");
    equal([...spec.validations, ...spec.variables].filter(({ expression }) => expression.includes(list)).length, 1);
  }
});
