import { deepEqual, equal, match } from "node:assert/strict";
import type { Member } from "../../../../workflows/contracts/mod.ts";
import { planTurn } from "../../../../workflows/policy/plan_turn.ts";
import { ill, members, minute, now, ours, situationOf, told } from "./simulation/picture.ts";
import type { Difference } from "./simulation/picture.ts";

type Row = [name: string, pool: Member[], difference: Difference, steps: string[]];

const full = members("old", [3, "Ready"]);
const waiting = members("new", [1, "Held"]);
const three = { desired: { surge: 3 }, budget: { machines: 3 } };
const since = { since: now, attempt: 0 };

const rows: Row[] = [
  ["lets the first newcomer in for the oldest machine", [...full, ...waiting], {}, [
    "admit new Held 1 for old Ready 1",
  ]],
  ["lets in one where one may change", [...full, ...members("new", [3, "Held"])], { desired: { surge: 3 } }, [
    "admit new Held 1 for old Ready 1",
  ]],
  ["lets in as many as may change", [...full, ...members("new", [3, "Held"])], three, [
    "admit new Held 1 for old Ready 1",
    "admit new Held 2 for old Ready 2",
    "admit new Held 3 for old Ready 3",
  ]],
  ["lets in no more than the surge", [...full, ...members("new", [3, "Held"])], { budget: { machines: 3 } }, [
    "admit new Held 1 for old Ready 1",
  ]],
  ["does not let in twice", [...full, ...waiting], { busy: { joining: ["new Held 1"], victims: ["old Ready 1"] } }, []],
  [
    "takes nobody twice, though the mark cannot be seen yet",
    [...full, ...members("new", [2, "Held"])],
    { ...three, busy: { joining: ["new Held 1"], victims: ["old Ready 1"] } },
    ["admit new Held 2 for old Ready 2"],
  ],
  [
    "takes over the victim of a newcomer that is no more",
    [...members("old", [2, "Ready"], [1, "Ready", { id: "chosen", ...ours }]), ...waiting],
    {},
    ["admit new Held 1 for chosen"],
  ],
  [
    "takes whom machine-controller would take",
    [...members("old", [2, "Ready"], [1, "Ready", { id: "broken", expendable: true }]), ...waiting],
    {},
    ["admit new Held 1 for broken"],
  ],
  ["takes an ill machine first", [...members("old", [2, "Ready"], [1, "NotReady", ill]), ...waiting], {}, [
    "admit new Held 1 for old NotReady 1",
  ]],
  ["adds a missing machine without a victim", [...members("old", [2, "Ready"]), ...members("new", [2, "Held"])], {}, [
    "admit new Held 1 for nobody",
  ]],
  [
    "adds none while machine-controller may yet make one of the old template",
    [...members("old", [2, "Ready"]), ...waiting],
    {},
    [],
  ],
  [
    "lets no machine go while machine-controller may yet take another for one that is not Ready",
    [...members("old", [1, "Ready"], [1, "Joining"], [1, "Leaving", ours]), ...members("new", [2, "Ready"])],
    {},
    [],
  ],
  [
    "chooses from the oldest template, as machine-controller does",
    [
      ...members("old", [1, "Ready", { id: "newer", templateHash: "between", since: "2026-01-03" }]),
      ...members("old", [2, "Ready"]),
      ...waiting,
    ],
    {},
    ["admit new Held 1 for old Ready 1"],
  ],
  [
    "chooses an ill machine of any template, as machine-controller does",
    [
      ...members("old", [1, "NotReady", { ...ill, id: "newer", templateHash: "between", since: "2026-01-03" }]),
      ...members("old", [2, "Ready"]),
      ...waiting,
    ],
    {},
    ["admit new Held 1 for newer"],
  ],
  [
    "chooses again whom nobody holds",
    [...members("old", [2, "Ready"], [1, "Ready", { id: "loose", marked: true }]), ...waiting],
    {},
    ["admit new Held 1 for loose"],
  ],
  [
    "leaves the mark on a newcomer that has not passed",
    members("new", [2, "Ready"], [1, "Ready", { id: "young", marked: true }]),
    { busy: { joining: ["young"] }, situation: { booting: { young: since } } },
    [],
  ],
  [
    "gives the longest tried place to the first newcomer",
    [...members("old", [1, "Ready"]), ...members("new", [3, "Held"])],
    { situation: { retries: [1, 2] } },
    ["admit new Held 1 for nobody, 2", "admit new Held 2 for nobody, 1"],
  ],
  ["sees machines join that boot unasked", members("new", [1, "Provisioning"], [1, "Booting"], [1, "Joining"]), {}, [
    "join new Provisioning 1",
    "join new Booting 1",
    "join new Joining 1",
  ]],
  ["sees nobody join twice", members("new", [3, "Booting"]), { busy: { joining: ["new Booting 2"] } }, [
    "join new Booting 1",
    "join new Booting 3",
  ]],
  [
    "goes on with a machine that is Ready but unproven",
    members("new", [3, "Ready"]),
    { situation: { booting: { "new Ready 2": { since: now, attempt: 2 } } } },
    ["join new Ready 2, 2"],
  ],
  [
    "chooses a victim for a newcomer that boots unasked",
    [...full, ...members("new", [1, "Booting"])],
    {},
    ["admit new Booting 1 for old Ready 1"],
  ],
  [
    "only sees a newcomer join whose victim was chosen",
    [...members("old", [2, "Ready"], [1, "Ready", ours]), ...members("new", [1, "Booting"])],
    { situation: { booting: { "new Booting 1": since } } },
    ["join new Booting 1"],
  ],
  [
    "lets a machine go when enough others are proven",
    [...members("old", [2, "Ready"], [1, "Leaving", ours]), ...members("new", [1, "Ready"])],
    {},
    ["leave old Leaving 1"],
  ],
  [
    "keeps a machine while its newcomer is unproven",
    [...members("old", [2, "Ready"], [1, "Leaving", ours]), ...members("new", [1, "Ready"])],
    { busy: { joining: ["new Ready 1"] }, situation: { booting: { "new Ready 1": since } } },
    [],
  ],
  [
    "leaves alone who leaves without us",
    [...members("old", [2, "Ready"], [1, "Leaving"]), ...members("new", [1, "Ready"])],
    {},
    [],
  ],
  [
    "lets a machine go at once that never had a node",
    [...members("old", [2, "Ready"], [1, "Leaving", { id: "paper", held: true, marked: false }])].map((member) => {
      const { node: _, ...bare } = member;
      return member.id === "paper" ? bare : member;
    }),
    {},
    ["leave paper"],
  ],
  [
    "spares who stays: marked and held for an earlier change",
    members("new", [2, "Ready"], [1, "Ready", { id: "stale", ...ours }]),
    {},
    ["spare stale"],
  ],
  ["leaves out who was skipped", [...full, ...waiting], { situation: { skipped: ["old Ready 1"] } }, [
    "admit new Held 1 for old Ready 2",
  ]],
  [
    "spares who was chosen and is protected by now, where nobody came for it",
    [...members("new", [1, "Ready"]), ...members("old", [1, "Ready", { id: "kept", kept: "Wait", ...ours }])],
    { desired: { replicas: 2 } },
    ["spare kept"],
  ],
  ["repairs an ill machine", members("new", [2, "Ready"], [1, "NotReady", ill]), {}, ["repair new NotReady 1"]],
  [
    "repairs although it is paused, and outside the windows",
    members("new", [2, "Ready"], [1, "NotReady", ill]),
    { rules: { windows: [] }, situation: { paused: true } },
    ["repair new NotReady 1"],
  ],
  [
    "admits one for each that was repaired although it is paused, and no other",
    members("new", [2, "Ready"], [2, "Held"]),
    { desired: { replicas: 4 }, situation: { paused: true, repaired: ["ill"] } },
    ["admit new Held 1 for nobody"],
  ],
  [
    "admits nobody for one that was repaired of a change that failed",
    members("new", [2, "Ready"], [1, "Held"]),
    { situation: { paused: true, quarantined: true, repaired: ["ill"] } },
    [],
  ],
  [
    "lets a machine go whose node is lost, though others are not enough",
    [
      ...members("old", [1, "Ready"], [1, "NotReady", ill], [1, "Leaving", { ...ours, lost: true }]),
      ...members("new", [1, "Ready"]),
    ],
    {},
    ["leave old Leaving 1", "repair old NotReady 1"],
  ],
  [
    "repairs one at a time where one may change",
    members("new", [8, "Ready"], [2, "NotReady", ill]),
    { desired: { replicas: 10 } },
    ["repair new NotReady 1"],
  ],
  [
    "does not repair what is not due",
    members("new", [2, "Ready"], [1, "NotReady", { ill: { why: "", since: now, due: now + minute } }]),
    {},
    [],
  ],
  [
    "does not repair where the policy says so",
    members("new", [2, "Ready"], [1, "NotReady", ill]),
    { rules: { repair: { enabled: false, notReadyFor: 0, conditions: [], maxUnhealthy: 40 } } },
    [],
  ],
  [
    "repairs an old machine in its place while replacements may not begin",
    [...members("old", [2, "Ready"], [1, "NotReady", ill]), ...waiting],
    { rules: { windows: [] } },
    ["repair old NotReady 1"],
  ],
  [
    "repairs an old machine in its place while one that waits for it has spent the budget",
    [
      ...members("old", [1, "Ready"], [1, "NotReady", ill], [1, "Leaving", ours]),
      ...members("new", [1, "Ready"], [2, "Held"]),
    ],
    { desired: { surge: 3 } },
    ["repair old NotReady 1"],
  ],
  [
    "lets nobody in where nobody is wanted",
    [...members("old", [1, "Ready"]), ...waiting],
    { desired: { replicas: 0, surge: 5 }, budget: { machines: 3 } },
    [],
  ],
  ["has nothing to do where all is as desired", members("new", [3, "Ready"]), {}, []],
];

