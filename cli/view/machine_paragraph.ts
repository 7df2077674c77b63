/** One paragraph about a machine: its state, the reason for it, and the next step with its time. Pure. */
import type { MachineFacts } from "../rollout/machine_facts.ts";
import type { RolloutStatus, UnderwayRow } from "../rollout/pool_row.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { clock, duration, moment, range } from "./durations.ts";
import { waveWindow } from "./wave_bars.ts";
import type { RolloutPlan } from "../../workflows/contracts/mod.ts";

/** Returns the paragraph: the certain facts first, the evidence last. */
export function machineParagraph(facts: MachineFacts): string {
  return [whoItIs(facts), ...whatIsDone(facts), ...evidence(facts)].filter(Boolean).join(" ");
}

function whoItIs({ member, row, node, now }: MachineFacts): string {
  const pool = row === undefined ? "" : ` of pool "${row.pool.namespace}/${row.pool.name}"`;
  const image = member.image === "" ? "" : ` with image ${member.image}`;
  const kubelet = member.kubelet === "" ? "" : ` and kubelet ${member.kubelet}`;
  const on = node === undefined ? "" : `, node "${node.name}"`;
  const old = duration((now - Date.parse(member.since)) / 1000);
  return `Machine "${member.id}"${pool}${on} is ${old} old${image}${kubelet}.`;
}

function whatIsDone(facts: MachineFacts): string[] {
  const { row, member } = facts;
  if (row === undefined) return ["No MachineDeployment owns it, so no rollout replaces it."];
  const { status } = row;
  if (status === undefined) {
    return [
      "No rollout of its pool has started yet; Ostler's controller starts a rollout as soon as the controller runs.",
    ];
  }
  const underway = status.underway.find(({ machine }) => machine === member.id);
  if (underway !== undefined) return underwayText(facts, underway);
  if (member.phase === "Leaving") return leavingText(facts);
  if (facts.error !== "") return [`machine-controller reports a terminal error: ${facts.error}.`, illText(facts)];
  if (member.phase === "Held") return heldText(facts, status);
  if (["Provisioning", "Booting", "Joining"].includes(member.phase)) return comingText(facts, status);
  return member.templateHash === status.targetTemplateHash ? updatedText(facts, status) : oldText(facts, status);
}

const steps: Record<string, (attempt: number) => string> = {
  Joining: (attempt) =>
    `is booting and joining the cluster${attempt > 0 ? ` (attempt ${attempt + 1}, because earlier ones failed)` : ""}`,
  Gates: () => "has joined and must pass its gates",
  Draining: () => "is being drained and will be removed",
  Relieving: () => "hands over its etcd leadership, and is removed once the etcd check is conclusive",
  Removing: () => "is drained and being removed",
  Repairing: () => "is unhealthy and being replaced",
};

function underwayText(
  { now, rules, member }: MachineFacts,
  { step, since, until, attempt, waitsFor, blockers }: UnderwayRow,
): string[] {
  const does = steps[step]?.(attempt ?? 0) ?? `is in step ${step}`;
  const ago = duration((now - Date.parse(since)) / 1000);
  const [first, ...others] = blockers;
  const more = others.length > 0 ? `, and ${moreText(others.length)}` : "";
  const blocked = first === undefined
    ? ""
    : `Pod ${first.pod}${first.owner === "" ? "" : ` of ${first.owner}`} is not evicted: ${first.why}${more}.`;
  const next = nextAfter(step, rules?.drain.onBlocked);
  return [
    `It ${does}; this step started ${ago} ago.`,
    blocked,
    lackText(waitsFor || (step === "Joining" || step === "Removing" ? member.lacks : undefined)),
    until === "" ? "" : `The deadline is ${moment(until, now)}: ${next}.`,
  ];
}

function lackText(lacks: string | undefined): string {
  return lacks ? `It waits: ${lacks.replace(/\.$/, "")}.` : "";
}

function moreText(count: number): string {
  return count === 1 ? "1 more pod is not evicted" : `${count} more pods are not evicted`;
}

function nextAfter(step: string, onBlocked: string | undefined): string {
  if (step === "Joining") {
    return "a machine that has not joined by then is recreated, and the rollout halts after the last attempt";
  }
  if (step === "Gates") return "once its gates pass, the machine counts as updated, and an old one can be removed";
  if (step === "Relieving") {
    return "if the etcd check is inconclusive by then, the machine is kept and the check is retried";
  }
  if (step === "Removing") return "once the machine is gone, the next one can start";
  if (step === "Repairing") return "another machine replaces it";
  if (onBlocked === "Force") return "pods that remain by then are deleted";
  return onBlocked === "SetAside"
    ? "if pods remain by then, the machine is set aside and keeps running"
    : "if pods remain by then, the drain keeps waiting";
}

