import { deepEqual } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as ofMachineController from "../../../../activities/backends/machine_controller/annotations.ts";
import * as ofRenderers from "../../../../activities/config/identity.ts";
import { revisionAnnotation, templateHashLabel } from "../../../../activities/kube/machine_deployment.ts";

const root = fileURLToPath(new URL("../../../../activities/", import.meta.url));

const annotations = Object.values({ ...ofMachineController, ...ofRenderers, revisionAnnotation, templateHashLabel })
  .filter((value) => typeof value === "string");

/** Words of machine-controller that only its folder may use: its name, CRDs and annotations. */
const words = [
  /machine_controller/,
  /machine-controller/i,
  /MachineDeployment|MachineSet/,
  /\b(machineDeployments|machineSets|machines)\b[^;]*kube\/resources\.ts/,
  ...annotations.map((name) => new RegExp(`["'\`]${name.replaceAll(/[.\\/]/g, "\\$&")}["'\`]`)),
];

function filesBelow(folder: string): string[] {
  return readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts")).map((name) => `${folder}/${name}`);
}

function faultsOf(file: string, text: string): string[] {
  return words.filter((word) => word.test(text)).map((word) => `${file}: ${word.source}`);
}

Deno.test("fault E1 seam: the code in pool, node and gates contains no term of machine-controller", () => {
  const files = ["pool", "node", "gates"].flatMap(filesBelow);
  deepEqual(files.flatMap((file) => faultsOf(file, readFileSync(`${root}${file}`, "utf8"))), []);
});

const kinds = ["machine_controller", "node_pool", "scaling_group"];

Deno.test("seam: only the registry names a backend", () => {
  const house = fileURLToPath(new URL("../../../../", import.meta.url));
  const files = ["activities", "cli", "deploy", "profiles", "workers"].flatMap((room) =>
    readdirSync(`${house}${room}`, { recursive: true, encoding: "utf8" }).map((name) => `${room}/${name}`)
  ).filter((name) => name.endsWith(".ts") && !name.startsWith("deploy/local/tools/recipes/"));
  for (const kind of kinds) {
    const name = new RegExp(`["'][^"']*backends/${kind}/|["']\\.\\.?/${kind}/`);
    const isNaming = (file: string): boolean => name.test(readFileSync(`${house}${file}`, "utf8"));
    const others = files.filter((file) => !file.startsWith(`activities/backends/${kind}/`));
    deepEqual(others.filter(isNaming), ["activities/backends/registry.ts"], kind);
  }
});

for (
  const planted of [
    `import { holdAnnotation } from "../backends/machine_controller/annotations.ts";`,
    `import { machines, readObject } from "../kube/resources.ts";`,
    `const key = "cluster.k8s.io/delete-machine";`,
    `// machine-controller waits`,
  ]
) {
  Deno.test(`seam: detects ${planted}`, () => {
    deepEqual(faultsOf("pool/x.ts", planted).length > 0, true);
  });
}
