import { deepEqual, equal, match } from "node:assert/strict";
import type { Gate, Member, WaveState } from "../../../../workflows/contracts/mod.ts";
import { blockersOf, planTurn } from "../../../../workflows/policy/plan_turn.ts";
import type { Blocked } from "../../../../workflows/policy/turn.ts";
import { ill, members, minute, now, ours, situationOf, told } from "./simulation/picture.ts";
import type { Difference } from "./simulation/picture.ts";

const pool = [...members("old", [3, "Ready"]), ...members("new", [1, "Held"])];
const missing = [...members("old", [2, "Ready"]), ...members("new", [2, "Held"])];
const later = { from: now + 60 * minute, to: now + 90 * minute };
const open = { from: now - minute, to: now + 10 * minute };
const soaking: WaveState = { index: 0, soakUntil: now + 5 * minute, passed: true, approved: false };
const soaked: Difference = { rules: { waves: [{ upTo: 1, soak: 5 * minute }] }, situation: { wave: soaking } };
const oneUpdated = [...members("old", [2, "Ready"]), ...members("new", [1, "Ready"], [1, "Held"])];

type Row = [reason: Blocked["reason"], pool: Member[], difference: Difference, until: number | null];

const rows: Row[] = [
  ["Paused", pool, { situation: { paused: true } }, null],
  ["PolicyConflict", pool, { rules: { conflict: "a and b" } }, null],
  ["Quarantined", pool, { situation: { quarantined: true } }, null],
  ["OutsideWindow", pool, { rules: { windows: [later] } }, later.from],
  ["OutsideWindow", pool, { rules: { windows: [] } }, null],
  ["WindowTooShort", pool, { rules: { windows: [open, later] }, situation: { usual: 11 * minute } }, later.from],
  ["WindowTooShort", pool, {
    rules: { windows: [{ from: now - 90 * minute, to: now - 5 * minute }, open, later] },
    situation: { usual: 360 * minute },
  }, later.from],
  ["AwaitingApproval", pool, { rules: { approval: "BeforeFirst" } }, null],
  ["AwaitingApproval", pool, { rules: { approval: "BeforeEachWave" }, situation: { approved: true } }, null],
  ["Soaking", oneUpdated, soaked, soaking.soakUntil],
];

for (const [reason, machines, difference, until] of rows) {
  const when = JSON.stringify({ ...difference.rules, ...difference.situation });
  Deno.test(`planTurn: is blocked by ${reason} with ${when}`, () => {
    const turn = planTurn(situationOf(machines, difference));
    deepEqual([turn.blocked?.reason, turn.blocked?.until, turn.steps.map(told)], [reason, until, []]);
    if (until !== null) equal(turn.lookAgainAt, until);
  });
}

const free: [name: string, machines: Member[], difference: Difference][] = [
  ["in a window", pool, { rules: { windows: [open] }, situation: { usual: 10 * minute } }],
  ["early in a window that is too short", pool, {
    rules: { windows: [{ from: now - 3 * minute, to: now + 60 * minute }] },
    situation: { usual: 360 * minute },
  }],
  ["early in adjacent windows that are too short", pool, {
    rules: {
      windows: [{ from: now - minute, to: now + 9 * minute }, { from: now + 9 * minute, to: now + 99 * minute }],
    },
    situation: { usual: 360 * minute },
  }],
  ["when the plan was approved", pool, { rules: { approval: "BeforeFirst" }, situation: { approved: true } }],
  ["when the wave was approved", pool, {
    rules: { approval: "BeforeEachWave" },
    situation: { wave: { ...soaking, soakUntil: null, approved: true } },
  }],
  ["during a rollback outside the windows", pool, { rules: { windows: [] }, situation: { rollingBack: true } }],
  ["during a rollback without approval", pool, {
    rules: { approval: "BeforeFirst" },
    situation: { rollingBack: true },
  }],
  ["during a rollback in a soak", oneUpdated, { ...soaked, situation: { wave: soaking, rollingBack: true } }],
  ["when a machine is missing outside the windows", missing, { rules: { windows: [] } }],
  ["when a machine is missing in a soak", missing, { situation: { wave: soaking } }],
  ["when a machine is missing without approval", missing, { rules: { approval: "BeforeFirst" } }],
  ["when a machine is missing and policies conflict", missing, { rules: { conflict: "a and b" } }],
];

for (const [name, machines, difference] of free) {
  Deno.test(`planTurn: admits a machine ${name}`, () => {
    equal(planTurn(situationOf(machines, difference)).steps.filter(({ kind }) => kind === "admit").length, 1);
  });
}

const held: [name: string, difference: Difference][] = [
  ["while paused", { situation: { paused: true } }],
  ["while quarantined", { situation: { quarantined: true } }],
  ["while a rollback is paused", { situation: { paused: true, rollingBack: true } }],
];

for (const [name, difference] of held) {
  Deno.test(`planTurn: does not add a missing machine ${name}`, () => {
    deepEqual(planTurn(situationOf(missing, difference)).steps, []);
  });
}