for (const [name, pool, difference, steps] of rows) {
  Deno.test(`planTurn ${name}`, () => {
    deepEqual(planTurn(situationOf(pool, difference)).steps.map(told), steps);
  });
}

const ends: [name: string, pool: Member[], difference: Difference, converged: boolean][] = [
  ["when all machines are new and Ready", members("new", [3, "Ready"]), {}, true],
  ["when no machine is wanted and none is there", [], { desired: { replicas: 0 } }, true],
  ["not while a node is not Ready", members("new", [2, "Ready"], [1, "NotReady"]), {}, false],
  ["not while there is one too many", members("new", [4, "Ready"]), {}, false],
  ["not while a mark is left", members("new", [2, "Ready"], [1, "Ready", ours]), {}, false],
  ["not while something is under way", members("new", [3, "Ready"]), { busy: { repairing: ["x"] } }, false],
  ["not while a machine is unproven", members("new", [3, "Ready"]), {
    situation: { booting: { "new Ready 1": since } },
  }, false],
];

for (const [name, pool, difference, converged] of ends) {
  Deno.test(`planTurn is at the end ${name}`, () => {
    equal(planTurn(situationOf(pool, difference)).converged, converged);
  });
}

const illSoon = { ill: { why: "", since: now, due: now + 1 } };

