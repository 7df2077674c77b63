/** Where a run stands, in one phase, one reason and one sentence. */
import type { Phase } from "../contracts/mod.ts";
import type { Blocked, Turn } from "../policy/turn.ts";
import { iso } from "../state/rfc3339.ts";
import type { Seen } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import type { Standing } from "../state/view.ts";

/** What a standing is told by. */
type Told = Seen<"target" | "waves" | "machines" | "tasks" | "memory" | "view">;

/** Reasons that need a person: the run stands still until one acts. */
const halting: Blocked["reason"][] = ["PolicyConflict", "Quarantined", "OnlySkippedRemain", "SetAside"];

/** What is said after a look; what stands in the way comes before what goes on. */
export function standingOf(rollout: Told, turn: Turn): Omit<Standing, "since"> {
  const tasks = Object.values(rollout.tasks.running);
  const doubtful = tasks.find(({ doubt }) => doubt !== "");
  if (doubtful) {
    return { phase: "Halted", reason: "GateInconclusive", message: `${doubtful.subject}: ${doubtful.doubt}` };
  }
  const { blocked } = rollout.view;
  if (blocked?.reason === "Quarantined") return { phase: "Halted", ...quarantined(rollout, blocked) };
  if (blocked && halting.includes(blocked.reason)) return { phase: "Halted", ...sentence(blocked) };
  const overdue = tasks.find((task) => task.step === "Draining" && task.blockers.length > 0);
  if (overdue) return { phase: activePhase(rollout), reason: "PodsRemaining", ...drainSentence(overdue) };
  if (tasks.length > 0) return { phase: activePhase(rollout), ...taskSentence(tasks) };
  if (blocked) return { phase: activePhase(rollout), ...sentence(blocked) };
  const until = turn.lookAgainAt === null ? {} : { until: turn.lookAgainAt };
  return { phase: activePhase(rollout), reason: "Settling", message: `Waiting for ${turn.waitsFor}`, ...until };
}

/** The phase of a run that goes on. */
export function activePhase({ memory, waves, machines }: Seen<"memory" | "waves" | "machines">): Phase {
  if (memory.rollback) return "RollingBack";
  if (waves.rolled) return "Rolling";
  return (machines.snapshot?.counts.ill ?? 0) > 0 ? "Repairing" : "Creating";
}

function sentence({ reason, message, until }: Blocked): Pick<Standing, "reason" | "message" | "until"> {
  return { reason, message, ...(until === null ? {} : { until }) };
}

// The reason of the failure says more than that it is remembered.
function quarantined(
  { memory, target: { desired }, machines: { failed } }: Seen<"memory" | "target" | "machines">,
  blocked: Blocked,
): Pick<Standing, "reason" | "message"> {
  const bad = memory.quarantine.find(({ specHash }) => specHash === desired?.specHash);
  if (!bad) {
    const message = `Of the last good revision too, ${failed.slice(0, 3).join(", ")} did not join; ` +
      '"ostler explain" tells why: mend that, then send retry';
    return { reason: "JoinAttemptsExhausted", message };
  }
  const since = iso(bad.since).slice(0, 16).replace("T", " ");
  return {
    reason: blocked.reason,
    message: `Revision ${bad.revision} (${bad.image}) is held since ${since} UTC: ${bad.reason}; ` +
      "change it, or send retry",
  };
}

function drainSentence({ subject, node, blockers, until }: Task): Pick<Standing, "message" | "until"> {
  const [first] = blockers;
  const rest = blockers.length > 1 ? ` and ${blockers.length - 1} more` : "";
  const message = `Draining ${subject} (${node}): ${first?.pod} of ${first?.owner}, ${first?.why}${rest}`;
  return { message, until };
}

function taskSentence(tasks: Task[]): Pick<Standing, "reason" | "message" | "until"> {
  const [first] = tasks;
  const steps = [...new Set(tasks.map(({ step }) => step))];
  const parts = steps.map((step) => {
    const subjects = tasks.filter((task) => task.step === step).map(({ subject }) => subject);
    return `${step} ${subjects.slice(0, 3).join(", ")}${subjects.length > 3 ? ` and ${subjects.length - 3} more` : ""}`;
  });
  return { reason: first?.step ?? "Working", message: parts.join("; "), until: Math.min(...tasks.map((t) => t.until)) };
}
