/** The reasons why no further machine is replaced or repaired, the most important first. */
import type { Member, PoolSnapshot, Rules } from "../contracts/mod.ts";
import { type Census, isIdle } from "./census.ts";
import { counted } from "./counted.ts";
import type { Blocked, Situation } from "./turn.ts";
import type { WaveLook } from "./waves.ts";
import type { Budget } from "./budget.ts";
import { isEnoughReady } from "./departures.ts";

/** A replacement begins if at least this share of its window remains, however long replacements typically take. */
const mostOfWindow = 0.95;

/**
 * Returns whether new machines stay held even if machines are missing. A pause still admits machines in place of
 * unhealthy ones that were removed.
 */
export function holdsAll({ paused, quarantined, rollingBack }: Situation): boolean {
  return paused || (quarantined && !rollingBack);
}

/** Returns the reasons why replacements may not begin; empty if they may begin. */
export function blocksOf(situation: Situation, wave: WaveLook): Blocked[] {
  const { rules, paused, quarantined, rollingBack } = situation;
  const blocks: (Blocked | undefined)[] = [
    paused ? block("Paused", "Paused; run ostler resume to continue") : undefined,
    etcdBlock(situation),
  ];
  if (!rollingBack) {
    if (rules.conflict !== null) blocks.push(block("PolicyConflict", rules.conflict));
    if (quarantined) {
      const remedy = "apply a different change, or run ostler retry";
      blocks.push(block("Quarantined", `The change failed before and is quarantined; ${remedy}`));
    }
    blocks.push(windowBlock(situation), approvalBlock(situation, wave), soakBlock(wave));
  }
  return blocks.filter((each) => each !== undefined);
}

/**
 * Returns the block for problems of etcd. They block a rollback too, because replacing machines restores no lost
 * quorum.
 */
function etcdBlock({ pool, busy, booting }: Situation): Blocked | undefined {
  // Problems of joining machines do not block: a new etcd member is a problem until it votes, and the join step of its
  // machine already waits for that.
  const isJoining = (machine = ""): boolean => busy.joining.includes(machine) || machine in booting;
  const [first, ...rest] = (pool.etcd?.doubts ?? []).filter(({ machine }) => !isJoining(machine));
  return first && block("EtcdInDoubt", `${first.says}${rest.length > 0 ? `; and ${rest.length} more` : ""}`);
}

function windowBlock({ rules, now, usual }: Situation): Blocked | undefined {
  const { open, opened, closes, opens } = lookAtWindows(rules.windows, now);
  const next = opens === null ? "no later window is known" : `the next window opens at ${iso(opens)}`;
  if (!open) return block("OutsideWindow", `Outside the maintenance windows; ${next}`, opens);
  if (opened === null || closes === null || usual === null) return undefined;
  // A replacement that takes longer than a window begins when the window opens; otherwise no replacement would ever
  // begin, and no new duration would be measured.
  if (now + Math.min(usual, mostOfWindow * (closes - opened)) <= closes) return undefined;
  const minutes = Math.ceil(usual / 60_000);
  const message = `A replacement takes up to ${minutes}m, but the window closes at ${iso(closes)}; ${next}`;
  return block("WindowTooShort", message, opens);
}

function approvalBlock({ rules, approved }: Situation, wave: WaveLook): Blocked | undefined {
  if (rules.approval === "BeforeFirst" && !approved) {
    return block("AwaitingApproval", "Waiting for approval of the plan; run ostler plan, then ostler approve");
  }
  if (rules.approval !== "BeforeEachWave" || wave.done || wave.state.approved) return undefined;
  return block("AwaitingApproval", `Waiting for approval of wave ${wave.state.index + 1}; run ostler approve`);
}

function soakBlock({ soaking, state }: WaveLook): Blocked | undefined {
  if (!soaking || state.soakUntil === null) return undefined;
  return block("Soaking", `Wave ${state.index + 1} soaks until ${iso(state.soakUntil)}`, state.soakUntil);
}

/**
 * Returns the reasons why the remaining outdated machines are kept, if all of them are kept on purpose and nothing is
 * in progress; otherwise an empty list.
 */
