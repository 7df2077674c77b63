import { deepEqual } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as annotations from "../../../../activities/backends/machine_controller/annotations.ts";

const root = fileURLToPath(new URL("../../../../activities/", import.meta.url));

/** What of machine-controller nobody outside of its folder may say: its name, its kinds, and its annotations. */
const words = [
  /machine_controller/,
  /machine-controller/i,
  /MachineDeployment|MachineSet/,
  /\b(machineDeployments|machineSets|machines)\b[^;]*kube\/resources\.ts/,
  ...Object.values(annotations).map((name) => new RegExp(`["'\`]${name.replaceAll(/[.\\/]/g, "\\$&")}["'\`]`)),
];

function filesBelow(folder: string): string[] {
  return readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts")).map((name) => `${folder}/${name}`);
}

function faultsOf(file: string, text: string): string[] {
  return words.filter((word) => word.test(text)).map((word) => `${file}: ${word.source}`);
}

Deno.test("pool and node know no word of machine-controller", () => {
  const files = [...filesBelow("pool"), ...filesBelow("node")];
  deepEqual(files.flatMap((file) => faultsOf(file, readFileSync(`${root}${file}`, "utf8"))), []);
});

Deno.test("only the registry names a backend; what renders and reports a MachineDeployment's config may read its settings", () => {
  const readers = /^(config|status)\//;
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.startsWith("backends/machine_controller/") && !readers.test(name));
  const naming = files.filter((file) => /["'][^"']*machine_controller\//.test(readFileSync(`${root}${file}`, "utf8")));
  deepEqual(naming, ["backends/registry.ts"]);
});

for (
  const planted of [
    `import { holdAnnotation } from "../backends/machine_controller/annotations.ts";`,
    `import { machines, readObject } from "../kube/resources.ts";`,
    `const key = "cluster.k8s.io/delete-machine";`,
    `// machine-controller waits`,
  ]
) {
  Deno.test(`the seam is seen to be broken by ${planted}`, () => {
    deepEqual(faultsOf("pool/x.ts", planted).length > 0, true);
  });
}
