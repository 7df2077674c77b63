import { deepEqual, match } from "node:assert/strict";
import { snapshotOf } from "../../../../activities/pool/read_pool.ts";
import type { Desired, Member } from "../../../../workflows/contracts.ts";
import { booted, nextStep } from "../../../../workflows/policy/next_step.ts";
import type { Step } from "../../../../workflows/policy/next_step.ts";

const wanted: Desired = {
  ...{ generation: 2, observed: "o", change: "c", settled: true, revision: "2", templateHash: "new" },
  ...{ replicas: 3, surge: 1, image: "i", kubelet: "k", profile: { name: "p", namespace: "n" } },
};

type Brief = [count: number, phase: Member["phase"], overrides?: Partial<Member>];

let made = 0;

/** Members in the order given: ids say what they are, such as "old Ready 1". */
function members(hash: "old" | "new", ...groups: Brief[]): Member[] {
  return groups.flatMap(([count, phase, overrides]) =>
    Array.from({ length: count }, (_, nth) => ({
      ...{ id: `${hash} ${phase} ${nth + 1}`, templateHash: hash, image: "i", kubelet: "k", phase },
      since: new Date(made++ * 1000).toISOString(),
      ...{ marked: false, held: phase === "Held", expendable: false },
      ...overrides,
    }))
  );
}

function stepFor(pool: Member[], desired: Partial<Desired> = {}): Step {
  return nextStep({ ...wanted, ...desired }, snapshotOf(pool, "new"));
}

/** The step in words: its kind and whom it concerns. */
function told(step: Step): string[] {
  switch (step.kind) {
    case "finish":
      return ["finish", step.victim.id];
    case "join":
    case "spare":
      return [step.kind, ...step.machines.map(({ id }) => id)];
    case "replace":
      return ["replace", step.newcomer.id, step.victim?.id ?? "nobody"];
    case "settle":
    case "converged":
      return [step.kind];
  }
}

const held: Partial<Member> = { held: true, marked: true };

const cases: [string, Member[], Partial<Desired>, string[]][] = [
  ["ends when all are of the new template and Ready", members("new", [3, "Ready"]), {}, ["converged"]],
  ["ends when no machine is wanted and there is none", [], { replicas: 0 }, ["converged"]],
  ["waits for machines of an empty pool", [], {}, ["settle"]],
  ["waits while a node of the pool is not Ready", members("new", [2, "Ready"], [1, "NotReady"]), {}, ["settle"]],
  [
    "sees the first machines of a pool join, all at once",
    members("new", [1, "Provisioning"], [1, "Booting"], [1, "Joining"]),
    {},
    ["join", "new Provisioning 1", "new Booting 1", "new Joining 1"],
  ],
  [
    "replaces the oldest machine by the first newcomer that waits",
    [...members("old", [3, "Ready"]), ...members("new", [1, "Held"])],
    {},
    ["replace", "new Held 1", "old Ready 1"],
  ],
  [
    "stays with the victim that was chosen before",
    [...members("old", [2, "Ready"], [1, "Ready", { id: "chosen", ...held }]), ...members("new", [1, "Held"])],
    {},
    ["replace", "new Held 1", "chosen"],
  ],
  [
    "chooses whom machine-controller would choose",
    [...members("old", [2, "Ready"], [1, "Ready", { id: "broken", expendable: true }]), ...members("new", [1, "Held"])],
    {},
    ["replace", "new Held 1", "broken"],
  ],
  [
    "drains a leaving machine that we hold before it admits the next",
    [...members("old", [2, "Ready"], [1, "Leaving", held]), ...members("new", [1, "Ready"], [1, "Held"])],
    {},
    ["finish", "old Leaving 1"],
  ],
  [
    "keeps a leaving machine while too few others are Ready, and brings in another",
    [...members("old", [2, "Ready"], [1, "Leaving", held]), ...members("new", [1, "Held"])],
    {},
    ["replace", "new Held 1", "nobody"],
  ],
  [
    "keeps a leaving machine while a node of another is not Ready",
    [...members("old", [1, "Ready"], [1, "NotReady"], [1, "Leaving", held]), ...members("new", [1, "Ready"])],
    {},
    ["settle"],
  ],
  [
    "waits for a leaving machine that somebody else drains",
    [...members("old", [2, "Ready"], [1, "Leaving"]), ...members("new", [1, "Ready"], [1, "Held"])],
    {},
    ["settle"],
  ],
  [
    "chooses a victim for a newcomer that boots by itself in a full pool",
    [...members("old", [3, "Ready"]), ...members("new", [1, "Booting"])],
    {},
    ["replace", "new Booting 1", "old Ready 1"],
  ],
  [
    "sees a newcomer join that fills a gap",
    [...members("old", [2, "Ready"]), ...members("new", [1, "Booting"])],
    {},
    ["join", "new Booting 1"],
  ],
  [
    "takes mark and hold back from machines of the wanted template",
    members("new", [2, "Ready"], [1, "Ready", { id: "left over", ...held }]),
    {},
    ["spare", "left over"],
  ],
  [
    "scales up before it replaces",
    [...members("old", [3, "Ready"]), ...members("new", [2, "Held"])],
    { replicas: 5 },
    ["replace", "new Held 1", "nobody"],
  ],
  [
    "waits for machine-controller to scale down",
    [...members("old", [4, "Ready"]), ...members("new", [1, "Held"])],
    {},
    ["settle"],
  ],
  [
    "waits for machine-controller to remove the machines of a superseded change",
    [...members("old", [3, "Ready"], [1, "Booting"])],
    {},
    ["settle"],
  ],
  [
    "admits one newcomer at a time, however large the surge",
    [...members("old", [3, "Ready"]), ...members("new", [3, "Held"])],
    { surge: 3 },
    ["replace", "new Held 1", "old Ready 1"],
  ],
  [
    "brings in a newcomer without victim where machine-controller removed first",
    [...members("old", [2, "Ready"]), ...members("new", [1, "Held"])],
    { surge: 0 },
    ["replace", "new Held 1", "nobody"],
  ],
  [
    "waits until the removed machine is gone when there is no surge",
    [...members("old", [2, "Ready"], [1, "Leaving"]), ...members("new", [1, "Held"])],
    { surge: 0 },
    ["settle"],
  ],
  [
    "does not admit what somebody else holds",
    [...members("old", [3, "Ready"]), ...members("new", [1, "Held", { held: false }])],
    {},
    ["settle"],
  ],
];

for (const [what, pool, desired, step] of cases) {
  Deno.test(`nextStep ${what}`, () => deepEqual(told(stepFor(pool, desired)), step));
}

Deno.test("nextStep says what it waits for", () => {
  const waits: [Member[], RegExp][] = [
    [members("new", [2, "Ready"]), /machine-controller to create a machine/],
    [members("new", [4, "Ready"]), /machine-controller to remove a machine/],
    [members("new", [3, "Ready"], [1, "Leaving"]), /^1 machine\(s\) to go/],
    [members("new", [2, "Ready"], [1, "NotReady"]), /every machine to be Ready/],
  ];
  for (const [pool, words] of waits) {
    const step = stepFor(pool);
    match(step.kind === "settle" ? step.waitsFor : step.kind, words);
  }
});

Deno.test("booted counts machines that leave, and not those that are held before they booted", () => {
  const pool = [...members("old", [2, "Ready"], [1, "Leaving"]), ...members("new", [1, "Booting"], [1, "Held"])];
  deepEqual(booted(snapshotOf(pool, "new")), 4);
});