export function remainderBlocks({ skipped, setAside, pool, now }: Situation, census: Census): Blocked[] {
  const those = (kept: NonNullable<Member["kept"]>, is: (member: Member) => boolean): string =>
    named(pool.old.filter(is).map(({ id }) => id), pool.unlisted?.[kept]);
  const stays = those("Skip", ({ id, kept }) => kept === "Skip" || skipped.includes(id));
  const waits = those("Wait", ({ id, kept }) => kept === "Wait" && !skipped.includes(id));
  const failed = those("Failed", ({ kept }) => kept === "Failed");
  const down = those("Down", ({ kept }) => kept === "Down");
  const upgrading = those("Upgrading", ({ kept }) => kept === "Upgrading");
  const isOver = census.onlyKeptRemain && census.joins === 0 && census.going === 0;
  if (!isOver) return [];
  return [
    ...(setAside.length > 0 ? [asideBlock(setAside)] : []),
    ...(waits ? [protectedBlock(waits)] : []),
    ...(failed ? [failedBlock(failed)] : []),
    ...(down ? [downBlock(down)] : []),
    ...(upgrading ? [upgradeBlock(upgrading, now)] : []),
    // Skips are the last reason, because a user wanted them.
    ...(stays ? [skippedBlock(stays)] : []),
  ];
}

function skippedBlock(skipped: string): Blocked {
  return block("OnlySkippedRemain", `Remaining outdated machines are skipped: ${skipped}`);
}

function failedBlock(failed: string): Blocked {
  const remedy = "run ostler explain NODE for the cause, then ostler retry";
  return block("FailedRemain", `The image failed on the remaining outdated machines: ${failed}; ${remedy}`);
}

function downBlock(down: string): Blocked {
  const remedy = "bring them back, or delete their Nodes";
  return block("DownRemain", `Remaining outdated machines do not respond: ${down}; ${remedy}`);
}

function protectedBlock(waits: string): Blocked {
  const remedy = "remove the protection in the cloud, run ostler skip, or set protectedMachines in the policy";
  return block("ProtectedRemain", `The cloud protects the remaining outdated machines: ${waits}; ${remedy}`);
}

/** Milliseconds until the run plans again, because no event of the pool reports the end of an upgrade. */
const upgradeMs = 60_000;

function upgradeBlock(upgrading: string, now: number): Blocked {
  const message = `The remaining outdated machines are being upgraded in place, or get new certificates: ${upgrading}`;
  return block("ClusterBudget", message, now + upgradeMs);
}

/**
 * Returns the block for machines that stay unchanged because the node that they name may belong to another machine;
 * undefined without such machines.
 */
export function unclearBlock({ old, leaving, joining, ill }: PoolSnapshot): Blocked | undefined {
  const unclear = [...old, ...leaving, ...joining, ...ill].filter(({ kept }) => kept === "Unclear");
  const [first] = unclear;
  if (!first) return undefined;
  const machines = named([...new Set(unclear.map(({ id }) => id))]);
  const remedy = "remove one of the Machines, or give its instance an address of its own";
  return block(
    "NodeUnclear",
    `Machines stay unchanged because their Nodes may belong to other machines: ${machines}; ${first.unclear}; ${remedy}`,
  );
}

/**
 * Returns up to two texts for people, which name the old machines that a plan keeps unchanged because the cloud
 * protects them.
 */
export function staysOf(members: readonly Member[], templateHash: string): string[] {
  const old = members.filter((each) => each.templateHash !== templateHash && each.phase !== "Leaving");
  const of = (kept: Member["kept"]): string[] => old.filter((each) => each.kept === kept).map(({ id }) => id);
  const [skipped, waiting] = [of("Skip"), of("Wait")];
  return [
    ...(skipped.length > 0 ? [`protected by the cloud and skipped by the policy: ${named(skipped)}`] : []),
    ...(waiting.length > 0 ? [`until the cloud no longer protects these machines: ${named(waiting)}`] : []),
  ];
}

/** Returns the block for machines that could not be drained and so use up the budget. */
export function asideBlock(setAside: string[]): Blocked {
  const remedy = "let their pods move, then run ostler retry";
  return block("SetAside", `Machines are set aside because they could not be drained: ${named(setAside)}; ${remedy}`);
}

