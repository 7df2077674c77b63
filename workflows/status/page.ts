/** Renders the parts of a run's page in the web UI; each part is a few paragraphs, or empty. */
import type {
  Condition,
  Phase,
  Progress,
  Quarantined,
  Request,
  Rollback,
  Underway,
  WaveView,
} from "../contracts/mod.ts";
import { votesText } from "./page/votes.ts";
import { remedies } from "./remedies.ts";

const rowsShown = 6;

/** Returns the progress of the pool in one line. */
function numbers({ phase, reason, counts, eta, failedMachines }: Progress): string[] {
  if (!counts) return [];
  // The time of a user's action cannot be predicted, so no end is estimated.
  const isForeseen = !isOver(phase) && phase !== "Halted" && reason !== "PodsRemaining";
  const { desired, ready, ...rest } = counts;
  const updated = updatedOf(counts);
  const others = [
    ...Object.entries({ old: rest.old, leaving: rest.leaving, unhealthy: rest.unhealthy, failed: failedMachines }),
  ].filter(([, count]) => count > 0).map(([what, count]) => `${count} ${what}`);
  const told = [`**${updated} of ${desired} updated**`, `${ready} ready`, ...others].join(", ");
  return [`${bar(updated, desired)} ${told}${eta && isForeseen ? `; expected to end about ${moment(eta)}` : ""}`];
}

// Returns the number of updated machines that are Ready. `updated` also counts machines that wait for admission: they
// belong to the new template, but do not run it yet.
function updatedOf({ updated, updatedReady = updated }: NonNullable<Progress["counts"]>): number {
  return updatedReady;
}

/** Returns whether this run does nothing more. */
function isOver(phase: Progress["phase"]): boolean {
  return ["Converged", "RolledBack", "Aborted", "Deleting"].includes(phase);
}

/** Returns the members of etcd, and the checks that block the removal of control planes. */
function etcd({ etcd }: Progress): string[] {
  if (!etcd) return [];
  const { seats, quorum, doubts } = etcd;
  const voters = seats.filter(({ role }) => role !== "Learner");
  const shown = seats.slice(0, rowsShown).map(({ name, role, isWell, version }) => [
    ...[code(name, 60), role.toLowerCase(), isWell ? "healthy" : "**unhealthy**", plain(version, 20)],
  ]);
  const told = doubts.slice(0, rowsShown).map(({ says }) => `- ${plain(says, 200)}`);
  return [
    `**etcd** ${votesText({ voters: voters.length, healthy: quorum.well, quorum: quorum.needed }).text}`,
    ...(shown.length > 0 ? [table(["Member", "Role", "State", "Version"], shown) ?? ""] : []),
    ...(told.length > 0 ? [told.join("\n")] : []),
  ];
}

/**
 * Returns a table with a bar per wave; with many waves, only those around the current one. Empty with fewer than two
 * waves, or after the end.
 */
function waves(progress: Progress): string[] {
  const { waves, counts, wave } = progress;
  if (waves.length < 2 || isOver(progress.phase)) return [];
  const updated = counts ? updatedOf(counts) : 0;
  const from = Math.max(0, Math.min(wave - 3, waves.length - rowsShown));
  const rows = waves.slice(from, from + rowsShown).map((each, index) => {
    const before = waves[from + index - 1]?.upTo ?? 0;
    const size = Math.max(0, each.upTo - before);
    const done = each.state === "Done" ? size : Math.min(size, Math.max(0, updated - before));
    // The web UI shows a slash between numbers as a fraction.
    return [`${from + index + 1}`, bar(done, size), `${done} of ${size}`, stateText(each, progress)];
  });
  return [
    `**Wave ${Math.min(wave, waves.length)} of ${waves.length}**`,
    table(["", "", "Machines", "State"], rows) ?? "",
  ];
}

function stateText({ state, soakUntil }: WaveView, { phase, paused, reason }: Progress): string {
  if (state === "Soaking" && soakUntil) return `soaking until ${moment(soakUntil)}`;
  if (state === "Waiting" || state === "Done") return state.toLowerCase();
  if (phase === "Halted" || paused) return paused ? "paused" : "halted";
  if (reason === "AwaitingApproval") return "waiting for approval";
  return state === "Gates" ? "running its gates" : "rolling";
}

