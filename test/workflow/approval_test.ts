/** The field `approval`, and plans with a hash. */
import { WorkflowUpdateFailedError } from "@temporalio/client";
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import type { Progress } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { assertOrderly, assertRuns } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

function isRefusal(about: RegExp): (error: unknown) => boolean {
  return (error) => {
    ok(error instanceof WorkflowUpdateFailedError, String(error));
    match(error.cause?.message ?? "", about);
    return true;
  };
}

test("BeforeFirst starts with the approval of the plan, and not with that of another one", async (stage) => {
  const pool = await stage.grownPool({ rules: { approval: "BeforeFirst" } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { plan } = await stage.stands(handle, "Rolling", "AwaitingApproval");
  equal(plan?.approved, false);
  await eventually("a report of the plan", () => pool.reports.at(-1)?.plan?.hash === plan?.hash);
  equal(pool.count("ensureMachineAdmitted"), 0);
  await rejects(stage.ask(pool, "approve", { by: "somebody", plan: "of yesterday" }), isRefusal(/plan/));
  equal(pool.count("ensureMachineAdmitted"), 0);
  await stage.ask(pool, "approve", { by: "somebody", plan: plan?.hash ?? "" });
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("an approval does not outlive the change that it was given for", async (stage) => {
  const pool = await stage.grownPool({ rules: { approval: "BeforeFirst" } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { plan: first } = await stage.stands(handle, "Rolling", "AwaitingApproval");
  pool.change({ image: "image-3" });
  await stage.tell(pool);
  const { plan: second } = await stage.sees(
    pool,
    "the plan of the newer change",
    ({ target, plan, reason }) =>
      target?.image === "image-3" && reason === "AwaitingApproval" && plan !== undefined && plan.hash !== first?.hash,
  );
  notEqual(first?.hash, second?.hash);
  await rejects(stage.ask(pool, "approve", { by: "somebody", plan: first?.hash ?? "" }), isRefusal(/plan/));
  await stage.ask(pool, "approve", { by: "somebody", plan: second?.hash ?? "" });
  await handle.result();
  assertRuns(pool, "image-3");
});

test("a change that is applied again asks again: its plan is another", async (stage) => {
  const pool = await stage.grownPool({ rules: { approval: "BeforeFirst" } });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { plan } = await stage.stands(handle, "Rolling", "AwaitingApproval");
  await stage.ask(pool, "approve", { by: "somebody", plan: plan?.hash ?? "" });
  await eventually("an admission", () => pool.count("ensureMachineAdmitted") === 1);
  const isAsked = (image: string) => ({ target, plan, reason }: Progress): boolean =>
    target?.image === image && plan?.approved === false && reason === "AwaitingApproval";
  for (const image of ["image-3", "image-2"]) {
    pool.change({ image });
    await stage.tell(pool);
    await stage.sees(pool, `the question about ${image}`, isAsked(image));
  }
  equal(pool.count("ensureMachineAdmitted"), 1);
  await handle.cancel();
});

test("BeforeEachWave asks again before each wave", async (stage) => {
  const waves = [{ upTo: 1, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { approval: "BeforeEachWave", waves } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const first = await stage.stands(handle, "Rolling", "AwaitingApproval");
  equal(pool.count("ensureMachineAdmitted"), 0);
  const approval = { by: "somebody", plan: first.plan?.hash ?? "" };
  const answer = await stage.ask(pool, "approve", approval);
  deepEqual(await stage.ask(pool, "approve", approval), answer);
  const isAsked = ({ wave, reason }: Progress): boolean => wave === 2 && reason === "AwaitingApproval";
  const second = await stage.sees(pool, "the question again", isAsked);
  equal(second.plan?.approved, false);
  await rejects(stage.ask(pool, "approve", approval), isRefusal(/stale/));
  equal(pool.count("ensureMachineAdmitted"), 1);
  await stage.ask(pool, "approve", { by: "somebody", plan: second.plan?.hash ?? "" });
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("scaling needs no approval: it is no rollout", async (stage) => {
  const pool = await stage.grownPool({ rules: { approval: "BeforeFirst" } });
  pool.change({ replicas: 4 });
  equal((await (await stage.rollOut(pool)).result()).outcome, "Converged");
  equal(pool.machines.length, 4);
});

test("a conflict of policies starts nothing until it is solved", async (stage) => {
  const conflict = 'Policies "a" and "b" select the pool equally well';
  const pool = await stage.grownPool({ rules: { conflict } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { message } = await stage.sees(pool, "the conflict", ({ reason }) => reason === "PolicyConflict");
  match(message, /"a" and "b"/);
  equal(pool.count("ensureMachineAdmitted"), 0);
  pool.rules.conflict = null;
  await stage.tell(pool);
  await handle.result();
  assertRuns(pool, "image-2");
});
