import { deepEqual, equal, notEqual } from "node:assert/strict";
import type { Notice } from "../../../../workflows/contracts/mod.ts";
import { watchedRollouts } from "../../../../workers/watched_facts.ts";

const metadata = { name: "workers", namespace: "fleet", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
const halted = {
  ...{ phase: "Halted", reason: "Quarantined", message: "Revision 4 is held", revision: "4", image: "img-4" },
  quarantine: [{ specHash: "s", since: 1_000 }],
  conditions: [{ type: "Blocked", status: "True", reason: "Quarantined", lastTransitionTime: "2026-01-01T10:00:00Z" }],
};
const ended = {
  ...{ revision: "4", image: "img-4", startedAt: "2026-01-01T10:00:00Z", endedAt: "2026-01-01T10:30:00Z" },
  ...{ outcome: "Converged", machines: 3, failed: 1, actor: "jane", reason: "", seconds: 1_800 },
};

function noticesOf(status: object, uid = "u"): Notice[] {
  return watchedRollouts.schema.parse({ metadata: { ...metadata, uid }, status }).notices;
}

function idOf(status: object, uid?: string): string {
  return noticesOf(status, uid)[0]?.id ?? "";
}

Deno.test("noticesOf: returns one notification for a halted rollout, with its reason; its ID changes only with another reason, another failure or another pool", () => {
  const [{ id = "", ...notice } = {}, ...more] = noticesOf(halted);
  deepEqual([notice, more], [{
    ...{ kind: "Halted", at: "2026-01-01T10:00:00.000Z", reason: "Quarantined", message: "Revision 4 is held" },
    ...{ revision: "4", image: "img-4" },
  }, []]);
  equal(
    idOf({ ...halted, message: "Revision 4 is held, still", replicas: 9, conditions: [] }),
    id,
    "Expected the same notification after another read",
  );
  notEqual(
    idOf({ ...halted, quarantine: [{ specHash: "s", since: 2_000 }] }),
    id,
    "Expected another notification after another failure",
  );
  notEqual(idOf({ ...halted, reason: "ProfileMissing" }), id, "another reason");
  notEqual(idOf(halted, "other"), id, "Expected another notification for another pool of that name");
});

Deno.test("noticesOf: returns another notification for a halt with the same reason after another rollout of the revision has ended", () => {
  const denied = { ...halted, reason: "AccessDenied", quarantine: [], history: [{ ...ended, revision: "3" }] };
  const again = { ...denied, history: [...denied.history, { ...ended, endedAt: "2026-01-02T10:30:00Z" }] };
  equal(idOf({ ...denied, message: "another text" }), idOf(denied));
  notEqual(idOf(again), idOf(denied));
});

Deno.test("fault U2: noticesOf: returns nothing for a rollout whose remaining machines a user skipped", () => {
  deepEqual(noticesOf({ ...halted, reason: "OnlySkippedRemain", quarantine: [] }), []);
});

Deno.test("noticesOf: returns the same notification when an inconclusive gate of a machine is evaluated again, and another one for another machine", () => {
  const inDoubt = (machine: string, why: string): object => ({
    ...halted,
    ...{ reason: "GateInconclusive", message: `${machine}: gate "errors" is inconclusive: ${why}`, quarantine: [] },
  });
  const first = idOf(inDoubt("workers-1", "Prometheus is away"));
  equal(idOf(inDoubt("workers-1", "no data since 10 minutes")), first);
  notEqual(idOf(inDoubt("workers-2", "Prometheus is away")), first);
});

Deno.test("noticesOf: returns one notification for each set of machines of the last good revision that fail to join", () => {
  const failed = (machines: string): object => ({
    ...halted,
    ...{
      reason: "JoinAttemptsExhausted",
      message: `Machines ${machines} of the last good revision failed to join too`,
      quarantine: [],
    },
  });
  equal(idOf({ ...failed("m-1, m-2"), conditions: [] }), idOf(failed("m-1, m-2")));
  notEqual(idOf(failed("m-3, m-4")), idOf(failed("m-1, m-2")));
});

Deno.test("noticesOf: returns the same notification during a whole rollback, even when the reason or the revision changes", () => {
  const back = { ...halted, phase: "RollingBack", reason: "RollBack" };
  equal(noticesOf(back)[0]?.kind, "RollingBack");
  equal(idOf({ ...back, reason: "Joining", revision: "5" }), idOf(back));
});

Deno.test("noticesOf: returns a notification of its own for each plan and each wave that waits for approval", () => {
  const waits = (hash: string, wave: string): object => ({
    ...{ phase: "Rolling", reason: "AwaitingApproval", plan: { hash, approved: false }, wave },
    conditions: [{ type: "Blocked", status: "True", reason: "AwaitingApproval" }],
  });
  equal(noticesOf(waits("a", "1/3"))[0]?.kind, "AwaitingApproval");
  equal(new Set([idOf(waits("a", "1/3")), idOf(waits("b", "1/3")), idOf(waits("a", "2/3"))]).size, 3);
});

Deno.test("noticesOf: returns a notification about the end of the last rollout, also during the next one", () => {
  const [notice, ...more] = noticesOf({ phase: "Rolling", history: [{ ...ended, outcome: "Aborted" }, ended] });
  deepEqual(more, []);
  deepEqual([notice?.kind, notice?.at, notice?.message], [
    ...["Converged", "2026-01-01T10:30:00Z", "3 machines joined, 1 failed, in 30 minutes"],
  ]);
  const [short] = noticesOf({ phase: "Rolling", history: [{ ...ended, machines: 1, failed: 0, seconds: 60 }] });
  equal(short?.message, "1 machine joined, 0 failed, in 1 minute");
  deepEqual(noticesOf({ ...halted, history: [ended] }).map(({ kind }) => kind), ["Halted", "Converged"]);
});

Deno.test("noticesOf: returns nothing for running, empty and invalid rollouts", () => {
  const paused = { conditions: [{ type: "Blocked", status: "True", reason: "Paused" }] };
  deepEqual(
    [{ phase: "Rolling" }, {}, { ...paused, history: [{ outcome: "Exploded" }] }].flatMap((each) => noticesOf(each)),
    [],
  );
});

Deno.test("noticesOf: limits a message to 1,000 characters", () => {
  equal(noticesOf({ ...halted, message: "x".repeat(30_000) })[0]?.message.length, 1_000);
});