function leavingText({ member, leavingSince, now }: MachineFacts): string[] {
  const ago = leavingSince === undefined ? "" : ` ${duration((now - leavingSince) / 1000)} ago`;
  if (!member.held) return [`It was deleted${ago}, and machine-controller is removing it.`, lackText(member.lacks)];
  if (member.unclear) return [`It was deleted${ago}, and Ostler keeps it: ${member.unclear}.`];
  return [
    `machine-controller deleted it${ago}, and Ostler keeps it running for now.`,
    "Ostler drains and releases it as soon as enough other machines are Ready.",
  ];
}

function heldText(facts: MachineFacts, status: RolloutStatus): string[] {
  const { member } = facts;
  const quarantined = quarantineText(facts, status);
  if (quarantined !== "") return ["It is held and does not boot.", quarantined];
  if (!member.held) {
    return ["It has a hold that Ostler did not set; machine-controller does nothing until that hold is removed."];
  }
  if (member.templateHash !== status.targetTemplateHash) {
    return ["It is held and does not boot, because its template is no longer desired; it will be deleted unused."];
  }
  return ["It is held: it has no instance yet, and boots when Ostler releases the hold.", waitText(facts, status)];
}

function quarantineText({ member, row }: MachineFacts, { quarantine }: RolloutStatus): string {
  const change = quarantine.find(({ templateHash }) => templateHash === member.templateHash);
  if (change === undefined) return "";
  const until = `until the MachineDeployment changes or a user runs ${commandOf("retry", row)}`;
  const quarantined = `Its change, revision ${change.revision}, is quarantined (${change.reason})`;
  return `${quarantined}, and no machine of this change starts ${until}.`;
}

// The namespace is part of the command, because another namespace can have a pool of the same name.
function commandOf(verb: string, row: MachineFacts["row"]): string {
  return `\`ostler ${verb}${row === undefined ? "" : ` -n ${row.pool.namespace} ${row.pool.name}`}\``;
}

// Returns why a machine that waits to start does not start now; "" if unknown.
function waitText({ row, now, progress }: MachineFacts, status: RolloutStatus): string {
  const { paused, pausedBy, blockedReason, phase, message, underway, waves } = status;
  if (paused) {
    const why = pausedBy?.reason ? `: ${pausedBy.reason}` : "";
    return `The rollout is paused by ${pausedBy?.by || "an unknown user"}${why}; ${
      commandOf("resume", row)
    } resumes it.`;
  }
  if (phase === "Halted") return `The rollout is halted until a user acts: ${message}.`;
  if (blockedReason !== "") {
    const why = status.conditions.find(({ type }) => type === "Blocked")?.message || blockedReason;
    const soak = status.waves.find(({ state }) => state === "Soaking")?.soakUntil ?? progress?.until;
    return `No machine starts now: ${why}${soak === undefined ? "" : `; next check at ${moment(soak, now)}`}.`;
  }
  const soaking = waves.findIndex(({ state }) => state === "Soaking");
  if (soaking >= 0) {
    return `No machine starts before the soak of wave ${waveWindow(status).earlier + soaking + 1} ends, at ${
      moment(waves[soaking]?.soakUntil, now)
    }.`;
  }
  const many = `${counted(underway.length, "machine")} under way`;
  return underway.length > 0 ? `The budget is used by ${many}; this machine starts when one of them is done.` : "";
}

const joinStages: Record<string, string> = {
  Provisioning: "is waiting for its instance",
  Booting: "has an instance that is booting, and no node yet",
  Joining: "has a node that has not been Ready yet",
};

function comingText(facts: MachineFacts, status: RolloutStatus): string[] {
  const { member } = facts;
  const what = [`It ${joinStages[member.phase]}.`, member.phase === "Booting" ? "" : lackText(member.lacks)].filter(
    Boolean,
  )
    .join(" ");
  const quarantined = quarantineText(facts, status);
  if (quarantined !== "") return [what, quarantined];
  if (status.phase === "Halted") return [what, waitText(facts, status)];
  if (member.templateHash === status.targetTemplateHash) return [what, "It counts as updated when its node is Ready."];
  return [what, "It has an old template and will be replaced in its turn."];
}

function updatedText(facts: MachineFacts, { phase }: RolloutStatus): string[] {
  const { member } = facts;
  const ill = illText(facts);
  if (ill !== "") return [ill];
  if (member.marked) {
    return ["It is up to date, but still marked for deletion by an earlier change; Ostler removes the mark."];
  }
  return [
    phase === "Converged"
      ? "It is up to date; nothing is to be done."
      : "It is already updated; this rollout does not replace it.",
  ];
}

