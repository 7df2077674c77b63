import { deepEqual, match } from "node:assert/strict";
import type { UpgradeOutcome, UpgradeRefusal } from "../../../../workflows/contracts/mod.ts";
import {
  failed,
  haltIn,
  haltOfOrder,
  haltOfRules,
  type HeldUpgrade,
  holdUpgrade,
} from "../../../../workflows/kubernetes/upgrade_halts.ts";
import { controlPlane, surveyedUpgrade, upgraded } from "../../../support/upgrade_surveys.ts";

const minute = 60_000;
const order = { node: "a", verb: "Apply" } as const;
const refusals: [UpgradeRefusal, "Later" | "Never"][] = [
  ["DownloadFailed", "Later"],
  ["HashMismatch", "Never"],
  ["NotFetched", "Later"],
  ["KubeadmRefused", "Never"],
  ["KubeletFailed", "Never"],
  ["ToolMissing", "Never"],
];

for (const [reason, again] of refusals) {
  Deno.test(`haltOfOrder: sets the next attempt to ${again} when a node refuses an order with ${reason}`, () => {
    const halt = haltOfOrder(order, { outcome: "Refused", reason, message: "m" });
    deepEqual([halt?.again, halt?.standing.reason], [again, "UpgradeHalted"]);
    match(halt?.standing.message ?? "", new RegExp(`^Failed to upgrade control plane "a": ${reason}: m; \\w`));
  });
}

Deno.test("haltOfOrder: returns no halt for a completed order, and a later attempt for an order without a result", () => {
  const unknown: UpgradeOutcome = { outcome: "Unknown", message: "no answer" };
  deepEqual([haltOfOrder(order, { outcome: "Done", message: "" }), haltOfOrder(order, unknown)?.again], [
    undefined,
    "Later",
  ]);
});

function holding(again: "Soon" | "Later" | "Never", previous: HeldUpgrade | null, differs = {}): HeldUpgrade {
  const halt = { ...failed("a", "cause"), again };
  return holdUpgrade(halt, { survey: surveyedUpgrade(differs), uid: "uid-of-a", previous, now: 0 });
}

Deno.test("holdUpgrade: sets the next attempt after one minute for Soon, after ten minutes for Later, and to none for Never", () => {
  const untils = (["Soon", "Later", "Never"] as const).map((again) => holding(again, null).until);
  deepEqual(untils, [minute, 10 * minute, null]);
});

Deno.test("holdUpgrade: waits for a person after six failed attempts in a row, and does not count short waits between the attempts", () => {
  let held: HeldUpgrade | null = null;
  const untils = [1, 2, 3, 4, 5, 6].map(() => {
    held = holding("Soon", held);
    held = holding("Later", held);
    return held.until;
  });
  deepEqual(untils, [...Array.from({ length: 5 }, () => 10 * minute), null]);
  match((held as HeldUpgrade | null)?.standing.message ?? "", /set annotation ostler.dev\/retry-kubernetes/);
});

Deno.test("holdUpgrade: starts the count of attempts at one again when a person requests another attempt", () => {
  const spent = { ...holding("Later", null), tries: 6 };
  deepEqual(holding("Later", spent, { retry: "1" }).tries, 1);
  deepEqual(holding("Later", spent).tries, 7);
});

const changes: [what: string, differs: Parameters<typeof surveyedUpgrade>[0], isSame: boolean][] = [
  ["nothing changed", {}, true],
  ["the fingerprint changed", { fingerprint: "g" }, true],
  ["the desired state changed", { digest: "e" }, false],
  ["the approval changed", { approved: "" }, false],
  ["a person asks for another attempt", { retry: "now" }, false],
  ["the control plane was replaced", { controlPlanes: [] }, false],
];

for (const [what, differs, isSame] of changes) {
  Deno.test(`haltIn: ${isSame ? "keeps" : "ends"} the halt when ${what}`, () => {
    deepEqual(haltIn(surveyedUpgrade(differs), holding("Never", null)) !== null, isSame);
  });
}

Deno.test("haltIn: ends the halt when a person has upgraded the control plane", () => {
  const first = haltIn(surveyedUpgrade(), holding("Never", null));
  const controlPlanes = [controlPlane("a", upgraded)];
  deepEqual([first?.ranVersion, haltIn(surveyedUpgrade({ controlPlanes }), first)], [false, null]);
});

Deno.test("haltIn: keeps the halt of an unhealthy control plane that ran the desired version already when the upgrade halted", () => {
  const survey = surveyedUpgrade({ controlPlanes: [controlPlane("a", upgraded)] });
  const first = haltIn(survey, holding("Never", null));
  deepEqual([first?.ranVersion, haltIn(survey, first) !== null], [true, true]);
});

const windows = [{ from: 100, to: 200 }, { from: 300, to: 400 }];
const rules: [what: string, ...input: Parameters<typeof haltOfRules>, reason: string | undefined][] = [
  ["without rules", { node: "a", isUnderWay: false }, undefined, 0, undefined],
  ["without windows", { node: "a", isUnderWay: false }, { conflict: null, windows: null }, 0, undefined],
  ["before a window", { node: "a", isUnderWay: false }, { conflict: null, windows }, 50, "OutsideWindow"],
  ["in a window", { node: "a", isUnderWay: false }, { conflict: null, windows }, 150, undefined],
  ["after all windows", { node: "a", isUnderWay: false }, { conflict: null, windows }, 500, "OutsideWindow"],
  [
    "outside the windows when the upgrade of the control plane is in progress",
    { node: "a", isUnderWay: true },
    { conflict: null, windows },
    250,
    undefined,
  ],
  [
    "when two policies conflict",
    { node: "a", isUnderWay: false },
    { conflict: "a and b", windows: null },
    0,
    "PolicyConflict",
  ],
];

for (const [what, plane, asked, now, reason] of rules) {
  Deno.test(`haltOfRules: returns ${reason ?? "no halt"} ${what}`, () => {
    deepEqual(haltOfRules(plane, asked, now)?.standing.reason, reason);
  });
}
