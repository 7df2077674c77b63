/** One paragraph about a machine: why it is where it is, and what happens next and when. Pure. */
import type { MachineFacts } from "../rollout/machine_facts.ts";
import type { RolloutStatus, UnderwayRow } from "../rollout/pool_row.ts";
import { counted } from "./counted.ts";
import { clock, duration, moment, range } from "./durations.ts";
import { waveWindow } from "./wave_bars.ts";
import type { RolloutPlan } from "../../workflows/contracts/mod.ts";

/** Sentences, with what is known for certain first and the evidence last. */
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
  if (row === undefined) return ["No MachineDeployment made it, so no rollout replaces it."];
  const { status } = row;
  if (status === undefined) return ["No rollout of its pool has begun yet; the controller starts one when it runs."];
  const underway = status.underway.find(({ machine }) => machine === member.id);
  if (underway !== undefined) return underwayText(facts, underway);
  if (member.phase === "Leaving") return leavingText(facts);
  if (facts.error !== "") return [`machine-controller gave it up: ${facts.error}.`, illText(facts)];
  if (member.phase === "Held") return heldText(facts, status);
  if (["Provisioning", "Booting", "Joining"].includes(member.phase)) return comingText(facts, status);
  return member.templateHash === status.targetTemplateHash ? updatedText(facts, status) : oldText(facts, status);
}

const steps: Record<string, (attempt: number) => string> = {
  Joining: (attempt) => `is booting and about to join${attempt > 0 ? `, as attempt ${attempt + 1} of its place` : ""}`,
  Gates: () => "has joined and has to pass its gates",
  Draining: () => "is being drained, to be removed",
  Relieving: () => "is to go once nothing about etcd is in doubt, and hands on what only it has",
  Removing: () => "is drained and being removed",
  Repairing: () => "is unhealthy and being replaced",
};

function underwayText({ now, rules }: MachineFacts, { step, since, until, attempt, blockers }: UnderwayRow): string[] {
  const does = steps[step]?.(attempt ?? 0) ?? `is in step ${step}`;
  const ago = duration((now - Date.parse(since)) / 1000);
  const [first, ...others] = blockers;
  const more = others.length > 0 ? `, and ${moreText(others.length)}` : "";
  const blocked = first === undefined
    ? ""
    : `Pod ${first.pod}${first.owner === "" ? "" : ` of ${first.owner}`} does not move: ${first.why}${more}.`;
  const next = nextAfter(step, rules?.drain.onBlocked);
  return [
    `It ${does}; that began ${ago} ago.`,
    blocked,
    until === "" ? "" : `It has until ${moment(until, now)}; ${next}.`,
  ];
}

function moreText(count: number): string {
  return count === 1 ? "1 more pod does not move" : `${count} more pods do not move`;
}

function nextAfter(step: string, onBlocked: string | undefined): string {
  if (step === "Joining") {
    return "if it has not joined by then it is recreated, and after its last attempt the change halts";
  }
  if (step === "Gates") return "when they pass it counts, and an old machine may go";
  if (step === "Relieving") return "nothing about etcd may be in doubt then: else it stays, and is asked again";
  if (step === "Removing") return "when it is gone, the next machine may begin";
  if (step === "Repairing") return "another machine takes its place";
  if (onBlocked === "Force") return "pods that remain then are deleted";
  return onBlocked === "SetAside"
    ? "if pods remain then it is set aside and runs on"
    : "if pods remain then it goes on waiting";
}

function leavingText({ member, leavingSince, now }: MachineFacts): string[] {
  const ago = leavingSince === undefined ? "" : ` ${duration((now - leavingSince) / 1000)} ago`;
  if (!member.held) return [`It is on its way out: it was deleted${ago}, and machine-controller is removing it.`];
  return [
    `It is on its way out: machine-controller took it down${ago}, and Ostler keeps it running meanwhile.`,
    "It is drained and let go as soon as enough other machines are Ready.",
  ];
}

function heldText(facts: MachineFacts, status: RolloutStatus): string[] {
  const { member } = facts;
  const quarantined = quarantineText(facts, status);
  if (quarantined !== "") return ["It is held and does not boot.", quarantined];
  if (!member.held) {
    return ["Somebody other than Ostler holds it; machine-controller leaves it alone until they let go."];
  }
  if (member.templateHash !== status.targetTemplateHash) {
    return ["It is held and does not boot, as it belongs to a template that is no longer wanted; it goes unused."];
  }
  return ["It is held: it exists on paper only, and boots when it is admitted.", waitText(facts, status)];
}

function quarantineText({ member, row }: MachineFacts, { quarantine }: RolloutStatus): string {
  const change = quarantine.find(({ templateHash }) => templateHash === member.templateHash);
  if (change === undefined) return "";
  const until = `until the MachineDeployment changes or somebody says \`ostler retry ${row?.pool.name}\``;
  return `Its change, revision ${change.revision}, is quarantined (${change.reason}), and nothing more of it begins ${until}.`;
}

// Why nothing more begins, for those who wait to begin.
function waitText({ row, now, progress }: MachineFacts, status: RolloutStatus): string {
  const { paused, pausedBy, blockedReason, phase, message, underway, waves } = status;
  if (paused) {
    const why = pausedBy?.reason ? `: ${pausedBy.reason}` : "";
    return `The rollout is paused by ${
      pausedBy?.by || "somebody"
    }${why}; \`ostler resume ${row?.pool.name}\` lets it go on.`;
  }
  if (phase === "Halted") return `The rollout is halted and needs a person: ${message}.`;
  if (blockedReason !== "") {
    const why = status.conditions.find(({ type }) => type === "Blocked")?.message || blockedReason;
    const soak = status.waves.find(({ state }) => state === "Soaking")?.soakUntil ?? progress?.until;
    return `Nothing begins now: ${why}${soak === undefined ? "" : `; it is looked at again at ${moment(soak, now)}`}.`;
  }
  const soaking = waves.findIndex(({ state }) => state === "Soaking");
  if (soaking >= 0) {
    return `Nothing begins before wave ${waveWindow(status).earlier + soaking + 1} has soaked, at ${
      moment(waves[soaking]?.soakUntil, now)
    }.`;
  }
  const many = `${counted(underway.length, "machine")} under way`;
  return underway.length > 0 ? `The budget is used by ${many}; its turn comes when one is done.` : "";
}