/** Returns a table of the running steps and their machines, and the pods that block drains. */
function underway({ underway }: Progress): string[] {
  const rows = underway.slice(0, rowsShown).map((each) => [
    code(each.machine, 60),
    [`${each.step}${each.attempt ? ` (attempt ${each.attempt + 1})` : ""}`, plain(each.waitsFor ?? "", 200)]
      .filter(Boolean).join(": "),
    minute(each.since),
    minute(each.until),
  ]);
  const shown = table(["Machine", "Step", "Since (UTC)", "Deadline (UTC)"], rows);
  const rest = underway.length - rowsShown;
  const more = rest > 0 ? [`and ${rest} more`] : [];
  return [...(shown ? ["**Under way**", shown] : []), ...more, ...blockers(underway)];
}

function blockers(underway: readonly Underway[]): string[] {
  const all = underway.flatMap(({ machine, node, blockers = [] }) =>
    blockers.map((blocker) => ({ where: node ?? machine, ...blocker }))
  );
  if (all.length === 0) return [];
  const lines = all.slice(0, 5).map(({ where, pod, owner, why }) => {
    const whose = owner ? ` of ${code(owner, 90)}` : "";
    return `- ${code(where, 60)} is blocked by pod ${code(pod, 90)}${whose}: ${plain(why, 160)}`;
  });
  return [[...lines, ...(all.length > 5 ? [`- and ${all.length - 5} more pods`] : [])].join("\n")];
}

/**
 * Returns the decisions of people and the consequences of failures: pause, rollback, quarantine, skipped and set-aside
 * machines.
 */
function decisions(progress: Progress): string[] {
  const { pausedBy, rollBack, skipped, setAside } = progress;
  // The headline already has this reason.
  const isTold = progress.reason === "Quarantined";
  const quarantine = progress.quarantine.filter(({ reason }) => !isTold || !progress.message.includes(reason));
  return [
    ...(pausedBy ? [`**Paused** by ${plain(pausedBy.by)} since ${moment(pausedBy.since)}${why(pausedBy.reason)}`] : []),
    ...(rollBack ? [backText(rollBack)] : []),
    ...quarantine.slice(-3).map(({ revision, image, since, reason }) =>
      `**Quarantined** revision ${plain(revision)} (${code(image)}) since ${moment(since)}${why(reason, 160)}`
    ),
    ...(skipped.length > 0 ? [`**Skipped** ${names(skipped)}`] : []),
    ...(setAside.length > 0 ? [`**Set aside**, not drained in time: ${names(setAside)}`] : []),
  ];
}

function backText({ kind, by, reason, revision }: NonNullable<Progress["rollBack"]>): string {
  const what = kind === "Abort" ? "Aborting" : "Rolling back";
  return `**${what}** revision ${plain(revision)}, requested by ${plain(by)}${why(reason)}`;
}

function why(reason: string, longest = 300): string {
  return reason ? `: ${plain(reason, longest)}` : "";
}

/** Returns the target image, kubelet and revision, the policy and the plan. */
function target({ target, policy, plan }: Progress): string[] {
  if (!target) return [];
  const { image, kubelet, revision, generation, configDigest } = target;
  return [
    // A pool whose nodes are updated in place sets neither the version of their kubelet nor their config.
    `**Target** image ${code(image)}, ${kubelet && `kubelet ${code(kubelet)}, `}revision ${plain(revision)} ` +
    `(generation ${generation})${configDigest && `, config ${code(configDigest.slice(0, 12))}`}; policy ${
      code(policy || "defaults")
    }` +
    (plan ? `; plan ${code(plan.hash)}${plan.approved ? ", approved" : ""}` : ""),
  ];
}

// The actions of a person on a rollout: the command, and the update for the form of the web UI.

interface Pool {
  namespace: string;
  name: string;
}

/** One action: its purpose, its verb, and its input beyond the name of the user. */
interface Action {
  why: string;
  verb: string;
  takes?: { flags: string; fields: Record<string, unknown> };
}

