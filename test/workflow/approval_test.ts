/** The field `approval` of a policy: a person approves a plan by its hash before machines are replaced. */
import { WorkflowUpdateFailedError } from "@temporalio/client";
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import type { Progress } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { assertOrderly, assertRuns } from "../support/pool_checks.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

function isRefusal(about: RegExp): (error: unknown) => boolean {
  return (error) => {
    ok(error instanceof WorkflowUpdateFailedError, String(error));
    match(error.cause?.message ?? "", about);
    return true;
  };
}

test("approval: with BeforeFirst, nothing starts before the current plan is approved, and the approval of another plan is refused", async (stage) => {
  const pool = await stage.grownPool({ rules: { approval: "BeforeFirst" } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { plan } = await stage.stands(handle, "Rolling", "AwaitingApproval");
  equal(plan?.approved, false);
  await eventually("the plan to be reported", () => pool.reports.at(-1)?.plan?.hash === plan?.hash);
  equal(pool.count("ensureMachineAdmitted"), 0);
  await rejects(stage.ask(pool, "approve", { by: "somebody", plan: "of yesterday" }), isRefusal(/plan/));
  equal(pool.count("ensureMachineAdmitted"), 0);
  await stage.ask(pool, "approve", { by: "somebody", plan: plan?.hash ?? "" });
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("approval: an approval of one change does not approve a newer change", async (stage) => {
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

test("fault E3: an approval stays valid after an edit of the profile and after a terminated run", async (stage) => {
  for (const approval of ["BeforeFirst", "BeforeEachWave"] as const) {
    const pool = await stage.grownPool({ rules: { approval } });
    pool.fate = () => "registered";
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    const { plan } = await stage.stands(handle, "Rolling", "AwaitingApproval");
    await stage.ask(pool, "approve", { by: "somebody", plan: plan?.hash ?? "" });
    await eventually("an admission", () => pool.count("ensureMachineAdmitted") === 1);
    await eventually("the report", () => Boolean(pool.rollout.approval));
    const published = pool.count("publishConfig");
    pool.profileVersion = 2;
    await stage.tell(pool);
    await eventually("the publication", () => pool.count("publishConfig") > published);
    await handle.terminate("by hand");
    pool.fate = () => "joins";
    pool.mend();
    pool.profileVersion = 3;
    equal((await (await stage.rollOut(pool)).result()).outcome, "Converged");
    deepEqual(pool.events.filter(({ reason }) => reason === "ApprovalDropped"), []);
    equal(pool.rollout.approval, null);
  }
});

test("approval: is required again when a change is applied again, because the plan is a new one", async (stage) => {
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

test("approval: BeforeEachWave requires it again before each wave", async (stage) => {
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

/** Returns a pool with an approved plan, when the first wave, of one machine, soaks. */
async function soakingPool(stage: Stage): Promise<{ pool: FakePool; hash: string; handle: Handle }> {
  const waves = [{ upTo: 1, soak: 60_000 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { approval: "BeforeFirst", waves } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { plan: { hash = "" } = {} } = await stage.stands(handle, "Rolling", "AwaitingApproval");
  await stage.ask(pool, "approve", { by: "somebody", plan: hash });
  equal((await stage.stands(handle, "Rolling", "Soaking")).plan?.approved, true);
  return { pool, hash, handle };
}

const isAskedAgain = ({ plan, reason }: Progress): boolean => plan?.approved === false && reason === "AwaitingApproval";
const dropped = ({ events }: FakePool): string[] =>
  events.filter(({ reason }) => reason === "ApprovalDropped").map(({ message }) => message);

test("approval: is required again when the waves of the policy change", async (stage) => {
  const { pool, hash, handle } = await soakingPool(stage);
  pool.rules.waves = [{ upTo: "100%", soak: 0 }];
  await stage.tell(pool);
  const { plan } = await stage.sees(pool, "the question again", isAskedAgain);
  equal(pool.count("ensureMachineAdmitted"), 1);
  await eventually("the Event", () => dropped(pool).length === 1);
  match(dropped(pool)[0] ?? "", new RegExp(`Plan ${hash} is no longer approved: the policy or the pool has changed`));
  await rejects(stage.ask(pool, "approve", { by: "somebody", plan: hash }), isRefusal(/stale/));
  await stage.ask(pool, "approve", { by: "somebody", plan: plan?.hash ?? "" });
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("approval: is required again when the pool grows, and not when it shrinks", async (stage) => {
  const { pool, hash, handle } = await soakingPool(stage);
  for (const replicas of [2, 3]) {
    pool.change({ replicas });
    await stage.tell(pool);
    const { plan } = await stage.sees(pool, `${replicas} machines`, ({ counts }) => counts?.desired === replicas);
    deepEqual(plan, { hash, approved: true });
  }
  pool.change({ replicas: 4 });
  await stage.tell(pool);
  await stage.sees(pool, "the question again", isAskedAgain);
  await eventually("the Event", () => dropped(pool).length === 1);
  match(dropped(pool)[0] ?? "", /the approval was for 3 machines, but 4 are desired now/);
  await handle.cancel();
});

test("approval: an approval of a wave does not approve the plan when the policy changes from BeforeEachWave to BeforeFirst", async (stage) => {
  const waves = [{ upTo: 1, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { approval: "BeforeEachWave", waves } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { plan } = await stage.stands(handle, "Rolling", "AwaitingApproval");
  await stage.ask(pool, "approve", { by: "somebody", plan: plan?.hash ?? "" });
  await stage.sees(pool, "the second wave", ({ wave, reason }) => wave === 2 && reason === "AwaitingApproval");
  pool.rules.approval = "BeforeFirst";
  await stage.tell(pool);
  await stage.sees(pool, "the request for approval", ({ message }) => /approval of the plan/.test(message));
  equal(pool.count("ensureMachineAdmitted"), 1);
  await handle.cancel();
});

for (const activity of ["planRollout", "readPool"]) {
  test(`approval: drops an approval that arrives after a change of the policy and before the new plan (at ${activity})`, async (stage) => {
    const pool = await stage.grownPool({ rules: { approval: "BeforeFirst" } });
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    const { plan: { hash = "" } = {} } = await stage.stands(handle, "Rolling", "AwaitingApproval");
    const answer = Promise.withResolvers<void>();
    // The run reads rules, then machines, and then plans; the approval arrives at one of the last two steps.
    pool.before["readDesired"] = () => {
      pool.rules.budget.machines = 2;
      pool.after[activity] = async () => {
        delete pool.after[activity];
        await stage.ask(pool, "approve", { by: "somebody", plan: hash }).then(() => answer.resolve(), answer.reject);
      };
      delete pool.before["readDesired"];
    };
    await stage.tell(pool);
    await answer.promise;
    await eventually("the Event", () => dropped(pool).length === 1);
    const { plan } = await stage.sees(pool, "the question again", isAskedAgain);
    notEqual(plan?.hash, hash);
    equal(pool.count("ensureMachineAdmitted"), 0);
    await handle.cancel();
  });
}

test("approval: is not required for scaling", async (stage) => {
  const pool = await stage.grownPool({ rules: { approval: "BeforeFirst" } });
  pool.change({ replicas: 4 });
  equal((await (await stage.rollOut(pool)).result()).outcome, "Converged");
  equal(pool.machines.length, 4);
});

test("conflict: nothing starts while policies conflict", async (stage) => {
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
