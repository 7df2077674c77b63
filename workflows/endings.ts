/** How a run ends, and what it says then. */
import type { Desired, HistoryEntry, RollOutResult } from "./contracts.ts";
import { read, write } from "./proxies.ts";
import { spare } from "./replace_machine.ts";
import { report, stand } from "./report.ts";
import { iso } from "./rollout.ts";
import type { Rollout } from "./rollout.ts";
import { troubleOf } from "./trouble.ts";

/** Everything runs what is desired: says so, and remembers the template whose machines need no admission. */
export async function converge(rollout: Rollout, desired: Desired): Promise<RollOutResult> {
  rollout.underway = undefined;
  const message = desired.replicas === 0
    ? "No machines are wanted; secrets are published"
    : `All ${desired.replicas} machines run revision ${desired.revision}`;
  const reason = desired.replicas === 0 ? "ScaledToZero" : "Converged";
  await report(rollout, { phase: "Converged", reason, message }, {
    convergedTemplateHash: desired.templateHash,
    history: historyEntry(rollout, desired),
  });
  return ended(rollout, "Converged");
}

function historyEntry(rollout: Rollout, desired: Desired): HistoryEntry {
  const { revision, image, kubelet } = desired;
  return {
    ...{ revision, image, kubelet },
    configDigest: rollout.rendering?.configDigest ?? "",
    startedAt: iso(rollout.startedAt),
    endedAt: iso(Date.now()),
    outcome: "Converged",
    machines: rollout.joins.length,
  };
}

/** The MachineDeployment is going: so does everything that was made for it. */
export async function cleanUp(rollout: Rollout): Promise<RollOutResult> {
  stand(rollout, { phase: "Deleting", reason: "Deleting", message: "Removing everything made for this pool" });
  await write.ensurePoolCleanedUp.executeWithOptions({ summary: "Remove config, secrets and holds" }, [
    { pool: rollout.pool },
  ]);
  rollout.cleanedUp = true;
  return ended(rollout, "Deleted");
}

/** The pool stays as the cancelled rollout left it; a real change meanwhile makes this a rollout like any other. */
export async function renewOnly(rollout: Rollout): Promise<RollOutResult> {
  const message = "Cancelled before: only the credentials were renewed";
  await report(rollout, { phase: "Aborted", reason: "CredentialsRenewed", message });
  return ended(rollout, "Published");
}

/** Cancelled: leaves no hold on a machine that runs, and says what stands where. */
export async function abort(rollout: Rollout): Promise<void> {
  rollout.underway = undefined;
  try {
    await letAllGo(rollout);
    await sayAborted(rollout);
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble.kind === "rethrow") throw error;
    // A cancelled run ends as cancelled; what could not be taken back is found again by the next one.
    const why = "message" in trouble ? trouble.message : "the pool is gone";
    stand(rollout, { phase: "Aborted", reason: "Cancelled", message: `Cancelled; holds may remain: ${why}` });
  }
}

async function sayAborted(rollout: Rollout): Promise<void> {
  const message = "Cancelled: machines not admitted yet stay held, old machines stay";
  await report(rollout, { phase: "Aborted", reason: "Cancelled", message }, {
    events: [{ type: "Warning", reason: "RolloutAborted", message }],
  });
}

// Nobody will look after them any more: what is marked stays, what is leaving is left to machine-controller.
async function letAllGo(rollout: Rollout): Promise<void> {
  if (!rollout.desired) return;
  const { pool, desired } = rollout;
  const { old, stale, leaving } = await read.readPool.executeWithOptions({ summary: "Read what is held" }, [
    { pool, templateHash: desired.templateHash },
  ]);
  const ours = [...old, ...stale, ...leaving].filter(({ phase, marked, held }) => phase !== "Held" && (marked || held));
  for (const { id } of ours) await spare(rollout, id, true);
}

/** The result of a run. */
export function ended(rollout: Rollout, outcome: RollOutResult["outcome"]): RollOutResult {
  const { desired, rendering, replaced, joins, replacements } = rollout;
  if (!desired || !rendering) return { outcome, replaced, joins, replacements };
  const { generation, revision, image, kubelet } = desired;
  const { configDigest } = rendering;
  return { outcome, generation, revision, image, kubelet, configDigest, replaced, joins, replacements };
}