/** Returns the remedy outside of Ostler, then the commands, the most likely one first. */
function advice(pool: Pool, progress: Progress): string[] {
  const remedy = remedies[progress.reason];
  const lines = actions(progress).map((action) => line(pool, action));
  const input = code(JSON.stringify({ by: "you", reason: "why" }));
  return [
    ...(remedy ? [`**What to do** ${remedy}`] : []),
    ...(lines.length === 0 ? [] : [
      `**Commands** to run on the command line, or to send here as updates of the same names with ${input}`,
      lines.join("\n"),
    ]),
  ];
}

function actions(progress: Progress): Action[] {
  const { phase, paused, plan, reason, rollBack } = progress;
  if (isOver(phase)) return [];
  const isSoaking = progress.waves.some(({ state }) => state === "Soaking");
  const all: [boolean, Action][] = [
    [paused, { why: "Admit machines again", verb: "resume" }],
    [plan !== undefined && reason === "AwaitingApproval", approval(plan?.hash ?? "")],
    [reason === "GateInconclusive", { why: "Count the gate as passed", verb: "promote" }],
    [reason === "EtcdInDoubt", { why: "Continue despite the etcd check, at your own risk", verb: "promote" }],
    [isSoaking, { why: "End the soak now", verb: "promote" }],
    [phase === "Halted" && reason !== "SpecReapplied", { why: "Retry with fresh attempts", verb: "retry" }],
    [!paused && phase !== "Halted", { why: "Stop admitting machines", verb: "pause" }],
    [!rollBack && phase !== "Creating" && phase !== "Preparing" && phase !== "Repairing", {
      why: "Roll back to the last good revision",
      verb: "abort",
    }],
  ];
  return all.filter(([holds]) => holds).map(([, action]) => action);
}

function approval(hash: string): Action {
  return { why: "Approve the plan", verb: "approve", takes: { flags: `--plan ${hash}`, fields: { plan: hash } } };
}

function line({ namespace, name }: Pool, { why, verb, takes }: Action): string {
  const command = ["ostler", verb, name, "-n", namespace, takes?.flags].filter(Boolean).join(" ");
  const fields = takes ? `; the update also takes ${code(JSON.stringify(takes.fields))}` : "";
  return `- ${why}: ${code(command, 300)}${fields}`;
}

// The live page of a run in the web UI: Markdown with the current steps, their progress, times and deadlines, and the
// required actions.

/** The largest page in bytes; parts that do not fit are left out. */
const heaviest = 4000;
/**
 * Maximum length of a page inside a URL: the web UI shows the page through a URL that contains it, and proxies commonly
 * refuse a URL of more than 8 KB.
 */
const longestUrl = 7000;

// The web UI cuts off the last lines of a page, so a page ends with these empty lines.
const tail = "\u00a0\n\n\u00a0";

/** Renders the page, which stays bounded whatever the size of the pool. */
export function details(pool: { namespace: string; name: string }, progress: Progress): string {
  return fitting([
    ...headline(progress),
    `**Pool** ${plain(`${pool.namespace}/${pool.name}`)}, ${times(progress)}`,
    ...numbers(progress),
    ...decisions(progress),
    ...waves(progress),
    ...underway(progress),
    ...etcd(progress),
    ...advice(pool, progress),
    ...target(progress),
  ]);
}

// A long sentence does not fit into a headline.
function headline({ phase, reason, message }: Progress): string[] {
  if (message.length <= 100) return [`## ${phase}: ${plain(message)}`];
  return [`## ${phase}${reason === phase ? "" : `: ${plain(reason)}`}`, plain(message, 600)];
}

function times({ since, until }: Progress): string {
  return `since ${moment(since)}${until ? `, until ${moment(until)} at the latest` : ""}`;
}

/** Returns the parts that fit into a page, in their order. */
export function fitting(parts: readonly string[]): string {
  const fits = (page: string): boolean => bytesOf(page, 1) <= heaviest && bytesOf(page, 3) <= longestUrl;
  const page = parts.reduce((page, part) => {
    const longer = page ? `${page}\n\n${part}` : part;
    return fits(`${longer}\n\n${tail}`) ? longer : page;
  }, "");
  return `${page}\n\n${tail}`;
}

