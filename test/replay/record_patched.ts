/** Stories of rollouts that reach a step which a later version changed; a comment names the patch with the change. */
import type { CarriedState } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_failure.ts";
import { hashOf } from "../support/fake_machine.ts";
import { type FakePool, protectedPod } from "../support/fake_pool.ts";
import { recall } from "../support/fake_rollout.ts";
import { budgetOf, gateOf, inMs } from "../support/pool_checks.ts";
import { type Handle, type Stage, testDeadlines } from "../support/workflow_stage.ts";

const hour = 3_600_000;
const waves = [{ upTo: 2, soak: 0 }, { upTo: "100%", soak: 0 }];
const short = { ...testDeadlines, instance: 800, address: 800, registered: 800, ready: 800 };

/** Waits for an Event or a report with one of these reasons, and cancels the run if it has not ended. */
async function endAfter(pool: FakePool, handle: Handle, reasons: string[]): Promise<Handle> {
  await eventually(reasons.join(" or "), () => {
    const isTold = pool.events.some(({ reason }) => reasons.includes(reason));
    return isTold || pool.reports.some(({ reason }) => reasons.includes(reason));
  });
  await handle.cancel().catch(() => undefined); // the run may have ended
  return handle;
}

type Carried = { [Group in keyof CarriedState]?: object };

async function continued(stage: Stage, pool: FakePool, { memory = {}, ...groups }: Carried): Promise<Handle> {
  const { paused: _, ...known } = recall(pool);
  const carried = { schemaVersion: 1, ...groups, memory: { ...known, recalled: true, ...memory } };
  return await stage.rollOut(pool, { carried: carried as unknown as CarriedState });
}

/** Each story has the name of the history that it records. */
export const patched: Record<string, (stage: Stage) => Promise<Handle>> = {
  // patches.refusals
  "set_aside_in_rollback_retried": async (stage) => {
    const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
    Object.assign(pool.rules.drain, { timeout: 300, onBlocked: "SetAside" });
    pool.verdict = () => pool.template.image === "image-2" ? "Failed" : "Passed";
    pool.before["ensureLastGoodRestored"] = () => {
      for (const { name, set } of pool.machines) if (set.image === "image-2") pool.blockers[name] = [protectedPod];
    };
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: "1h" } });
    await stage.stands(handle, "Halted", "SetAside");
    await handle.signal("retryRequested", { by: "ada" });
    return await endAfter(pool, handle, ["CommandIgnored", "Retried"]);
  },
  // patches.refusals
  "chosen_machine_skipped": async (stage) => {
    const pool = await stage.grownPool();
    const joined = Promise.withResolvers<void>();
    pool.before["awaitMachinesJoined"] = () => joined.promise;
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: "1h" } });
    await eventually("a join", () => pool.count("awaitMachinesJoined") > 0);
    const [machine = ""] = pool.subjects("ensureVictimMarked");
    await handle.signal("skipRequested", { by: "ada", machine });
    joined.resolve();
    return await endAfter(pool, handle, ["OnlySkippedRemain", "Converged"]);
  },
  // patches.failedRestore
  "restore_failed_twice": async (stage) => {
    const pool = await stage.grownPool();
    pool.change({ image: "image-2" });
    const templateHash = hashOf(pool.template);
    const bad = { templateHash, specHash: `${templateHash}-p1`, revision: "2", image: "image-2", kubelet: "1.35.3" };
    const why = { kind: "RollBack", by: "policy", reason: "GateFailed", since: Date.now() };
    const failures = [failure("ApiUnavailable", "HTTP 500"), failure("AccessDenied", "HTTP 403")];
    pool.before["ensureLastGoodRestored"] = () => {
      const refusal = failures.shift();
      if (refusal) throw refusal;
    };
    const rollback = { ...why, bad: { ...why, ...bad }, reapplied: 30 };
    const handle = await continued(stage, pool, { memory: { rollback } });
    return await endAfter(pool, handle, ["SpecReapplied", "RolledBack"]);
  },
  // patches.leftRollback
  "rollback_left_unreported": async (stage) => {
    const pool = await stage.grownPool({ rules: { onFailure: "Rollback", maxFailed: 2 } });
    pool.rules.join.attempts = 1;
    const failed = new Set<number>();
    pool.fate = (nth, image) => {
      if (image === "image-3" && failed.size < 2) failed.add(nth);
      return image === "image-2" || failed.has(nth) ? "registered" : "joins";
    };
    pool.before["ensureLastGoodRestored"] = () => {
      if (pool.template.image === "image-3") return;
      pool.change({ image: "image-3" });
      throw failure("GenerationStale", "Failed to restore: the pool has changed");
    };
    pool.before["ensureRolloutReported"] = () => {
      if (pool.template.image !== "image-3") return;
      delete pool.before["ensureRolloutReported"];
      throw failure("ApiUnavailable", "HTTP 503");
    };
    pool.change({ image: "image-2" });
    return await stage.rollOut(pool, { deadlines: short });
  },
  // patches.unansweredSlot
  "slot_unanswered_paused_resumed": async (stage) => {
    const pool = await stage.grownPool({ rules: { budget: budgetOf(1, { cluster: 1 }) } });
    pool.after["ensureSlotTaken"] = async () => {
      delete pool.after["ensureSlotTaken"];
      await stage.ask(pool, "pause");
      throw failure("ApiUnavailable", "The answer was lost");
    };
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    await stage.stands(handle, "Rolling", "Paused");
    await stage.ask(pool, "resume");
    return handle;
  },
  // patches.carriedStamp
  "carried_on_after_stamp": async (stage) => {
    const pool = await stage.grownPool({ rules: { windows: [{ from: inMs(hour), to: inMs(2 * hour) }] } });
    const before = { change: `${hashOf(pool.template)}-p1`, template: hashOf(pool.template) };
    pool.change({ stamp: "0123456789abcdef" });
    const handle = await continued(stage, pool, {
      target: { ...before, stamped: "0123456789abcdef" },
      people: { skipped: [pool.nth(1), pool.nth(2), pool.nth(3)] },
    });
    await stage.stands(handle, "Rolling", "OutsideWindow");
    pool.rules.windows = null;
    await stage.tell(pool);
    return await endAfter(pool, handle, ["OnlySkippedRemain", "Converged"]);
  },
  // patches.deletedJoins
  "machine_deleted_before_join": async (stage) => {
    const pool = await stage.grownPool();
    pool.fate = (nth) => nth === 4 ? "registered" : "joins";
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
    pool.machines = pool.machines.filter(({ created }) => created !== 4);
    pool.touch();
    return handle;
  },
};
