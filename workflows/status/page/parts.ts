/** The parts of a run's page in the web UI; each is a few paragraphs, or none where there is nothing to tell. */
import type { Progress, Underway, WaveView } from "../../contracts/mod.ts";
import { bar, code, minute, moment, names, plain, table } from "./text.ts";

const rowsShown = 6;

/** How far the pool is, in one line. */
export function numbers({ phase, reason, counts, eta, failedMachines }: Progress): string[] {
  if (!counts) return [];
  // Nobody knows when a person will act.
  const isForeseen = !isOver(phase) && phase !== "Halted" && reason !== "PodsRemaining";
  const { desired, ready, ...rest } = counts;
  const updated = updatedOf(counts);
  const others = [
    ...Object.entries({ old: rest.old, leaving: rest.leaving, unhealthy: rest.unhealthy, failed: failedMachines }),
  ].filter(([, count]) => count > 0).map(([what, count]) => `${count} ${what}`);
  const told = [`**${updated} of ${desired} updated**`, `${ready} ready`, ...others].join(", ");
  return [`${bar(updated, desired)} ${told}${eta && isForeseen ? `; expected to end about ${moment(eta)}` : ""}`];
}

// Those that wait to be admitted are updated on paper only.
function updatedOf({ updated, updatedReady = updated }: NonNullable<Progress["counts"]>): number {
  return updatedReady;
}

/** Nothing more is going to happen in this run. */
export function isOver(phase: Progress["phase"]): boolean {
  return ["Converged", "RolledBack", "Aborted", "Deleting"].includes(phase);
}

/** Of control planes: who leads, and whether anybody may go. */
export function etcd({ etcd }: Progress): string[] {
  if (!etcd) return [];
  const { seats, quorum, doubts } = etcd;
  const shown = seats.slice(0, rowsShown).map(({ name, role, isWell, version }) => [
    ...[code(name, 60), role.toLowerCase(), isWell ? "well" : "**not well**", plain(version, 20)],
  ]);
  const told = doubts.slice(0, rowsShown).map(({ says }) => `- ${plain(says, 200)}`);
  return [
    `**Etcd** ${quorum.well} voters are well, ${quorum.needed} are needed`,
    ...(shown.length > 0 ? [table(["Member", "Role", "State", "Version"], shown) ?? ""] : []),
    ...(told.length > 0 ? [told.join("\n")] : []),
  ];
}

/** A bar per wave, those around the current one where there are many. */
export function waves(progress: Progress): string[] {
  const { waves, counts, wave } = progress;
  if (waves.length < 2 || isOver(progress.phase)) return [];
  const updated = counts ? updatedOf(counts) : 0;
  const from = Math.max(0, Math.min(wave - 3, waves.length - rowsShown));
  const rows = waves.slice(from, from + rowsShown).map((each, index) => {
    const before = waves[from + index - 1]?.upTo ?? 0;
    const size = Math.max(0, each.upTo - before);
    const done = each.state === "Done" ? size : Math.min(size, Math.max(0, updated - before));
    // A slash between numbers is shown as a fraction.
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
  if (reason === "AwaitingApproval") return "waits for approval";
  return state === "Gates" ? "asking its gates" : "rolling";
}

/** What is done now and with whom, and what stands in its way. */
export function underway({ underway }: Progress): string[] {
  const rows = underway.slice(0, rowsShown).map((each) => [
    code(each.machine, 60),
    `${each.step}${each.attempt ? ` (attempt ${each.attempt + 1})` : ""}`,
    minute(each.since),
    minute(each.until),
  ]);
  const shown = table(["Machine", "Step", "Since (UTC)", "At the latest until"], rows);
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
    return `- ${code(where, 60)} is held up by pod ${code(pod, 90)}${whose}: ${plain(why, 160)}`;
  });
  return [[...lines, ...(all.length > 5 ? [`- and ${all.length - 5} more pods`] : [])].join("\n")];
}

/** What people and failures have decided: a pause, a way back, what is held and what stays. */
export function decisions(progress: Progress): string[] {
  const { pausedBy, rollBack, skipped, setAside } = progress;
  // What the headline says need not be said twice.
  const isTold = progress.reason === "Quarantined";
  const quarantine = progress.quarantine.filter(({ reason }) => !isTold || !progress.message.includes(reason));
  return [
    ...(pausedBy ? [`**Paused** by ${plain(pausedBy.by)} since ${moment(pausedBy.since)}${why(pausedBy.reason)}`] : []),
    ...(rollBack ? [backText(rollBack)] : []),
    ...quarantine.slice(-3).map(({ revision, image, since, reason }) =>
      `**Quarantined** revision ${plain(revision)} (${code(image)}) since ${moment(since)}${why(reason, 160)}`
    ),
    ...(skipped.length > 0 ? [`**Skipped** ${names(skipped)}`] : []),
    ...(setAside.length > 0 ? [`**Set aside**, as they could not be drained: ${names(setAside)}`] : []),
  ];
}

function backText({ kind, by, reason, revision }: NonNullable<Progress["rollBack"]>): string {
  const what = kind === "Abort" ? "Aborted" : "Rolled back";
  return `**${what}** from revision ${plain(revision)} by ${plain(by)}${why(reason)}`;
}

function why(reason: string, longest = 300): string {
  return reason ? `: ${plain(reason, longest)}` : "";
}

/** What the pool is brought to. */
export function target({ target, policy, plan }: Progress): string[] {
  if (!target) return [];
  const { image, kubelet, revision, generation, configDigest } = target;
  return [
    // Nodes that are updated where they stand have neither a kubelet nor a config of the pool's.
    `**Target** image ${code(image)}, ${kubelet && `kubelet ${code(kubelet)}, `}revision ${plain(revision)} ` +
    `(generation ${generation})${configDigest && `, config ${code(configDigest.slice(0, 12))}`}; policy ${
      code(policy || "defaults")
    }` +
    (plan ? `; plan ${code(plan.hash)}${plan.approved ? ", approved" : ""}` : ""),
  ];
}