Deno.test("planTurn: returns the strongest block, and blockersOf returns all blocks in order", () => {
  const situation = situationOf(pool, {
    ...{ rules: { conflict: "a and b", windows: [later], approval: "BeforeFirst" } },
    situation: { paused: true, quarantined: true },
  });
  equal(planTurn(situation).blocked?.reason, "Paused");
  const all = ["Paused", "PolicyConflict", "Quarantined", "OutsideWindow", "AwaitingApproval"];
  deepEqual(blockersOf(situation).map(({ reason }) => reason), all);
});

Deno.test("planTurn: is not blocked when the pool has converged", () => {
  const done = members("new", [3, "Ready"]);
  equal(planTurn(situationOf(done, { rules: { windows: [] }, situation: { paused: true } })).blocked, null);
});

Deno.test("planTurn: removes no old machine while the change is quarantined, except in a rollback", () => {
  const leaving = [...members("old", [2, "Ready"], [1, "Leaving", ours]), ...members("new", [1, "Ready"])];
  deepEqual(planTurn(situationOf(leaving, { situation: { quarantined: true } })).steps, []);
  const back = planTurn(situationOf(leaving, { situation: { quarantined: true, rollingBack: true } }));
  deepEqual(back.steps.map(told), ["leave old Leaving 1"]);
});

Deno.test("planTurn: repairs no machine when too many are unhealthy", () => {
  const situation = situationOf(members("new", [5, "Ready"], [5, "NotReady", ill]), { desired: { replicas: 10 } });
  const turn = planTurn(situation);
  deepEqual(turn.steps, []);
  match(
    turn.blocked?.message ?? "",
    /^5 of 10 machines are unhealthy, more than repair\.maxUnhealthy \(40%\); no machine is repaired$/,
  );
});

Deno.test("planTurn: does not repair an unhealthy machine that the cloud protects", () => {
  const machines = members("new", [1, "Ready"], [1, "NotReady", { ...ill, kept: "Wait" }]);
  deepEqual(planTurn(situationOf(machines, { desired: { replicas: 2 } })).steps, []);
});

Deno.test("planTurn: repairs one unhealthy machine of two", () => {
  const situation = situationOf(members("new", [1, "Ready"], [1, "NotReady", ill]), { desired: { replicas: 2 } });
  deepEqual(planTurn(situation).steps.map(told), ["repair new NotReady 1"]);
});

Deno.test("planTurn: repairs machines up to repair.maxUnhealthy", () => {
  const repair = { enabled: true, notReadyFor: 0, conditions: [], maxUnhealthy: 50 };
  const machines = members("new", [5, "Ready"], [5, "NotReady", ill]);
  const difference = { desired: { replicas: 10 }, rules: { repair }, budget: { machines: 3 } };
  equal(planTurn(situationOf(machines, difference)).steps.length, 3);
});

Deno.test("planTurn: reports OnlySkippedRemain when only skipped machines are outdated", () => {
  const machines = [...members("old", [1, "Ready"]), ...members("new", [2, "Ready"], [1, "Held"])];
  const turn = planTurn(situationOf(machines, { situation: { skipped: ["old Ready 1"] } }));
  deepEqual([turn.blocked?.reason, turn.converged, turn.steps], ["OnlySkippedRemain", false, []]);
  match(turn.blocked?.message ?? "", /old Ready 1/);
});

for (
  const [kept, reason] of [["Wait", "ProtectedRemain"], ["Failed", "FailedRemain"], ["Down", "DownRemain"]] as const
) {
  Deno.test(`fault U2: planTurn: reports ${reason} when a user skipped only some of the outdated machines`, () => {
    const old = members("old", [1, "Ready", { id: "mine" }], [1, "Ready", { id: "stuck", kept }]);
    const machines = [...old, ...members("new", [1, "Ready"], [1, "Held"])];
    equal(planTurn(situationOf(machines, { situation: { skipped: ["mine"] } })).blocked?.reason, reason);
  });
}

for (const [kept, reason] of [["Skip", "OnlySkippedRemain"], ["Wait", "ProtectedRemain"]] as const) {
  Deno.test(`planTurn: leaves machines with "kept: ${kept}", which the cloud protects, unchanged, and reports them when no other outdated machine remains`, () => {
    const old = [...members("old", [1, "Ready", { id: "mine", kept }], [1, "Ready", { id: "free" }])];
    const begun = planTurn(situationOf([...old, ...members("new", [1, "Ready"], [1, "Held"])]));
    deepEqual(begun.steps.flatMap((step) => step.kind === "admit" ? step.victim?.id : []), ["free"]);
    const done = [...members("old", [1, "Ready", { id: "mine", kept }]), ...members("new", [2, "Ready"], [1, "Held"])];
    const turn = planTurn(situationOf(done));
    deepEqual([turn.blocked?.reason, turn.converged, turn.steps], [reason, false, []]);
    match(turn.blocked?.message ?? "", /mine/);
  });
}

