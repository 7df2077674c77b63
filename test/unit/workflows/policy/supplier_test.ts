import { deepEqual, equal } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Batch, machineController, supplierOf } from "../../../../workflows/policy/supplier.ts";

const policy = fileURLToPath(new URL("../../../../workflows/policy/", import.meta.url));
const files = readdirSync(policy, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));

/** Words of one backend, and the field that only its module may read. */
const words = /machine[-_ ]?(controller|set|deployment)|kubermatic|k8c|\bsurge\b/i;
/** Where what each backend's owner does by itself is described. */
const suppliers = "supplier.ts";

for (const path of files) {
  if (path === suppliers) continue;
  Deno.test(`policy/${path} has no word of a backend`, () => {
    const lines = readFileSync(`${policy}${path}`, "utf8").split("\n").map((line) => line.trim());
    deepEqual(lines.filter((line) => words.test(line)), []);
  });
}

Deno.test("a pool that names no kind has its machines from machine-controller", () => {
  equal(supplierOf(), machineController);
  equal(supplierOf("MachineDeployment"), machineController);
});

const well = (size: number): Batch => ({ size, ready: size });
const moves: [
  what: string,
  wanted: { replicas: number; surge: number },
  batches: { old: Batch[]; target: Batch },
  move: [makes: number, ...takes: number[]],
][] = [
  ["makes as many as the surge", { replicas: 5, surge: 2 }, { old: [well(5)], target: well(0) }, [2, 0]],
  ["makes no more than are wanted", { replicas: 1, surge: 3 }, { old: [], target: well(0) }, [1]],
  ["takes one for each that is Ready", { replicas: 5, surge: 2 }, { old: [well(5)], target: well(2) }, [0, 2]],
  ["takes none for one that is not", { replicas: 3, surge: 1 }, { old: [well(3)], target: { size: 1, ready: 0 } }, [
    0,
    0,
  ]],
  ["takes from the oldest first", { replicas: 3, surge: 1 }, { old: [well(1), well(2)], target: well(1) }, [0, 1, 0]],
  [
    "takes those first that do not serve, of any age",
    { replicas: 3, surge: 1 },
    { old: [well(2), { size: 1, ready: 0 }], target: well(1) },
    [0, 0, 1],
  ],
  ["takes one before it makes one without surge", { replicas: 3, surge: 0 }, { old: [well(3)], target: well(0) }, [
    0,
    1,
  ]],
  ["makes the next one then", { replicas: 3, surge: 0 }, { old: [well(2)], target: well(0) }, [1, 0]],
  ["takes what is too many of the target", { replicas: 2, surge: 1 }, { old: [], target: well(4) }, [-2]],
];

for (const [what, wanted, batches, move] of moves) {
  Deno.test(`machine-controller, as it is planned with, ${what}`, () => {
    const { makes, takes } = machineController.moveOf(wanted, batches);
    deepEqual([makes, ...takes], move);
  });
}