const waits: [pool: Member[], difference: Difference, says: RegExp][] = [
  [
    [...members("old", [1, "Ready"], [2, "Leaving", ours])],
    {},
    /other machines to be Ready before old Leaving 1 is drained/,
  ],
  [[...full, ...members("old", [1, "Leaving"])], {}, /1 machine\(s\) to be removed/],
  [[...full, ...waiting], { busy: { joining: ["new Held 1"] } }, /1 machine\(s\) to join/],
  [full, {}, /machine-controller to create a machine/],
  [
    [...members("old", [3, "Ready"]), ...members("new", [1, "NotReady", illSoon])],
    {},
    /new NotReady 1 to be Ready again/,
  ],
  [members("new", [4, "Ready"]), {}, /machine-controller to remove a machine/],
  [members("new", [2, "Ready"], [1, "NotReady"]), {}, /every machine to be Ready/],
  [
    [...full, ...waiting],
    { situation: { paused: true } },
    /condition Blocked to clear: Paused; run ostler resume to continue/,
  ],
  [
    [
      ...members("old", [2, "Ready"]),
      ...members("new", [1, "NotReady", illSoon]),
      ...waiting,
    ],
    {},
    /budget of 1 machine\(s\): 0 out or changing, 1 unhealthy/,
  ],
];

for (const [pool, difference, says] of waits) {
  Deno.test(`planTurn says that it waits for ${says.source}`, () => {
    match(planTurn(situationOf(pool, difference)).waitsFor, says);
  });
}

Deno.test("planTurn looks again when the next machine is ill for long enough", () => {
  const due = now + 7 * minute;
  const pool = members("new", [2, "Ready"], [1, "NotReady", { ill: { why: "", since: now, due } }]);
  equal(planTurn(situationOf(pool)).lookAgainAt, due);
});
