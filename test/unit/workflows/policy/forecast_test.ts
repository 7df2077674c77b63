import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { byTurn } from "../../../../activities/pool/snapshot.ts";
import type { Desired, Member, Memory, RolloutPlan, Rules } from "../../../../workflows/contracts/mod.ts";
import { forecast } from "../../../../workflows/policy/forecast.ts";
import { type Supplier, supplierOf, type SupplierView } from "../../../../workflows/policy/supplier.ts";
import { desired, ill, members, minute, now, ours } from "./simulation/picture.ts";

interface Question {
  pool?: Member[];
  desired?: Partial<Desired>;
  rules?: Partial<Rules>;
  memory?: Partial<Memory>;
  at?: number;
}

const usual = { join: [100, 110, 120], leave: [20, 30, 40] };

function plan({ pool = members("old", [3, "Ready"]), at = now, ...rest }: Question = {}): RolloutPlan {
  return forecast({
    ...{ now: at, desired: { ...desired, ...rest.desired }, rules: { ...defaultRules, ...rest.rules } },
    memory: { paused: null, quarantine: [], lastGood: null, usual, ...rest.memory },
    members: [...pool].sort(byTurn),
  });
}

const budget = (machines: number | string): Pick<Rules, "budget"> => ({
  budget: { ...defaultRules.budget, machines },
});
const canary: Rules["waves"] = [{ upTo: 1, soak: 10 * minute }, { upTo: "100%", soak: 0 }];
const names = (answer: RolloutPlan): string[][] => answer.waves.map(({ machines }) => machines);

Deno.test("forecast: names all machines in the order of their replacement", () => {
  const pool = members("old", [2, "Ready"], [1, "NotReady", ill], [1, "Ready", { id: "last", since: "2026-02-01" }]);
  const answer = plan({ pool, desired: { replicas: 4 } });
  deepEqual(names(answer), [["old NotReady 1", "old Ready 1", "old Ready 2", "last"]]);
  equal(answer.machines, 4);
});

Deno.test("forecast: orders the machines alike, whatever the soak of growing waves", () => {
  const soon: Partial<Member> = { ill: { why: "NotReady", since: now - minute, due: now + 5 * minute } };
  const pool = [...members("old", [6, "Ready"]), ...members("old", [1, "NotReady", { ...soon, since: "2026-02-01" }])];
  const after = (soak: number): RolloutPlan =>
    plan({ pool, desired: { replicas: 7 }, rules: { growth: { from: 1, factor: 2, soak } } });
  deepEqual(names(after(60 * minute)), names(after(0)));
});

Deno.test("forecast: names machines that the cloud protects, and plans without them", () => {
  const kept = [
    ...members("old", [1, "Ready", { id: "waits", kept: "Wait" }]),
    ...members("old", [1, "Ready", { id: "left", kept: "Skip" }]),
  ];
  const answer = plan({ pool: [...members("old", [1, "Ready"]), ...kept] });
  deepEqual(names(answer), [["old Ready 1"]]);
  deepEqual(answer.stays, [
    "protected by the cloud and skipped by the policy: left",
    "until the cloud no longer protects these machines: waits",
  ]);
  equal(plan().stays, undefined);
});

Deno.test("forecast: terminates and includes unhealthy machines, whether the policy repairs machines or not", () => {
  for (const repair of [defaultRules.repair, { ...defaultRules.repair, enabled: false }]) {
    const pool = members("old", [1, "Ready"], [2, "NotReady", ill]);
    const answer = plan({ pool, desired: { replicas: 3 }, rules: { repair } });
    deepEqual(answer.waves.map(({ size }) => size), [3]);
  }
});

Deno.test("forecast: assigns machines to waves", () => {
  const answer = plan({ rules: { waves: canary } });
  deepEqual(names(answer), [["old Ready 1"], ["old Ready 2", "old Ready 3"]]);
  deepEqual(answer.waves.map(({ size, soakSeconds }) => [size, soakSeconds]), [[1, 600], [2, 0]]);
});

Deno.test("forecast: estimates the duration from joins, drains and soaks, with their median and their 90th percentile", () => {
  deepEqual(plan().seconds, { low: 3 * 140, high: 3 * 160 });
  deepEqual(plan({ rules: { waves: canary } }).seconds, { low: 3 * 140 + 600, high: 3 * 160 + 600 });
  deepEqual(plan({ rules: budget(3), desired: { surge: 3 } }).seconds, { low: 140, high: 160 });
  deepEqual(plan({ rules: budget(3), desired: { surge: 1 } }).seconds, { low: 3 * 140, high: 3 * 160 });
});