/** Returns the block for a pool with too many unhealthy machines for a safe repair. */
export function illBlock({ pool, rules }: Situation, { booted }: Census): Blocked {
  const { ill } = pool.counts;
  const limit = `repair.maxUnhealthy (${rules.repair.maxUnhealthy}%)`;
  const message = `${ill} of ${booted} machines are unhealthy, more than ${limit}; no machine is repaired`;
  return block("TooManyUnhealthy", message);
}

function block(reason: Blocked["reason"], message: string, until: number | null = null): Blocked {
  return { reason, message, until };
}

/** Returns the first five names, and the number of the other machines; `unlisted` more have no known name. */
function named(ids: string[], unlisted = 0): string {
  const others = Math.max(0, ids.length - 5) + unlisted;
  const shown = ids.slice(0, 5).join(", ");
  if (others === 0) return shown;
  return shown ? `${shown} and ${others} more` : counted(others, "machine");
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

// The reason why a pool waits when nothing can begin, for users.

/** The parts of a plan that are already computed. */
interface Findings {
  census: Census;
  budget: Budget;
  wave: WaveLook;
  blocks: Blocked[];
  /** New machines wait for room in the budget or in a zone. */
  isSpent: boolean;
}

/** Returns what the pool waits for, as the end of the sentence "Waiting for …". */
export function waitsForOf(situation: Situation, findings: Findings): string {
  const { pool, desired, setAside, supplier } = situation;
  const { census, wave, blocks } = findings;
  const { machines, held, old, updated } = pool.counts;
  const ours = pool.leaving.find((member) => isIdle(situation, member) && member.node !== undefined);
  const leaving = pool.counts.leaving - pool.leaving.filter(({ id }) => setAside.includes(id)).length;
  if (ours && !isEnoughReady(situation)) return `other machines to be Ready before ${ours.id} is drained`;
  if (leaving > 0) return `${counted(leaving, "machine")} to be removed`;
  if (census.joins > 0) return `${counted(census.joins, "machine")} to join`;
  if (wave.gatesDue) return `the gates of wave ${wave.state.index + 1}`;
  if (blocks[0]) return `condition Blocked to clear: ${blocks[0].message}`;
  if (findings.isSpent) return budgetText(findings);
  // While a machine is not Ready, the owner of the machines adds and removes none.
  const missed = pool.ill.find(({ phase }) => phase === "NotReady");
  if (missed) return `${missed.id} to be Ready again`;
  if (!supplier.capabilities.updates.includes("Replace")) return "all machines to be updated and Ready";
  if (updated < desired.replicas && held === 0) return `${supplier.title} to create a machine`;
  if (old > 0 || machines > desired.replicas) return `${supplier.title} to remove a machine`;
  return "every machine to be Ready";
}

function budgetText({ budget: { changing, ill, total } }: Findings): string {
  if (changing + ill < total) return "room in the budget of a zone";
  const machines = counted(total, "machine");
  return `room in the budget of ${machines}: ${changing} out of service or changing, ${ill} unhealthy`;
}

// Maintenance windows as absolute times.

interface WindowLook {
  open: boolean;
  /** Start and end of the open window, and start of the next one (epoch ms); null if there is none. */
  opened: number | null;
  closes: number | null;
  opens: number | null;
}

/**
 * Returns whether a window is open at `now` (epoch ms), and when windows begin and end; adjacent windows count as one.
 */
export function lookAtWindows(windows: Rules["windows"], now: number): WindowLook {
  if (windows === null) return { open: true, opened: null, closes: null, opens: null };
  let [opened, closes] = [-Infinity, -Infinity];
  for (const { from, to } of windows) {
    if (from <= closes) closes = Math.max(closes, to);
    else if (from <= now) [opened, closes] = [from, to];
  }
  const next = windows.filter(({ from }) => from > Math.max(now, closes)).map(({ from }) => from);
  const opens = next.length > 0 ? Math.min(...next) : null;
  return closes > now ? { open: true, opened, closes, opens } : { open: false, opened: null, closes: null, opens };
}
