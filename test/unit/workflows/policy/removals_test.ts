/** Where nobody removes machines by itself, the same planner says who goes. */
import { deepEqual, equal } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { byTurn } from "../../../../activities/pool/snapshot.ts";
import type { Member } from "../../../../workflows/contracts/mod.ts";
import { forecast } from "../../../../workflows/policy/forecast.ts";
import { planTurn } from "../../../../workflows/policy/plan_turn.ts";
import { scalingGroup as group } from "../../../../workflows/policy/supplier.ts";
import { desired, ill, members, now, ours, situationOf, told } from "./simulation/picture.ts";
import type { Difference } from "./simulation/picture.ts";

const paper = members("new", [1, "Held", { id: "token" }]);
const chosen = members("old", [1, "Ready", { id: "chosen", ...ours }]);

const rows: [name: string, pool: Member[], difference: Difference, steps: string[]][] = [
  ["orders a newcomer for the oldest", [...members("old", [3, "Ready"]), ...paper], {}, [
    "admit token for old Ready 1",
  ]],
  [
    "orders no more than the group has room for",
    [
      ...members("old", [2, "Ready"], [1, "Ready", { id: "aside" }]),
      ...members("new", [1, "Ready"]),
      ...paper,
    ],
    { budget: { machines: 3 }, situation: { setAside: ["aside"] } },
    [],
  ],
  [
    "lets the chosen one go when enough others are Ready",
    [
      ...members("old", [2, "Ready"]),
      ...chosen,
      ...members("new", [1, "Ready"]),
    ],
    {},
    ["leave chosen"],
  ],
  [
    "keeps the chosen one until then",
    [
      ...members("old", [2, "Ready"]),
      ...chosen,
      ...members("new", [1, "Booting"]),
    ],
    { busy: { joining: ["new Booting 1"], victims: ["chosen"] } },
    [],
  ],
  [
    "lets an ill one go for one that joined, though another is ill",
    [
      ...members("old", [1, "Ready"], [1, "NotReady", { ...ill, id: "ill" }]),
      ...members("old", [1, "NotReady", { ...ill, ...ours, id: "chosen" }]),
      ...members("new", [1, "Ready"]),
    ],
    { rules: { repair: { ...defaultRules.repair, enabled: false } } },
    ["leave chosen"],
  ],
  [
    "lets one too many go that never joined",
    [
      ...members("old", [1, "Booting"]),
      ...members("new", [3, "Ready"]),
    ],
    {},
    ["leave old Booting 1"],
  ],
  ["drains one before another comes where there is no room", members("old", [3, "Ready"]), { desired: { surge: 0 } }, [
    "leave old Ready 1",
  ]],
  ["drains none so while paused", members("old", [3, "Ready"]), {
    ...{ desired: { surge: 0 }, situation: { paused: true } },
  }, []],
  ["drains as many so as the budget says", members("old", [3, "Ready"]), {
    ...{ desired: { surge: 0 }, budget: { machines: 2 } },
  }, ["leave old Ready 1", "leave old Ready 2"]],
  [
    "lets an ill one go so though it is out already",
    [
      ...members("old", [2, "Ready"], [1, "NotReady", ill]),
    ],
    { desired: { surge: 0 }, rules: { repair: { ...defaultRules.repair, enabled: false } } },
    [
      "leave old NotReady 1",
    ],
  ],
];

for (const [name, pool, difference, steps] of rows) {
  Deno.test(`planTurn with a group that removes nothing by itself ${name}`, () => {
    const situation = { ...situationOf(pool, difference), supplier: group };
    deepEqual(planTurn(situation).steps.map(told), steps);
  });
}

Deno.test("forecast plays a group as it plays any other pool", () => {
  for (const surge of [0, 1]) {
    const question = {
      ...{
        now,
        desired: { ...desired, surge },
        rules: defaultRules,
        members: members("old", [3, "Ready"]).sort(byTurn),
      },
      memory: {
        paused: null,
        quarantine: [],
        lastGood: null,
        usual: { join: [100], leave: [20] },
      },
    };
    const plan = forecast(question, group);
    deepEqual(plan.waves.map(({ machines }) => machines), [["old Ready 1", "old Ready 2", "old Ready 3"]]);
    equal(plan.seconds?.low, 3 * 120);
  }
});