Deno.test("forecast: returns no duration without measurements", () => {
  equal(plan({ memory: { usual: { join: [], leave: [] } } }).seconds, null);
});

Deno.test("forecast: waits for the windows, and returns no duration when they are too short", () => {
  const start = now + 60 * minute;
  const windows = [{ from: start, to: start + 1000 * minute }];
  deepEqual(plan({ rules: { windows } }).seconds, { low: 3600 + 3 * 140, high: 3600 + 3 * 160 });
  equal(plan({ rules: { windows: [{ from: start, to: start + 4 * minute }] } }).seconds, null);
});

Deno.test("forecast: returns a duration of 0 when the pool has converged", () => {
  const answer = plan({ pool: members("new", [3, "Ready"]) });
  deepEqual([answer.waves.map(({ size }) => size), answer.seconds, answer.blocked], [[0], { low: 0, high: 0 }, []]);
});

Deno.test("forecast: returns the remaining machines when a rollout is in progress", () => {
  const pool = [
    ...members("old", [1, "Ready"], [1, "Ready", { ...ours, id: "chosen" }]),
    ...members("old", [1, "Leaving", ours]),
    ...members("new", [1, "Ready"], [1, "Booting"]),
  ];
  const answer = plan({ pool });
  deepEqual(names(answer), [["old Leaving 1", "chosen", "old Ready 1"]]);
  notEqual(answer.seconds, null);
});

Deno.test("forecast: returns everything that blocks the start", () => {
  const memory = {
    paused: { by: "ada", reason: "", since: 0 },
    quarantine: [{
      specHash: "s",
      templateHash: "",
      revision: "",
      image: "",
      kubelet: "k",
      by: "",
      reason: "",
      since: 0,
    }],
  };
  const answer = plan({ memory, rules: { approval: "BeforeFirst", conflict: "a and b select it", windows: [] } });
  equal(answer.blocked.length, 5);
  match(answer.blocked.join("; "), /Paused.*a and b select it.*failed before.*windows.*approve/);
  deepEqual(names(answer), names(plan()));
});

Deno.test("forecast: simulates a pool without surge", () => {
  const answer = plan({ desired: { surge: 0 } });
  deepEqual([names(answer)[0]?.length, answer.seconds], [3, { low: 3 * 140, high: 3 * 160 }]);
});

Deno.test("forecast: replaces one zone after another", () => {
  const pool = ["b", "a", "b", "a"].map((zone, nth): Member => {
    const [member] = members("old", [1, "Ready"]);
    return { ...member as Member, id: `${zone}${nth}`, zone, since: `2026-01-0${nth + 1}` };
  });
  const rules = { budget: { ...defaultRules.budget, zones: "OneAfterAnother" as const } };
  deepEqual(names(plan({ pool, desired: { replicas: 4 }, rules })), [["a1", "a3", "b0", "b2"]]);
});

Deno.test("forecast: returns the same hash at another time, with other measured durations, and with other times of windows", () => {
  const { hash } = plan();
  match(hash, /^[0-9a-f]{16}$/);
  equal(plan({ at: now + 5 * minute }).hash, hash);
  equal(plan({ memory: { usual: { join: [9], leave: [] } } }).hash, hash);
  const windows = (from: number): Partial<Rules> => ({ windows: [{ from, to: from + minute }] });
  equal(plan({ rules: windows(now) }).hash, plan({ rules: windows(now + minute) }).hash);
});

const changes: [what: string, question: Question][] = [
  ["the template", { desired: { templateHash: "other" } }],
  ["the number of machines", { desired: { replicas: 4 } }],
  ["the budget", { rules: budget(2) }],
  ["the waves", { rules: { waves: canary } }],
  ["a soak", { rules: { waves: [{ upTo: "100%", soak: 1 }] } }],
  ["the gates", {
    rules: { gates: [{ name: "g", run: "EachWave", within: 1, check: { kind: "Job", namespace: "n", cronJob: "c" } }] },
  }],
  ["the existence of windows", { rules: { windows: [] } }],
  ["the order", { pool: members("old", [2, "Ready"], [1, "NotReady", ill]) }],
];

for (const [what, question] of changes) {
  Deno.test(`forecast: returns another hash when ${what} changes`, () => notEqual(plan(question).hash, plan().hash));
}