function oldText(facts: MachineFacts, status: RolloutStatus): string[] {
  const { member, progress, plan, row } = facts;
  if ((progress?.skipped ?? status.skipped).includes(member.id)) {
    return ["It has an old template and is not replaced, because a user ran skip.", "The next change replaces it."];
  }
  if (progress?.setAside.includes(member.id)) {
    return [
      "It could not be drained and was set aside: it keeps running, cordoned, and uses budget until " +
      `${commandOf("retry", row)}.`,
    ];
  }
  const ill = illText(facts);
  if (member.unclear) return [ill, `It has an old template and is kept: ${member.unclear}.`];
  if (["RolledBack", "Aborted"].includes(status.phase)) {
    return [ill, `It has another template than the target, and the rollout has ended (${status.phase}).`];
  }
  const chosen = member.marked
    ? "It is selected as the next machine to be removed, when its replacement is Ready."
    : "";
  const line = plan === undefined || chosen !== "" ? "" : placeInLine(plan, member.id, facts.now);
  return [ill, "It has an old template and will be replaced.", chosen, line, waitText(facts, status)];
}

function illText({ member, node, rules, now }: MachineFacts): string {
  if (member.ill === undefined) return node === undefined || node.ready ? "" : notReady(node.why, node.since, now);
  const { why, since, due } = member.ill;
  const said = `It is unhealthy: ${why} for ${duration((now - since) / 1000)}.`;
  if (rules?.repair.enabled !== true) return `${said} Its policy disables repair.`;
  const most = `unless more than ${rules.repair.maxUnhealthy} % of the pool is unhealthy`;
  return due <= now
    ? `${said} It is replaced now, ${most}.`
    : `${said} It is replaced at ${moment(due, now)} if that lasts, ${most}.`;
}

function notReady(why: string, since: string, now: number): string {
  return `Its node has not been Ready since ${moment(since, now)}${why === "" ? "" : `: ${why}`}.`;
}

function evidence({ member, lastEvent, bootReport, silence = "", node, forbidden, now }: MachineFacts): string[] {
  const joined = member.phase === "Ready";
  return [
    node?.cordoned ? "Its node is cordoned." : "",
    bootReport === undefined || joined ? "" : `Its last boot report: ${bootReport}.`,
    member.phase === "Booting" && silence !== "" ? `${silence[0]?.toUpperCase()}${silence.slice(1)}.` : "",
    lastEvent === undefined || (joined && lastEvent.type === "Normal")
      ? ""
      : `Last event, at ${moment(lastEvent.at, now)}: ${lastEvent.reason}: ${lastEvent.message.replace(/\.$/, "")}.`,
    forbidden.length === 0
      ? ""
      : `You are not allowed to read ${forbidden.join(" and ")}, so facts may be missing here.`,
  ];
}

/**
 * Returns the position of a machine in the order of replacement, and the estimated time, such as "It is 2nd of 9 in the
 * order, in wave 1 of 3, at about 14:05 (in 4 to 6 min)."
 */
function placeInLine({ waves, seconds, machines }: RolloutPlan, machine: string, now: number): string {
  const wave = waves.findIndex((one) => one.machines.includes(machine));
  const total = waves.reduce((sum, { size }) => sum + size, 0);
  if (wave < 0) return machines > 0 && total > 0 ? "Its position in the order is not known yet." : "";
  const before = waves.slice(0, wave).reduce((sum, { size }) => sum + size, 0);
  const position = before + (waves[wave]?.machines.indexOf(machine) ?? 0) + 1;
  const when = position === 1 ? ", next" : whenText(seconds, (position - 1) / total, now);
  return `It is ${ordinal(position)} of ${total} in the order, in wave ${wave + 1} of ${waves.length}${when}.`;
}

// Assumes that replacements are spread evenly over the predicted time; soaks make this inexact, hence "about".
function whenText(seconds: RolloutPlan["seconds"], share: number, now: number): string {
  if (seconds === null) return "; the time cannot be estimated yet";
  const [early, late] = [seconds.low * share, seconds.high * share];
  const at = now + (early + late) / 2 * 1000;
  return `, at about ${clock(at, now)} (in ${range({ low: early, high: late })}) if nothing blocks it`;
}

/** "1st", "2nd", "23rd". */
function ordinal(count: number): string {
  const ending = count % 100 >= 11 && count % 100 <= 13 ? "th" : ["th", "st", "nd", "rd"][count % 10] ?? "th";
  return `${count}${ending}`;
}
