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
  ["admits the first new machine to replace the oldest machine", [...full, ...waiting], {}, [
    "admit new Held 1 for old Ready 1",
  ]],
  ["admits the newest machine with a budget of 1 and a surge of 3", [...full, ...members("new", [3, "Held"])], {
    desired: { surge: 3 },
  }, [
    "admit new Held 3 for old Ready 1",
  ]],
  ["admits three machines with a budget of 3 and a surge of 3", [...full, ...members("new", [3, "Held"])], three, [
    "admit new Held 3 for old Ready 1",
    "admit new Held 2 for old Ready 2",
    "admit new Held 1 for old Ready 3",
  ]],
  ["admits no more machines than the surge", [...full, ...members("new", [3, "Held"])], { budget: { machines: 3 } }, [
    "admit new Held 3 for old Ready 1",
  ]],
  ["does not admit a machine twice", [...full, ...waiting], {
    busy: { joining: ["new Held 1"], victims: ["old Ready 1"] },
  }, []],
  [
    "does not choose a machine twice while its mark is not visible yet",
    [...full, ...members("new", [2, "Held"])],
    { ...three, busy: { joining: ["new Held 1"], victims: ["old Ready 1"] } },
    ["admit new Held 2 for old Ready 2"],
  ],
  [
    "replaces the machine that was already chosen when its new machine was deleted",
    [...members("old", [2, "Ready"], [1, "Ready", { id: "chosen", ...ours }]), ...waiting],
    {},
    ["admit new Held 1 for chosen"],
  ],
  [
    "chooses the machine that machine-controller would remove",
    [...members("old", [2, "Ready"], [1, "Ready", { id: "broken", expendable: true }]), ...waiting],
    {},
    ["admit new Held 1 for broken"],
  ],
  ["replaces an unhealthy machine first", [...members("old", [2, "Ready"], [1, "NotReady", ill]), ...waiting], {}, [
    "admit new Held 1 for old NotReady 1",
  ]],
  [
    "admits a new machine for a missing one without replacing another machine",
    [...members("old", [2, "Ready"]), ...members("new", [2, "Held"])],
    {},
    [
      "admit new Held 2 for none",
    ],
  ],
  [
    "admits no machine while machine-controller may still create one of the old template",
    [...members("old", [2, "Ready"]), ...waiting],
    {},
    [],
  ],
  [
    "drains no machine while an old machine is not Ready, because machine-controller may remove another machine",
    [...members("old", [1, "Ready"], [1, "Joining"], [1, "Leaving", ours]), ...members("new", [2, "Ready"])],
    {},
    [],
  ],
  [
    "chooses a machine of the oldest template, as machine-controller does",
    [
      ...members("old", [1, "Ready", { id: "newer", templateHash: "between", since: "2026-01-03" }]),
      ...members("old", [2, "Ready"]),
      ...waiting,
    ],
    {},
    ["admit new Held 1 for old Ready 1"],
  ],
  [
    "chooses an unhealthy machine of any template, as machine-controller does",
    [
      ...members("old", [1, "NotReady", { ...ill, id: "newer", templateHash: "between", since: "2026-01-03" }]),
      ...members("old", [2, "Ready"]),
      ...waiting,
    ],
    {},
    ["admit new Held 1 for newer"],
  ],
  [
    "chooses a machine again that is marked and has no hold",
    [...members("old", [2, "Ready"], [1, "Ready", { id: "loose", marked: true }]), ...waiting],
    {},
    ["admit new Held 1 for loose"],
  ],
  [
    "keeps the mark on a new machine whose join is not complete",
    members("new", [2, "Ready"], [1, "Ready", { id: "young", marked: true }]),
    { busy: { joining: ["young"] }, situation: { booting: { young: since } } },
    [],
  ],
  [
    "passes the highest attempt number of failed joins to the first new machine",
    [...members("old", [1, "Ready"]), ...members("new", [3, "Held"])],
    { situation: { retries: [1, 2] } },
    ["admit new Held 3 for none, 2", "admit new Held 2 for none, 1"],
  ],
  [
    "waits for machines to join that boot without admission",
    members("new", [1, "Provisioning"], [1, "Booting"], [1, "Joining"]),
    {},
    [
      "join new Provisioning 1",
      "join new Booting 1",
      "join new Joining 1",
    ],
  ],
  ["begins no second wait for a machine that already joins", members("new", [3, "Booting"]), {
    busy: { joining: ["new Booting 2"] },
  }, [
    "join new Booting 1",
    "join new Booting 3",
  ]],
  [
    "resumes the join of a Ready machine whose join is not complete",
    members("new", [3, "Ready"]),
    { situation: { booting: { "new Ready 2": { since: now, attempt: 2 } } } },
    ["join new Ready 2, 2"],
  ],
  [
    "chooses a machine to be replaced by a machine that boots without admission",
    [...full, ...members("new", [1, "Booting"])],
    {},
    ["admit new Booting 1 for old Ready 1"],
  ],
  [
    "chooses no second machine for a new machine that already has one to replace",
    [...members("old", [2, "Ready"], [1, "Ready", ours]), ...members("new", [1, "Booting"])],
    { situation: { booting: { "new Booting 1": since } } },
    ["join new Booting 1"],
  ],
  [
    "drains a machine when enough other machines have completed their join",
    [...members("old", [2, "Ready"], [1, "Leaving", ours]), ...members("new", [1, "Ready"])],
    {},
    ["leave old Leaving 1"],
  ],
  [
    "keeps a machine while its new machine has not completed its join",
    [...members("old", [2, "Ready"], [1, "Leaving", ours]), ...members("new", [1, "Ready"])],
    { busy: { joining: ["new Ready 1"] }, situation: { booting: { "new Ready 1": since } } },
    [],
  ],
  [
    "ignores a leaving machine that Ostler does not hold",
    [...members("old", [2, "Ready"], [1, "Leaving"]), ...members("new", [1, "Ready"])],
    {},
    [],
  ],
  [
    "releases a leaving machine without a node at once",
    [...members("old", [2, "Ready"], [1, "Leaving", { id: "paper", held: true, marked: false }])].map((member) => {
      const { node: _, ...bare } = member;
      return member.id === "paper" ? bare : member;
    }),
    {},
    ["leave paper"],
  ],
  [
    "unmarks an up-to-date machine that an earlier change marked and held",
    members("new", [2, "Ready"], [1, "Ready", { id: "stale", ...ours }]),
    {},
    ["unmark stale"],
  ],
  ["does not replace a skipped machine", [...full, ...waiting], { situation: { skipped: ["old Ready 1"] } }, [
    "admit new Held 1 for old Ready 2",
  ]],
  [
    "unmarks a chosen machine without a new machine when the cloud now protects it",
    [...members("new", [1, "Ready"]), ...members("old", [1, "Ready", { id: "kept", kept: "Wait", ...ours }])],
    { desired: { replicas: 2 } },
    ["unmark kept"],
  ],
  ["repairs an unhealthy machine", members("new", [2, "Ready"], [1, "NotReady", ill]), {}, ["repair new NotReady 1"]],
  [
    "repairs a machine while paused, and outside the windows",
    members("new", [2, "Ready"], [1, "NotReady", ill]),
    { rules: { windows: [] }, situation: { paused: true } },
    ["repair new NotReady 1"],
  ],
  [
    "admits only one machine, for the one that a repair removed, while the rollout is paused",
    members("new", [2, "Ready"], [2, "Held"]),
    { desired: { replicas: 4 }, situation: { paused: true, repaired: ["ill"] } },
    ["admit new Held 2 for none"],
  ],
  [
    "admits no machine for one that a repair removed while the change is quarantined",
    members("new", [2, "Ready"], [1, "Held"]),
    { situation: { paused: true, quarantined: true, repaired: ["ill"] } },
    [],
  ],
  [
    "releases a leaving machine with a lost node even if not enough other machines are Ready",
    [
      ...members("old", [1, "Ready"], [1, "NotReady", ill], [1, "Leaving", { ...ours, lost: true }]),
      ...members("new", [1, "Ready"]),
    ],
    {},
    ["leave old Leaving 1", "repair old NotReady 1"],
  ],
  [
    "repairs one machine at a time with a budget of 1",
    members("new", [8, "Ready"], [2, "NotReady", ill]),
    { desired: { replicas: 10 } },
    ["repair new NotReady 1"],
  ],
  [
    "does not repair an unhealthy machine before its repair is due",
    members("new", [2, "Ready"], [1, "NotReady", { ill: { why: "", since: now, due: now + minute } }]),
    {},
    [],
  ],
  [
    "does not repair machines when the policy disables repairs",
    members("new", [2, "Ready"], [1, "NotReady", ill]),
    { rules: { repair: { enabled: false, notReadyFor: 0, conditions: [], maxUnhealthy: 40 } } },
    [],
  ],
  [
    "repairs an unhealthy old machine outside the windows",
    [...members("old", [2, "Ready"], [1, "NotReady", ill]), ...waiting],
    { rules: { windows: [] } },
    ["repair old NotReady 1"],
  ],
  [
    "repairs an unhealthy old machine even if a leaving machine, which waits for the repair, uses up the budget",
    [
      ...members("old", [1, "Ready"], [1, "NotReady", ill], [1, "Leaving", ours]),
      ...members("new", [1, "Ready"], [2, "Held"]),
    ],
    { desired: { surge: 3 } },
    ["repair old NotReady 1"],
  ],
  [
    "admits no machine with zero replicas",
    [...members("old", [1, "Ready"]), ...waiting],
    { desired: { replicas: 0, surge: 5 }, budget: { machines: 3 } },
    [],
  ],
  ["returns no steps when all machines are up to date and Ready", members("new", [3, "Ready"]), {}, []],
];

