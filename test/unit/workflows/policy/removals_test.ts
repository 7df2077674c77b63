/** How the planner removes machines of scaling groups, which, unlike machine-controller, remove none by themselves. */
import { deepEqual, equal } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { byTurn } from "../../../../activities/pool/snapshot.ts";
import type { Member } from "../../../../workflows/contracts/mod.ts";
import { forecast } from "../../../../workflows/policy/forecast.ts";
import { planTurn } from "../../../../workflows/policy/plan_turn.ts";
import { scalingGroup as group } from "../../../../workflows/policy/supplier.ts";
import { desired, ill, members, now, ours, situationOf, told } from "./simulation/picture.ts";
import type { Difference } from "./simulation/picture.ts";

const pending = members("new", [1, "Held", { id: "token" }]);
const chosen = members("old", [1, "Ready", { id: "chosen", ...ours }]);

const rows: [name: string, pool: Member[], difference: Difference, steps: string[]][] = [
  ["orders a new machine to replace the oldest", [...members("old", [3, "Ready"]), ...pending], {}, [
    "admit token for old Ready 1",
  ]],
  [
    "orders no machine beyond the surge",
    [
      ...members("old", [2, "Ready"], [1, "Ready", { id: "aside" }]),
      ...members("new", [1, "Ready"]),
      ...pending,
    ],
    { budget: { machines: 3 }, situation: { setAside: ["aside"] } },
    [],
  ],
  [
    "drains the chosen machine when enough others are Ready",
    [
      ...members("old", [2, "Ready"]),
      ...chosen,
      ...members("new", [1, "Ready"]),
    ],
    {},
    ["leave chosen"],
  ],
  [
    "keeps the chosen machine while others are not Ready",
    [
      ...members("old", [2, "Ready"]),
      ...chosen,
      ...members("new", [1, "Booting"]),
    ],
    { busy: { joining: ["new Booting 1"], victims: ["chosen"] } },
    [],
  ],
  [
    "drains the unhealthy machine that a joined machine replaces while another machine is unhealthy",
    [
      ...members("old", [1, "Ready"], [1, "NotReady", { ...ill, id: "ill" }]),
      ...members("old", [1, "NotReady", { ...ill, ...ours, id: "chosen" }]),
      ...members("new", [1, "Ready"]),
    ],
    { rules: { repair: { ...defaultRules.repair, enabled: false } } },
    ["leave chosen"],
  ],
  [
    "removes a surplus machine that never joined",
    [
      ...members("old", [1, "Booting"]),
      ...members("new", [3, "Ready"]),
    ],
    {},
    ["leave old Booting 1"],
  ],
  ["drains a machine before its new machine joins when the surge is 0", members("old", [3, "Ready"]), {
    desired: { surge: 0 },
  }, [
    "leave old Ready 1",
  ]],
  ["drains no machine while paused when the surge is 0", members("old", [3, "Ready"]), {
    ...{ desired: { surge: 0 }, situation: { paused: true } },
  }, []],
  ["drains as many machines as the budget allows when the surge is 0", members("old", [3, "Ready"]), {
    ...{ desired: { surge: 0 }, budget: { machines: 2 } },
  }, ["leave old Ready 1", "leave old Ready 2"]],
  [
    "drains an unhealthy machine that itself uses up the budget when the surge is 0",
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
  Deno.test(`planTurn: ${name}, for a scaling group`, () => {
    const situation = { ...situationOf(pool, difference), supplier: group };
    deepEqual(planTurn(situation).steps.map(told), steps);
  });
}

Deno.test("forecast: simulates a scaling group like any other pool", () => {
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