// Returns the size of the text in bytes if letters, digits and a few marks take one byte each, and every other byte
// takes `escaped` bytes, which are three in a URL.
function bytesOf(text: string, escaped: number): number {
  const special = text.replaceAll(/[A-Za-z0-9\-_.!~*'()]/g, "");
  const wide = special.replaceAll(/[\0-\x7f]/g, "").length;
  return text.length - special.length + (special.length + 2 * wide) * escaped;
}

// Escapes names, reasons and messages of the API server for the Markdown of the web UI.

/**
 * Shortens a text and escapes what Markdown would read as markup. That includes a colon before a letter or digit: the
 * web UI reads it as a directive, and drops the whole paragraph.
 */
export function plain(text: string, longest = 400): string {
  const readable = text.replaceAll(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z/g, "$1 $2 UTC");
  return bounded(readable, longest).replaceAll(/[\\`*_[\]<>|~#]|:(?=\w)/g, "\\$&");
}

/** Returns a name or a number as inline code, so that people can copy it; also safe in the cell of a table. */
export function code(text: string, longest = 120): string {
  return `\`${bounded(text, longest).replaceAll("`", "'").replaceAll("|", "\\|")}\``;
}

/** Returns a time in UTC to the second, from RFC 3339 or epoch ms. */
function moment(time: string | number): string {
  const iso = typeof time === "number" ? new Date(time).toISOString() : time;
  return code(`${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`);
}

/** Returns a time in UTC to the minute, for a table whose head names UTC. */
function minute(time: string): string {
  return code(`${time.slice(0, 10)} ${time.slice(11, 16)}`);
}

/** Returns the first few names, and how many more there are. */
function names(all: readonly string[], shown = 5): string {
  const rest = all.length - shown;
  return all.slice(0, shown).map((name) => code(name)).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** Returns a table; undefined without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string | undefined {
  if (rows.length === 0) return undefined;
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Returns a bar of text, which is empty only at 0 and full only when `done` reaches `total`. */
function bar(done: number, total: number, width = 20): string {
  const share = total <= 0 ? 1 : Math.min(1, Math.max(0, done / total));
  const filled = Math.round(width * share);
  const honest = share > 0 && share < 1 ? Math.min(width - 1, Math.max(1, filled)) : filled;
  return code("█".repeat(honest) + "░".repeat(width - honest));
}

function bounded(text: string, longest: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`;
}

// The conditions of a Rollout, from the status of its run.

export interface Told {
  phase: Phase;
  reason: string;
  message: string;
  paused: Request | null;
  /** Why no further step begins; null if nothing blocks. */
  blocked: { reason: string; message: string } | null;
  /** The latest rollback, finished or in progress. */
  left: Rollback | null;
  /** The rollback is in progress, possibly halted. */
  isRollingBack: boolean;
  /** The desired change, if it is in quarantine. */
  quarantined: Quarantined | null;
}

/** Returns all conditions, also those that are False, so that `kubectl wait` always finds the one that it waits for. */
export function conditions(told: Told): Condition[] {
  const { phase, reason, message, paused, blocked, left, isRollingBack, quarantined } = told;
  const under = ["Preparing", "Creating", "Rolling", "RollingBack", "Repairing"].includes(phase);
  const isBack = phase === "RolledBack" || (left?.kind === "RollBack" && !isRollingBack);
  return [
    { type: "Ready", status: truth(phase === "Converged"), reason, message },
    { type: "Progressing", status: truth(under && !paused), reason, message },
    condition("Blocked", blocked, "NotBlocked"),
    condition("Paused", paused && { reason: "PauseRequested", message: pauseText(paused) }, "NotPaused"),
    condition("RolledBack", isBack && left ? { reason: "RolledBack", message: left.reason } : null, "NotRolledBack"),
    condition("Quarantined", heldText(quarantined), "NotQuarantined"),
  ];
}

function condition(
  type: Condition["type"],
  holds: { reason: string; message: string } | null,
  otherwise: string,
): Condition {
  return { type, status: truth(holds !== null), reason: holds?.reason ?? otherwise, message: holds?.message ?? "" };
}

function heldText(bad: Quarantined | null): { reason: string; message: string } | null {
  return bad &&
    { reason: "Quarantined", message: `Revision ${bad.revision} (${bad.image}) is quarantined: ${bad.reason}` };
}

function truth(holds: boolean): "True" | "False" {
  return holds ? "True" : "False";
}

function pauseText({ by, reason }: Request): string {
  return `Paused by ${by}${reason ? `: ${reason}` : ""}`;
}
