import { deepEqual, equal } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Batch, machineController, supplierOf } from "../../../../workflows/policy/supplier.ts";
import { type MachineSet, rollSets } from "./simulation/roll_sets.ts";

const policy = fileURLToPath(new URL("../../../../workflows/policy/", import.meta.url));
const files = readdirSync(policy, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));

/** Words for one backend (machine-controller), and its field `surge`: only supplier.ts may contain them. */
const words = /machine[-_ ]?(controller|set|deployment)|kubermatic|k8c|\bsurge\b/i;
/** The only module of the policy with rules for one backend. */
const suppliers = "supplier.ts";

for (const path of files) {
  if (path === suppliers) continue;
  Deno.test(`policy/${path}: does not name machine-controller or its objects`, () => {
    const lines = readFileSync(`${policy}${path}`, "utf8").split("\n").map((line) => line.trim());
    deepEqual(lines.filter((line) => words.test(line)), []);
  });
}

Deno.test("supplierOf: returns machine-controller for a pool without a kind", () => {
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
  ["creates as many machines as the surge", { replicas: 5, surge: 2 }, { old: [well(5)], target: well(0) }, [2, 0]],
  ["creates no more machines than the replicas", { replicas: 1, surge: 3 }, { old: [], target: well(0) }, [1]],
  ["removes one old machine for each new machine that is Ready", { replicas: 5, surge: 2 }, {
    old: [well(5)],
    target: well(2),
  }, [
    0,
    2,
  ]],
  ["removes no old machine for a new machine that is not Ready", { replicas: 3, surge: 1 }, {
    old: [well(3)],
    target: { size: 1, ready: 0 },
  }, [
    0,
    0,
  ]],
  ["removes machines of the oldest template first", { replicas: 3, surge: 1 }, {
    old: [well(1), well(2)],
    target: well(1),
  }, [0, 1, 0]],
  [
    "removes old machines of any template that are not Ready before others",
    { replicas: 3, surge: 1 },
    { old: [well(2), { size: 1, ready: 0 }], target: well(1) },
    [0, 0, 1],
  ],
  ["removes a machine before it creates another one when the surge is 0", { replicas: 3, surge: 0 }, {
    old: [well(3)],
    target: well(0),
  }, [
    0,
    1,
  ]],
  ["creates the next machine after a removal when the surge is 0", { replicas: 3, surge: 0 }, {
    old: [well(2)],
    target: well(0),
  }, [1, 0]],
  ["removes surplus machines of the target template", { replicas: 2, surge: 1 }, { old: [], target: well(4) }, [-2]],
];

for (const [what, wanted, batches, move] of moves) {
  Deno.test(`machineController.moveOf: ${what}`, () => {
    const { makes, takes } = machineController.moveOf(wanted, batches);
    deepEqual([makes, ...takes], move);
  });
}

/** All numbers from 0 to one below `end`. */
const below = (end: number): number[] => [...Array(end).keys()];
/** All batches of at most `most` machines, with each possible number of Ready ones. */
const batchesUpTo = (most: number): Batch[] =>
  below(most + 1).flatMap((size) => below(size + 1).map((ready) => ({ size, ready })));
const setOf = ({ size, ready }: Batch): MachineSet => ({ replicas: size, available: ready });

Deno.test("machineController.moveOf: takes the same steps as machine-controller's code for every small pool", () => {
  const small = batchesUpTo(4);
  const pairs = small.flatMap((oldest) => small.map((younger) => [oldest, younger]));
  for (const wanted of below(5).flatMap((replicas) => below(4).map((surge) => ({ replicas, surge })))) {
    for (const target of batchesUpTo(5)) {
      for (const old of pairs) {
        const [newest, others] = [setOf(target), old.map(setOf)];
        rollSets(wanted, newest, others);
        const { makes, takes } = machineController.moveOf(wanted, { old, target });
        const moved = [target.size + makes, ...old.map(({ size }, nth) => size - (takes[nth] ?? 0))];
        const rolled = [newest, ...others].map(({ replicas }) => replicas);
        equal(moved.join(), rolled.join(), JSON.stringify({ wanted, target, old }));
      }
    }
  }
});
