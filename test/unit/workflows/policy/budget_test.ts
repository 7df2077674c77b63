import { deepEqual, equal } from "node:assert/strict";
import type { Member } from "../../../../workflows/contracts/mod.ts";
import { planTurn } from "../../../../workflows/policy/plan_turn.ts";
import { lookAtWindows } from "../../../../workflows/policy/blocks.ts";
import { ill, members, ours, situationOf, told } from "./simulation/picture.ts";
import type { Difference } from "./simulation/picture.ts";

const six = { replicas: 6, surge: 6 };
const newcomers = members("new", [6, "Held"]);
const zone = (name: string): Partial<Member> => ({ zone: name });
const spread = [
  ...members("old", [2, "Ready", zone("b")], [2, "Ready", { zone: "a", id: "" }], [2, "Ready", zone("c")]),
].map((member, nth) => ({ ...member, id: `${member.zone}${nth}`, node: `${member.zone}${nth}` }));

/**
 * Returns for each admitted new machine the ID of the old machine that it replaces, or "none" if it only makes up for a
 * missing machine.
 */
function victims(pool: Member[], difference: Difference): string[] {
  const turn = planTurn(situationOf(pool, { desired: six, ...difference }));
  return turn.steps.flatMap((step) => step.kind === "admit" ? [step.victim?.id ?? "none"] : []);
}

const rows: [name: string, pool: Member[], difference: Difference, admitted: number][] = [
  ["a number of machines as budget", [...members("old", [6, "Ready"])], { budget: { machines: 2 } }, 2],
  ["a percentage as budget, rounded up", members("old", [6, "Ready"]), { budget: { machines: "20%" } }, 2],
  ["a joining machine", [...members("old", [6, "Ready"]), ...members("new", [1, "Booting"])], {
    ...{ budget: { machines: 3 }, busy: { joining: ["new Booting 1"], victims: ["old Ready 1"] } },
  }, 2],
  ["a leaving machine", [...members("old", [5, "Ready"], [1, "Leaving", ours]), ...members("new", [1, "Ready"])], {
    ...{ budget: { machines: 3 }, busy: { leaving: ["old Leaving 1"] } },
  }, 2],
  [
    "a new machine and the old machine that already leaves for it, counted as one",
    [...members("old", [5, "Ready"], [1, "Leaving", ours]), ...members("new", [1, "Ready"])],
    {
      ...{ budget: { machines: 3 }, busy: { joining: ["new Ready 1"] } },
      situation: { booting: { "new Ready 1": { since: 0, attempt: 0 } } },
    },
    2,
  ],
  [
    "an unhealthy machine that is not being replaced",
    [
      ...members("old", [4, "Ready"]),
      ...members("new", [1, "Ready"], [1, "NotReady", { ill: { why: "", since: 0, due: Infinity } }]),
    ],
    { budget: { machines: 3 } },
    2,
  ],
  [
    "a machine that is being repaired",
    [
      ...members("old", [4, "Ready"]),
      ...members("new", [1, "Ready"], [1, "NotReady", ill]),
    ],
    { budget: { machines: 3 }, busy: { repairing: ["new NotReady 1"] } },
    2,
  ],
  [
    "an unhealthy machine that is to be replaced, counted as one",
    members("old", [5, "Ready"], [1, "NotReady", ill]),
    {},
    1,
  ],
  ["two unhealthy machines, each counted", members("old", [4, "Ready"], [2, "NotReady", ill]), {}, 1],
  [
    "a machine that was set aside",
    [
      ...members("old", [4, "Ready"], [1, "Leaving", { ...ours, id: "stuck" }]),
      ...members("new", [2, "Ready"]),
    ],
    { budget: { machines: 3 }, situation: { setAside: ["stuck"] } },
    2,
  ],
];

for (const [name, pool, difference, admitted] of rows) {
  Deno.test(`planTurn: admits as many machines as the budget allows, given ${name}`, () => {
    equal(victims([...pool, ...newcomers], difference).length, admitted);
  });
}

Deno.test("planTurn: replaces an unhealthy machine that itself uses up the budget", () => {
  const pool = [...members("old", [5, "Ready"], [1, "NotReady", ill]), ...newcomers];
  deepEqual(victims(pool, {}), ["old NotReady 1"]);
});

Deno.test("planTurn: replaces at most budget.perZone machines of each zone", () => {
  const pool = [...spread, ...newcomers];
  deepEqual(victims(pool, { budget: { machines: 6, perZone: 1 } }), ["b0", "a2", "c4"]);
  const busy = { joining: ["x"], victims: ["a2"] };
  const joining = [...pool, ...members("new", [1, "Booting", { id: "x" }])];
  deepEqual(victims(joining, { budget: { machines: 6, perZone: 1 }, busy }), ["b0", "c4"]);
});