for (const [kept, reason] of [["Skip", "OnlySkippedRemain"], ["Wait", "ProtectedRemain"]] as const) {
  Deno.test(`planTurn: reports ${reason} when the cloud protects more outdated machines than a snapshot lists`, () => {
    const protectedOnes = (count: number): Member[] =>
      Array.from({ length: count }, (_, nth) => members("old", [1, "Ready", { id: `mine-${nth}`, kept }])).flat();
    const machines = [...protectedOnes(30), ...members("new", [1, "Ready"], [1, "Held"])];
    const whole = situationOf(machines, {});
    const { pool } = whole;
    const old = pool.old.slice(0, 20);
    const turn = planTurn({
      ...whole,
      pool: { ...pool, counts: { ...pool.counts, old: 30 }, old, unlisted: { [kept]: 10 } },
    });
    deepEqual([turn.blocked?.reason, turn.steps], [reason, []]);
    match(turn.blocked?.message ?? "", / and 25 more/);
    const free = planTurn({
      ...whole,
      pool: { ...pool, counts: { ...pool.counts, old: 30 }, old, unlisted: { [kept]: 9 } },
    });
    equal(free.blocked, null);
  });
}

Deno.test("K23 planTurn: does not replace a control plane while its Kubernetes is upgraded, and plans again after a minute", () => {
  const old = members("old", [1, "Ready", { id: "mine", kept: "Upgrading" }]);
  const turn = planTurn(situationOf([...old, ...members("new", [2, "Ready"], [1, "Held"])]));
  deepEqual([turn.blocked?.reason, turn.converged, turn.steps], ["ClusterBudget", false, []]);
  match(turn.blocked?.message ?? "", /outdated machines are being upgraded in place, or get new certificates: mine/);
  equal(turn.lookAgainAt, now + minute);
});

Deno.test("K23 planTurn: repairs an unhealthy control plane that is being upgraded only when its repair is due", () => {
  const due = (at: number): Member[] => [
    ...members("new", [1, "NotReady", { id: "mine", kept: "Upgrading", ill: { why: "", since: 0, due: at } }]),
    ...members("new", [2, "Ready"]),
  ];
  const before = planTurn(situationOf(due(now + minute)));
  deepEqual([before.steps, before.lookAgainAt], [[], now + minute]);
  deepEqual(planTurn(situationOf(due(now))).steps.map(told), ["repair mine"]);
});

Deno.test("fault E16 planTurn: neither drains nor replaces a machine whose node another machine names too, and reports why", () => {
  const unclear = { kept: "Unclear" as const, unclear: 'machines "a" and "b" all name node "n"' };
  const leaving = members("old", [1, "Leaving", { ...ours, id: "a", node: "n", lost: true, ...unclear }]);
  for (const machines of [leaving, members("old", [1, "Ready", { id: "a", node: "n", ...unclear }])]) {
    const turn = planTurn(situationOf([...machines, ...members("new", [3, "Ready"], [1, "Held"])]));
    deepEqual([turn.blocked?.reason, turn.converged, turn.steps.map(told)], ["NodeUnclear", false, []]);
    match(turn.blocked?.message ?? "", /may belong to other machines: a; machines "a" and "b" all name node "n"/);
  }
});

Deno.test("planTurn: reports SetAside when a machine that was set aside uses up the budget, and continues with a larger budget", () => {
  const machines = [
    ...members("old", [1, "Ready"], [1, "Leaving", { ...ours, id: "stuck" }]),
    ...members("new", [2, "Ready"], [1, "Held"]),
  ];
  const situation = { setAside: ["stuck"] };
  equal(planTurn(situationOf(machines, { situation })).blocked?.reason, "SetAside");
  const more = planTurn(situationOf(machines, { situation, budget: { machines: 2 } }));
  deepEqual(more.steps.map(told), ["admit new Held 1 for old Ready 1"]);
});

const gate: Gate = {
  name: "g",
  run: "EachWave",
  within: 1,
  check: { kind: "NodeCondition", type: "x", status: "True" },
};

Deno.test("planTurn: evaluates the gates of a wave before its soak, but not in a rollback", () => {
  const rules = { gates: [gate], waves: [{ upTo: 1, soak: minute }] };
  const asks = planTurn(situationOf(oneUpdated, { rules }));
  deepEqual([asks.steps.map(told), asks.waitsFor], [["gates 0"], "the gates of wave 1"]);
  const passed = { index: 0, soakUntil: null, passed: true, approved: false };
  const soaks = planTurn(situationOf(oneUpdated, { rules, situation: { wave: passed } }));
  deepEqual([soaks.steps, soaks.wave.soakUntil, soaks.blocked?.reason], [[], now + minute, "Soaking"]);
  const back = planTurn(situationOf(oneUpdated, { rules, situation: { rollingBack: true } }));
  deepEqual(back.steps.map(told), ["admit new Held 1 for old Ready 1"]);
});
