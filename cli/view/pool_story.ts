/** The full status of one pool, as `status NAME` and the live view show it. */
import type { Progress } from "../../workflows/contracts/mod.ts";
import { conditionOf, type PoolRow, type RolloutStatus, type UnderwayRow, updatedCount } from "../rollout/pool_row.ts";
import { calledAs, styled, type Terminal } from "../terminal.ts";
import { clock, duration, etaText, localTimes, moment } from "./durations.ts";
import { plainTable } from "./plain_table.ts";
import { printable } from "./printable.ts";
import { quorumText } from "./quorum_text.ts";
import { waveBars } from "./wave_bars.ts";

interface Story {
  row: PoolRow;
  /** The answer of the run itself, if Temporal could be reached: fresher and more detailed than the status. */
  progress?: Progress | undefined;
  now: number;
}

/** Returns the status as lines, without the pool's name and columns, which the caller prints above these lines. */
export function poolStory(terminal: Terminal, story: Story): string[] {
  const { status } = story.row;
  if (status === undefined) {
    return ["No rollout has started; Ostler's controller starts a rollout as soon as the controller runs"];
  }
  const message = localTimes(printable(story.progress?.message ?? status.message, Infinity), story.now);
  const parts: [string, string[]][] = [
    ["waves", status.waves.length > 1 || isUnderWay(status) ? waveBars(terminal, status, story.now) : []],
    ["machines", machineLines(story, status)],
    ["etcd", etcdLines(terminal, status)],
    ["under way", underwayLines(terminal, status.underway, story.now)],
    ["blocked", blockedLines(terminal, story, status)],
    ["warning", unheldLines(terminal, status)],
    ["paused", pausedLines(status, story.now)],
    [
      "quarantine",
      status.quarantine.map(({ revision, image, reason }) => `revision ${revision} (${image}): ${reason}`),
    ],
    ["revision", revisionLines(status)],
    ["plan", isUnderWay(status) ? planLines(status) : []],
    ["eta", status.eta === "" || !isUnderWay(status) ? [] : [etaText(status.eta, story.now)]],
    ["to do", thingsToDo(terminal, story.row)],
  ];
  return [
    ...(message === "" ? [] : [message, ""]),
    ...parts.flatMap(([title, lines]) => titled(terminal, title, lines)),
  ];
}

/** Returns whether a step is in progress or waiting to start. */
export function isUnderWay(status: RolloutStatus): boolean {
  return conditionOf(status, "Progressing")?.status === "True" || status.underway.length > 0;
}

/** Characters of a title, with the blanks behind it. */
export const titleWidth = 12;

function titled(terminal: Terminal, title: string, lines: string[]): string[] {
  return lines.map((line, index) => {
    const head = (index === 0 ? title : "").padEnd(titleWidth);
    return `${styled(terminal, "bold", head)}${line}`;
  });
}

function machineLines({ row, progress }: Story, status: RolloutStatus): string[] {
  const { ready = status.readyReplicas, old = 0, unhealthy = 0 } = progress?.counts ?? {};
  const always = [`${updatedCount(status)} updated`, `${ready} ready`];
  const some: [number, string][] = [[old, "old"], [unhealthy, "unhealthy"], [
    status.failedMachines,
    "failed",
  ]];
  const told = some.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return [`${row.replicas} wanted: ${[...always, ...told, ...stepCounts(status.underway)].join(", ")}`];
}

function etcdLines(terminal: Terminal, { etcd }: RolloutStatus): string[] {
  if (!etcd) return [];
  const { seats, quorum, doubts } = etcd;
  const voters = seats.filter(({ role }) => role !== "Learner");
  const told = seats.map(({ name, role, isWell, version }) => [
    name,
    role.toLowerCase(),
    isWell ? "healthy" : styled(terminal, "red", "unhealthy"),
    version,
  ]);
  return [
    quorumText(terminal, { voters: voters.length, healthy: quorum.well, quorum: quorum.needed }),
    ...plainTable(told).split("\n").slice(0, -1),
    ...doubts.map(({ says }) => styled(terminal, "yellow", says)),
  ];
}

function planLines({ plan }: RolloutStatus): string[] {
  return plan ? [`${plan.hash}${plan.approved ? ", approved" : ", not approved"}`] : [];
}