Deno.test("planTurn: counts leaving and unhealthy machines against budget.perZone", () => {
  const pool = spread.map((member) => member.id === "a2" ? { ...member, phase: "Leaving" as const } : member)
    .map((member) => member.id === "c5" ? { ...member, ...ill, marked: false } : member);
  const difference = { desired: { replicas: 5, surge: 6 }, budget: { machines: 6, perZone: 1 } };
  deepEqual(victims([...pool, ...newcomers], difference), ["c5", "b0"]);
});

Deno.test("planTurn: replaces one zone after another", () => {
  const budget = { machines: 6, zones: "OneAfterAnother" as const };
  deepEqual(victims([...spread, ...newcomers], { budget }), ["a2", "a3"]);
  const leaving = spread.map((member) => member.zone === "a" ? { ...member, phase: "Leaving" as const } : member);
  deepEqual(victims([...leaving, ...members("new", [2, "Ready"]), ...newcomers], { budget }), []);
  const gone = spread.filter((member) => member.zone !== "a");
  deepEqual(victims([...gone, ...members("new", [2, "Ready"]), ...newcomers], { budget }), ["b0", "b1"]);
});

Deno.test("planTurn: begins no zone while machines of an earlier change still leave in another zone", () => {
  const budget = { machines: 6, zones: "OneAfterAnother" as const };
  const leaving = { ...ours, ...zone("c"), templateHash: "between" };
  const pool = [...spread.slice(0, 4), ...members("old", [2, "Leaving", leaving]), ...members("new", [2, "Ready"])];
  deepEqual(victims([...pool, ...newcomers], { budget }), []);
});

Deno.test("planTurn: counts a machine that was already chosen for replacement against budget.perZone, even if another machine would now be replaced first", () => {
  const of = { ...ours, ...zone("a"), templateHash: "between", since: "2026-03-01", id: "chosen" };
  const old = members("old", [5, "Ready", zone("a")]);
  const pool = [...old, ...members("between" as "old", [1, "Ready", of]), ...newcomers];
  deepEqual(victims(pool, { budget: { machines: 6, perZone: 1 } }), []);
});

Deno.test("planTurn: continues to the next zone past skipped machines", () => {
  const budget = { machines: 1, zones: "OneAfterAnother" as const };
  deepEqual(victims([...spread, ...newcomers], { budget, situation: { skipped: ["a2", "a3"] } }), ["b0"]);
});

Deno.test("planTurn: drains as many machines as the budget allows when the surge is 0", () => {
  const pool = members("old", [3, "Ready"], [3, "Leaving", { held: true }]);
  const steps = (difference: Difference): number =>
    planTurn(situationOf(pool, { desired: { replicas: 6, surge: 0 }, ...difference })).steps.length;
  equal(steps({}), 1);
  equal(steps({ budget: { machines: 2 } }), 2);
  equal(steps({ budget: { machines: 2 }, busy: { leaving: ["old Leaving 1"] } }), 1);
  equal(steps({ situation: { paused: true } }), 0);
});

Deno.test("planTurn: drains all machines of a pool with zero replicas, even if windows or a quarantine block replacements", () => {
  const pool = [...members("old", [2, "Leaving", ours]), ...members("new", [1, "Leaving", ours])];
  const desired = { replicas: 0, surge: 0 };
  const all = ["leave old Leaving 1", "leave old Leaving 2", "leave new Leaving 1"];
  for (const difference of [{ rules: { windows: [] } }, { situation: { quarantined: true } }, {}]) {
    deepEqual(planTurn(situationOf(pool, { desired, ...difference })).steps.map(told), all);
  }
});

const windows = [{ from: 10, to: 20 }, { from: 20, to: 25 }, { from: 22, to: 30 }, { from: 50, to: 60 }];

for (
  const [at, look] of [
    [5, { open: false, opened: null, closes: null, opens: 10 }],
    [10, { open: true, opened: 10, closes: 30, opens: 50 }],
    [29, { open: true, opened: 10, closes: 30, opens: 50 }],
    [30, { open: false, opened: null, closes: null, opens: 50 }],
    [60, { open: false, opened: null, closes: null, opens: null }],
  ] as const
) {
  Deno.test(`lookAtWindows: is ${look.open ? "open" : "closed"} at ${at}, with adjacent windows as one`, () => {
    deepEqual(lookAtWindows(windows, at), look);
  });
}

Deno.test("lookAtWindows: returns always open when the policy has no windows", () => {
  deepEqual(lookAtWindows(null, 5), { open: true, opened: null, closes: null, opens: null });
});