for (const [name, pool, difference, steps] of rows) {
  Deno.test(`planTurn: ${name}`, () => {
    deepEqual(planTurn(situationOf(pool, difference)).steps.map(told), steps);
  });
}

const ends: [name: string, pool: Member[], difference: Difference, converged: boolean][] = [
  ["has converged when all machines are new and Ready", members("new", [3, "Ready"]), {}, true],
  ["has converged with zero replicas and zero machines", [], { desired: { replicas: 0 } }, true],
  ["has not converged while a node is not Ready", members("new", [2, "Ready"], [1, "NotReady"]), {}, false],
  ["has not converged with more machines than replicas", members("new", [4, "Ready"]), {}, false],
  ["has not converged while a machine remains marked", members("new", [2, "Ready"], [1, "Ready", ours]), {}, false],
  [
    "has not converged while a machine is in progress",
    members("new", [3, "Ready"]),
    { busy: { repairing: ["x"] } },
    false,
  ],
  ["has not converged while a machine has not completed its join", members("new", [3, "Ready"]), {
    situation: { booting: { "new Ready 1": since } },
  }, false],
];

for (const [name, pool, difference, converged] of ends) {
  Deno.test(`planTurn: ${name}`, () => {
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
  [[...full, ...members("old", [1, "Leaving"])], {}, /1 machine to be removed/],
  [[...full, ...waiting], { busy: { joining: ["new Held 1"] } }, /1 machine to join/],
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
    /budget of 1 machine: 0 out of service or changing, 1 unhealthy/,
  ],
];

for (const [pool, difference, says] of waits) {
  Deno.test(`planTurn: waits for ${says.source}`, () => {
    match(planTurn(situationOf(pool, difference)).waitsFor, says);
  });
}

Deno.test("planTurn: plans again when the next repair is due", () => {
  const due = now + 7 * minute;
  const pool = members("new", [2, "Ready"], [1, "NotReady", { ill: { why: "", since: now, due } }]);
  equal(planTurn(situationOf(pool)).lookAgainAt, due);
});
