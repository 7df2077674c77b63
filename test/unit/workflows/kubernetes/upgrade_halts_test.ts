import { deepEqual, match } from "node:assert/strict";
import type { UpgradeOutcome, UpgradeRefusal } from "../../../../workflows/contracts/mod.ts";
import {
  concerns,
  failed,
  haltOfOrder,
  type HeldUpgrade,
  holdUpgrade,
} from "../../../../workflows/kubernetes/upgrade_halts.ts";
import { surveyedUpgrade } from "../../../support/upgrade_surveys.ts";

const minute = 60_000;
const order = { node: "a", verb: "Apply" } as const;
const refusals: [UpgradeRefusal, "Later" | "Never"][] = [
  ["DownloadFailed", "Later"],
  ["HashMismatch", "Never"],
  ["NotFetched", "Never"],
  ["KubeadmRefused", "Never"],
  ["KubeletFailed", "Never"],
  ["ToolMissing", "Never"],
];

for (const [reason, again] of refusals) {
  Deno.test(`haltOfOrder: after ${reason}, Ostler tries again: ${again}`, () => {
    const halt = haltOfOrder(order, { outcome: "Refused", reason, message: "m" });
    deepEqual([halt?.again, halt?.standing.reason], [again, "UpgradeHalted"]);
    match(halt?.standing.message ?? "", new RegExp(`^Failed to upgrade control plane "a": ${reason}: m; \\w`));
  });
}

Deno.test("haltOfOrder: an order that was carried out halts nothing, and one without a result is repeated later", () => {
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

Deno.test("holdUpgrade: tries again after a minute, after ten minutes, or never", () => {
  const untils = (["Soon", "Later", "Never"] as const).map((again) => holding(again, null).until);
  deepEqual(untils, [minute, 10 * minute, null]);
});

Deno.test("holdUpgrade: six failed attempts in a row need a person; waits in between do not count", () => {
  let held: HeldUpgrade | null = null;
  const untils = [1, 2, 3, 4, 5, 6].map(() => {
    held = holding("Soon", held);
    held = holding("Later", held);
    return held.until;
  });
  deepEqual(untils, [...Array.from({ length: 5 }, () => 10 * minute), null]);
  match((held as HeldUpgrade | null)?.standing.message ?? "", /set annotation ostler.dev\/retry-kubernetes/);
});

Deno.test("holdUpgrade: a request for another attempt begins the count anew", () => {
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
  Deno.test(`concerns: is ${isSame} when ${what}`, () => {
    deepEqual(concerns(holding("Never", null), surveyedUpgrade(differs)), isSame);
  });
}