Deno.test("forecast: names all of a thousand machines", () => {
  const pool = members("old", [1000, "Ready"]).map((member, nth) => ({ ...member, id: `m${nth}` }));
  const rules = { waves: canary, ...budget("10%") };
  const answer = plan({ pool, desired: { replicas: 1000, surge: 100 }, rules });
  deepEqual(answer.waves.map(({ size }) => size), [1, 999]);
  equal(new Set(names(answer).flat()).size, 1000);
  ok((answer.seconds?.low ?? 0) >= 140 + 600 + 999 * 140 / 100);
});

Deno.test("forecast: replaces no machine for a new image with onImageChange InPlace, and explains why", () => {
  const pool = members("old", [3, "Ready", { image: "another" }]);
  const answer = plan({ pool, rules: { onImageChange: "InPlace" } });
  deepEqual([names(answer), answer.seconds, answer.machines], [[[]], null, 3]);
  match(answer.blocked[0] ?? "", /no machine is replaced for image .*NodePools/);
  // InPlace does not prevent a replacement for a change without a new image, and ReplaceIfRefused prevents none.
  const same = members("old", [3, "Ready", { image: desired.image }]);
  deepEqual(names(plan({ pool: same, rules: { onImageChange: "InPlace" } })), names(plan({ pool: same })));
  deepEqual(names(plan({ pool, rules: { onImageChange: "ReplaceIfRefused" } })), names(plan({ pool })));
});

Deno.test("forecast: names the nodes that refused an image and are updated or replaced in their turn", () => {
  const refused: Partial<Member> = { id: "refused", kept: "Failed", replaceable: true };
  const nodes = [...members("old", [2, "Ready"]), ...members("old", [1, "Ready", refused])].sort(byTurn);
  const namesOf = (onImageChange: NonNullable<Rules["onImageChange"]>): string[] =>
    forecast({
      ...{ now, kind: "NodePool", desired: { ...desired, surge: 0 }, rules: { ...defaultRules, onImageChange } },
      ...{ memory: { paused: null, quarantine: [], lastGood: null, usual }, members: nodes },
    }).waves.flatMap(({ machines }) => machines).sort();
  deepEqual(namesOf("ReplaceIfRefused"), ["old Ready 1", "old Ready 2", "refused"]);
  deepEqual(namesOf("InPlace"), ["old Ready 1", "old Ready 2"]);
});

Deno.test("forecast: passes only the next machines of each zone of a large pool to the planner", () => {
  const size = 240;
  const zones = ["a", "b", "c"];
  const budgets: Partial<Rules["budget"]>[] = [{}, { zones: "OneAfterAnother" }, { perZone: 1 }];
  for (const kind of ["MachineDeployment", "ScalingGroup", "NodePool"] as const) {
    for (const limits of budgets) {
      let most = 0;
      const supplier: Supplier = {
        ...supplierOf(kind),
        nextOf: (mayGo) => {
          most = Math.max(most, mayGo.length);
          return supplierOf(kind).nextOf(mayGo);
        },
        owedOf: (view: SupplierView) => {
          most = Math.max(most, view.pool.old.length, view.pool.waiting.length);
          return supplierOf(kind).owedOf(view);
        },
      };
      const pool = members("old", [size, "Ready"]).map((each, nth): Member => ({
        ...{ ...each, id: `m${String(nth).padStart(3, "0")}` },
        ...{ zone: zones[nth % 3] ?? "", since: "2026-01-01", staged: true },
      }));
      const answer = forecast({
        ...{ now, kind, desired: { ...desired, replicas: size, surge: kind === "NodePool" ? 0 : 1 } },
        ...{ rules: { ...defaultRules, budget: { ...defaultRules.budget, machines: 1, ...limits } }, members: pool },
        memory: { paused: null, quarantine: [], lastGood: null, usual },
      }, supplier);
      const about = `${kind} ${JSON.stringify(limits)}`;
      equal(new Set(names(answer).flat()).size, size, about);
      notEqual(answer.seconds, null, about);
      ok(most <= 64, `${about}: ${most} machines in one call of the planner`);
    }
  }
});

Deno.test("forecast: names what blocks the rollout even if more machines are kept than a snapshot lists", () => {
  const kept = members("old", [30, "Ready"]).map((each, nth) => ({
    ...each,
    id: `m${nth + 10}`,
    kept: "Wait" as const,
  }));
  const policies: Partial<Rules>[] = [{}, { budget: { ...defaultRules.budget, perZone: 1 } }];
  for (const rules of policies) {
    const answer = plan({ pool: kept, desired: { replicas: 30 }, rules });
    match(answer.blocked[0] ?? "", /protects the remaining outdated machines: m10, m11, m12, m13, m14 and 25 more;/);
  }
});
