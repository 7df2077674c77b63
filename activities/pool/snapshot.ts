/** Builds the bounded snapshot of a pool. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { EtcdStanding, Member, PoolQuestion, PoolSnapshot } from "../../workflows/contracts/mod.ts";

/** The part of a question that decides how members are counted and listed. */
type SnapshotQuestion = Omit<PoolQuestion, "pool">;

/**
 * Maximum bytes of JSON of all listed members together, because results of activities are stored in the workflow's
 * history, and a result must be smaller than 2 MB. Longer lists are cut evenly; the counts stay exact.
 */
const mostBytes = 192 * 1024;
/**
 * Maximum bytes of JSON of `lacking` (what each machine in progress waits for), and maximum characters of one text.
 * Both are bounded because the kubelet writes parts of the texts.
 */
const mostLackingBytes = 64 * 1024;
const longestLacks = 1_024;

/** Sorts members into groups with exact counts, and lists the first few of each; pure. */
export function snapshotOf(
  members: readonly Member[],
  question: Pick<SnapshotQuestion, "templateHash" | "unproven" | "limit" | "named" | "retriedAt">,
): PoolSnapshot {
  const retried = members.map((member) => triedAgain(member, question.retriedAt));
  const groups = groupsOf(retried.sort(byTurn), question.templateHash);
  const first = (group: Member[]): Member[] => group.slice(0, question.limit);
  const { updated } = groups;
  const listed = withinBytes({
    old: nextOfZones(groups.old, question.limit),
    waiting: first(updated.filter(isWaiting).sort(byNewest)),
    joining: first(updated.filter(({ phase }) => ["Provisioning", "Booting", "Joining"].includes(phase))),
    stale: first(updated.filter(isStale)),
    leaving: first(groups.leaving),
    ill: first(groups.ill),
  });
  const counts = countsOf(groups, new Set(question.unproven));
  const unknown = unknownOf(members, question.named);
  const lacking = lackingOf(members, question);
  const rare = { ...(lacking.length > 0 ? { lacking } : {}), ...unlistedOf(groups.old, listed.old), ...unknown };
  return { fingerprint: fingerprintOf(members), counts, ...listed, old: listed.old.sort(byTurn), ...rare };
}

/**
 * Counts, by reason (`kept`), the old machines that stay unchanged and are not listed, so that the planner knows
 * whether the list lacks a machine that may be replaced.
 */
function unlistedOf(old: readonly Member[], listed: readonly Member[]): Pick<PoolSnapshot, "unlisted"> {
  if (listed.length === old.length) return {};
  const ids = new Set(listed.map(({ id }) => id));
  const unlisted: NonNullable<PoolSnapshot["unlisted"]> = {};
  for (const { id, kept } of old) if (kept && !ids.has(id)) unlisted[kept] = (unlisted[kept] ?? 0) + 1;
  return { unlisted };
}

/** Lists what machines in progress wait for. */
function lackingOf(
  members: readonly Member[],
  { unproven, limit }: Pick<SnapshotQuestion, "unproven" | "limit">,
): { machine: string; lacks: string }[] {
  const isUnproven = new Set(unproven);
  const waiting = members.filter((each) => each.lacks && (!isReady(each) || isUnproven.has(each.id)));
  let bytes = 0;
  return waiting.slice(0, limit).map(({ id, lacks = "" }) => ({ machine: id, lacks: lacks.slice(0, longestLacks) }))
    .filter((each) => (bytes += Buffer.byteLength(JSON.stringify(each)) + 1) <= mostLackingBytes);
}

/**
 * Adds the etcd state of a control plane to the snapshot and to its fingerprint, so that a wait ends if only etcd
 * changes.
 */
export function withEtcd(snapshot: PoolSnapshot, etcd: EtcdStanding | undefined): PoolSnapshot {
  if (!etcd) return snapshot;
  return { ...snapshot, etcd, fingerprint: hashOf([snapshot.fingerprint, etcd]) };
}

/**
 * Returns the member without its failure if the failure is older than the last `retry` command. The member then counts
 * as down, unless it is Ready or marked.
 */
function triedAgain(member: Member, retriedAt = 0): Member {
  const { kept, failedAt = Infinity, replaceable: _, ...rest } = member;
  if (kept !== "Failed" || failedAt > retriedAt) return member;
  return isReady(member) || member.marked ? rest : { ...rest, kept: "Down" };
}

function unknownOf(members: readonly Member[], named: string[] = []): Pick<PoolSnapshot, "unknown"> {
  const known = new Set(named.length > 0 ? members.map(({ id }) => id) : []);
  const unknown = named.filter((machine) => !known.has(machine));
  return unknown.length > 0 ? { unknown } : {};
}

type Lists = Pick<PoolSnapshot, "old" | "waiting" | "joining" | "stale" | "leaving" | "ill">;

// Takes members from the lists in turn, so that a long list does not displace the others.
function withinBytes(lists: Lists): Lists {
  const kept: Lists = { old: [], waiting: [], joining: [], stale: [], leaving: [], ill: [] };
  const names = Object.keys(kept) as (keyof Lists)[];
  const longest = Math.max(...names.map((name) => lists[name].length));
  let bytes = 0;
  for (let nth = 0; nth < longest; nth++) {
    for (const name of names) {
      const member = lists[name][nth];
      if (member === undefined) continue;
      bytes += Buffer.byteLength(JSON.stringify(member)) + 1;
      if (bytes > mostBytes) return kept;
      kept[name].push(member);
    }
  }
  return kept;
}