const rungs: Record<string, string> = {
  Provisioning: "waits for its instance",
  Booting: "has an instance that boots, and no node yet",
  Joining: "has a node that was never Ready",
};

function comingText(facts: MachineFacts, status: RolloutStatus): string[] {
  const { member } = facts;
  const what = `It ${rungs[member.phase]}.`;
  const quarantined = quarantineText(facts, status);
  if (quarantined !== "") return [what, quarantined];
  if (status.phase === "Halted") return [what, waitText(facts, status)];
  if (member.templateHash === status.targetTemplateHash) return [what, "When its node is Ready it counts as updated."];
  return [what, "It is of an old template: it is replaced when its turn comes."];
}

function updatedText(facts: MachineFacts, { phase }: RolloutStatus): string[] {
  const { member } = facts;
  const ill = illText(facts);
  if (ill !== "") return [ill];
  if (member.marked) return ["It is what is wanted, but still marked from an earlier change; the mark is taken back."];
  return [phase === "Converged" ? "It is what is wanted: nothing is to be done." : "It is updated already, and stays."];
}

function oldText(facts: MachineFacts, status: RolloutStatus): string[] {
  const { member, progress, plan } = facts;
  if (progress?.skipped.includes(member.id)) {
    return ["It is of an old template and stays: somebody said skip.", "It is replaced with the next change."];
  }
  if (progress?.setAside.includes(member.id)) {
    return [
      "It could not be drained and was set aside: it runs on, cordoned, and counts as out until a person frees it.",
    ];
  }
  const ill = illText(facts);
  if (["RolledBack", "Aborted"].includes(status.phase)) return [ill, "It is of a template that was left."];
  const chosen = member.marked ? "It is chosen to go next, when its replacement is Ready." : "";
  const line = plan === undefined || chosen !== "" ? "" : placeInLine(plan, member.id, facts.now);
  return [ill, "It is of an old template and will be replaced.", chosen, line, waitText(facts, status)];
}

function illText({ member, node, rules, now }: MachineFacts): string {
  if (member.ill === undefined) return node === undefined || node.ready ? "" : notReady(node.why, node.since, now);
  const { why, since, due } = member.ill;
  const said = `It is unhealthy: ${why} for ${duration((now - since) / 1000)}.`;
  if (rules?.repair.enabled !== true) return `${said} Its policy repairs nothing.`;
  const most = `unless more than ${rules.repair.maxUnhealthy} % of the pool is unhealthy`;
  return due <= now
    ? `${said} It is replaced now, ${most}.`
    : `${said} It is replaced at ${moment(due, now)} if that lasts, ${most}.`;
}

function notReady(why: string, since: string, now: number): string {
  return `Its node is not Ready since ${moment(since, now)}${why === "" ? "" : `: ${why}`}.`;
}

function evidence({ member, lastEvent, bootReport, silence = "", node, forbidden, now }: MachineFacts): string[] {
  const joined = member.phase === "Ready";
  return [
    node?.cordoned ? "Its node is cordoned." : "",
    bootReport === undefined || joined ? "" : `Its own last report: ${bootReport}.`,
    member.phase === "Booting" && silence !== "" ? `${silence[0]?.toUpperCase()}${silence.slice(1)}.` : "",
    lastEvent === undefined || (joined && lastEvent.type === "Normal")
      ? ""
      : `Last event, at ${moment(lastEvent.at, now)}: ${lastEvent.reason}: ${lastEvent.message.replace(/\.$/, "")}.`,
    forbidden.length === 0 ? "" : `You may not read ${forbidden.join(" and ")}, so more may be known.`,
  ];
}

/** Where a machine stands in the line of those to be replaced: "It is 7th in line, in wave 2 of 3, at about 14:05.". */
function placeInLine({ waves, seconds, machines }: RolloutPlan, machine: string, now: number): string {
  const wave = waves.findIndex((one) => one.machines.includes(machine));
  const total = waves.reduce((sum, { size }) => sum + size, 0);
  if (wave < 0) return machines > 0 && total > 0 ? "Its place in line is not known yet." : "";
  const before = waves.slice(0, wave).reduce((sum, { size }) => sum + size, 0);
  const position = before + (waves[wave]?.machines.indexOf(machine) ?? 0) + 1;
  const when = position === 1 ? ", next" : whenText(seconds, (position - 1) / total, now);
  return `It is ${ordinal(position)} of ${total} in line, in wave ${wave + 1} of ${waves.length}${when}.`;
}

// Evenly spread over the predicted time: soaks make that rough, so the hour is "about".
function whenText(seconds: RolloutPlan["seconds"], share: number, now: number): string {
  if (seconds === null) return "; when that is cannot be told yet";
  const [early, late] = [seconds.low * share, seconds.high * share];
  const at = now + (early + late) / 2 * 1000;
  return `, at about ${clock(at, now)} (in ${range({ low: early, high: late })}) if nothing holds it up`;
}

/** "1st", "2nd", "23rd". */
function ordinal(count: number): string {
  const ending = count % 100 >= 11 && count % 100 <= 13 ? "th" : ["th", "st", "nd", "rd"][count % 10] ?? "th";
  return `${count}${ending}`;
}