function stepCounts(underway: readonly UnderwayRow[]): string[] {
  const counts = new Map<string, number>();
  for (const { step } of underway) counts.set(step, (counts.get(step) ?? 0) + 1);
  return [...counts].map(([step, count]) => `${count} ${step === "Gates" ? "at its gates" : step.toLowerCase()}`);
}

function underwayLines(terminal: Terminal, underway: readonly UnderwayRow[], now: number): string[] {
  const table = plainTable(underway.map(({ machine, node, step, since, until, attempt }) => [
    node === undefined || node === machine ? machine : `${machine} (${node})`,
    step === "" ? "" : styled(terminal, "cyan", step),
    `for ${duration((now - Date.parse(since)) / 1000)}`.replace("NaNs", "?"),
    until === "" ? "" : `until ${clock(Date.parse(until), now)} at the latest`,
    attempt === undefined || attempt === 0 ? "" : `attempt ${attempt + 1}`,
  ])).split("\n").slice(0, -1);
  return table.flatMap((line, index) => {
    const { waitsFor = "", blockers = [] } = underway[index] ?? {};
    return [line, ...(waitsFor === "" ? [] : [`  waiting: ${waitsFor}`]), ...blockers.map(blockerText)];
  });
}

function blockerText({ pod, owner, why }: UnderwayRow["blockers"][number]): string {
  return `  blocked by pod ${pod}${owner === "" ? "" : ` of ${owner}`}: ${why}`;
}

function blockedLines(terminal: Terminal, { progress, now }: Story, status: RolloutStatus): string[] {
  const condition = conditionOf(status, "Blocked");
  if (status.blockedReason === "" && condition?.status !== "True") return [];
  const message = localTimes(condition?.message || status.blockedReason, now);
  const next = nextLook(status, progress);
  const told = next === undefined ? "" : `; next check at ${moment(next, now)}`;
  return [`${styled(terminal, "yellow", message)}${told}`];
}

function unheldLines(terminal: Terminal, status: RolloutStatus): string[] {
  const { status: is = "", message = "" } = conditionOf(status, "AutoscalerHeld") ?? {};
  return is === "False" ? [styled(terminal, "yellow", message)] : [];
}

function nextLook({ waves }: RolloutStatus, progress: Progress | undefined): string | undefined {
  return waves.find(({ state, soakUntil }) => state === "Soaking" && soakUntil)?.soakUntil ?? progress?.until;
}

function pausedLines({ paused, pausedBy }: RolloutStatus, now: number): string[] {
  if (!paused) return [];
  const { by = "", reason = "", since = 0 } = pausedBy ?? {};
  const when = since > 0 ? ` since ${clock(since, now)}` : "";
  const why = reason === "" ? "" : `: ${reason}`;
  return [`by ${by || "an unknown user"}${when}${why}; machines in progress continue to their end`];
}

function revisionLines({ revision, image, kubelet, policy, workflowId }: RolloutStatus): string[] {
  const facts = [
    `${revision}`,
    image,
    kubelet === "" ? "" : `kubelet ${kubelet}`,
    policy === "" ? "" : `policy ${policy}`,
  ];
  const known = facts.filter(Boolean).join(", ");
  return known === "" ? [] : [known, ...(workflowId === "" ? [] : [`workflow ${workflowId}`])];
}

/** Returns the commands that a waiting rollout needs from its user; empty when it continues by itself. */
function thingsToDo(terminal: Terminal, { pool, status }: PoolRow): string[] {
  if (status === undefined) return [];
  const { phase, paused, plan, blockedReason, quarantine, waves } = status;
  const say = (name: string, more: string, what: string): string =>
    `${calledAs(terminal)} ${name} -n ${pool.namespace} ${pool.name}${more}   ${what}`;
  const halted = phase === "Halted" || (quarantine.length > 0 && blockedReason === "Quarantined");
  return [
    ...(paused ? [say("resume", "", "resume the rollout")] : []),
    ...(plan && !plan.approved && blockedReason !== "" && /approval/i.test(blockedReason)
      ? [say("plan", "", "show the plan"), say("approve", ` --plan ${plan.hash}`, "approve the plan")]
      : []),
    ...(halted ? [say("retry", "", "retry the change"), say("abort", "", "return to the last good template")] : []),
    ...(blockedReason === "EtcdInDoubt"
      ? [say("promote", "", "continue despite the etcd check, at your own risk")]
      : []),
    ...(waves.some(({ state }) => state === "Soaking") ? [say("promote", "", "end the soak now")] : []),
  ];
}