/**
 * Lists at most `limit` members of each zone, because the next machines to be removed may all have to be of one zone.
 * Chosen machines come first. Then follow machines that are not Ready or have the oldest template, because these may
 * have to be removed before others; machines that are not to be removed come last. Among equals, the first zone by name
 * is listed before the others, because zones may be replaced one after another; the others alternate.
 */
function nextOfZones(group: Member[], limit: number): Member[] {
  const oldest = group.reduce<Member | undefined>(older, undefined)?.templateHash;
  const [firstZone] = [...new Set(group.map(zoneOf))].sort();
  const taken = new Map<string, number>();
  const ranked = group.map((member) => {
    const rank = taken.get(zoneOf(member)) ?? 0;
    taken.set(zoneOf(member), rank + 1);
    const isNext = !isReady(member) || member.templateHash === oldest;
    const round = zoneOf(member) === firstZone ? 0 : rank;
    return { member, rank, needs: [Number(member.kept !== undefined), Number(!member.marked), Number(!isNext), round] };
  });
  return ranked.filter(({ rank }) => rank < limit)
    .sort((a, b) => firstDifference(a.needs, b.needs) || zoneOf(a.member).localeCompare(zoneOf(b.member)))
    .map(({ member }) => member);
}

// Returns the older of two machines. A held machine does not count, because it has no instance yet, so its template is
// not one whose machines have to be removed first.
function older(found: Member | undefined, each: Member): Member | undefined {
  if (each.phase === "Held") return found;
  return found !== undefined && found.since <= each.since ? found : each;
}

function firstDifference(one: number[], other: number[]): number {
  return one.map((value, nth) => value - (other[nth] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

function zoneOf({ zone = "" }: Member): string {
  return zone;
}

interface Groups {
  staying: Member[];
  leaving: Member[];
  updated: Member[];
  old: Member[];
  ill: Member[];
}

function groupsOf(ordered: Member[], templateHash: string): Groups {
  const staying = ordered.filter(({ phase }) => phase !== "Leaving");
  return {
    staying,
    leaving: ordered.filter(({ phase }) => phase === "Leaving"),
    updated: staying.filter((member) => member.templateHash === templateHash),
    old: staying.filter((member) => member.templateHash !== templateHash),
    ill: staying.filter(({ ill }) => ill).sort(byDue),
  };
}

function countsOf({ staying, leaving, updated, old, ill }: Groups, unproven: Set<string>): PoolSnapshot["counts"] {
  const isProven = (member: Member): boolean => isReady(member) && !unproven.has(member.id) && member.kept !== "Failed";
  return {
    machines: staying.length + leaving.length,
    updated: updated.length,
    ready: staying.filter(isProven).length,
    updatedReady: updated.filter(isProven).length,
    old: old.length,
    held: staying.filter(({ phase }) => phase === "Held").length,
    leaving: leaving.length,
    ill: ill.length,
  };
}

/**
 * Compares two machines by removal order. The first property in this list that only one of them has puts it first: may
 * be removed, chosen, preferred for deletion by its controller, due for repair earlier, not Ready, older.
 */
export function byTurn(a: Member, b: Member): number {
  // Members that are not to be removed come last, because they would displace others from the list.
  const isKept = ({ kept }: Member): number => Number(kept !== undefined);
  return isKept(a) - isKept(b) || Number(b.marked) - Number(a.marked) || Number(b.expendable) - Number(a.expendable) ||
    byDue(a, b) || Number(isReady(a)) - Number(isReady(b)) ||
    a.since.localeCompare(b.since) || a.id.localeCompare(b.id);
}

// The newest held machine is admitted first, because an old one may have to be recreated first.
function byNewest(a: Member, b: Member): number {
  return b.since.localeCompare(a.since) || a.id.localeCompare(b.id);
}

function byDue(a: Member, b: Member): number {
  const [one, other] = [a, b].map(({ ill }) => ill?.due ?? Infinity) as [number, number];
  return one === other ? 0 : one - other;
}

function isReady({ phase }: Member): boolean {
  return phase === "Ready";
}

// A machine on which an update in place failed does not count as stale: it stays out of service on purpose.
function isStale({ phase, marked, held, kept }: Member): boolean {
  return phase !== "Held" && (marked || held) && kept !== "Failed";
}

function isWaiting({ phase, held }: Member): boolean {
  return phase === "Held" && held;
}

// Leaves out since when a machine is unhealthy, and when it is due for repair, because these times may change while
// nothing else does.
function fingerprintOf(members: readonly Member[]): string {
  const facts = members.map((member) => {
    const { id, phase, held, marked, expendable, templateHash, zone = "", ill, kept, staged, replaceable } = member;
    // Excludes the kubelet's message after the colon, because its text can change while the machine does not.
    const [lacks] = (member.lacks ?? "").split(": ");
    const rare = [
      ...(kept ? [kept] : []),
      ...(staged ? ["staged"] : []),
      ...(replaceable ? ["replaceable"] : []),
      ...(lacks ? [lacks] : []),
    ];
    return [id, phase, held, marked, expendable, templateHash, zone, ill?.why ?? "", ...rare];
  });
  return hashOf(facts.sort());
}

function hashOf(facts: unknown): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}
