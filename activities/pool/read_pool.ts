/** Reads the machines of a pool as a bounded snapshot. */
import type { Cluster } from "../cluster.ts";
import { counted } from "../counted.ts";
import type { Member, PoolQuestion, PoolRef, PoolSnapshot, RepairRules } from "../../workflows/contracts/mod.ts";
import { backendOf } from "../backends/registry.ts";
import type { Observation } from "../backends/contract.ts";
import { poll } from "../kube/polling.ts";
import { attempting } from "../kube/status.ts";
import { illnessOf, isLost, neverRepaired } from "../node/illness.ts";
import { type NodeStanding, standingOn } from "../node/node_claim.ts";
import { type NodeFacts, unreadinessOf } from "../node/node_facts.ts";
import { type BudgetKeeper, isNow, readUpgradeSlots } from "./slots.ts";
import { snapshotOf, withEtcd } from "./snapshot.ts";
import { keptForUpgrade } from "./upgraded_nodes.ts";

export { snapshotOf } from "./snapshot.ts";

const restMs = 500;
const restPerMachineMs = 5;
const longestRestMs = 5_000;
/** Milliseconds between reads while a machine names a node that may belong to another machine. */
const unclearMs = 10_000;

/**
 * Returns counts and the first few machines of each group, such as outdated, joining or unhealthy ones. At the first
 * read after an outage, no machine is due for repair.
 */
export function readPool(kube: Cluster, question: PoolQuestion, budgets?: BudgetPlace): Promise<PoolSnapshot> {
  return look(kube, question, budgets).then(({ snapshot }) => snapshot);
}

/** Namespace of the ConfigMaps of shared budgets. */
type BudgetPlace = Pick<BudgetKeeper, "profileNamespace">;

function look(
  kube: Cluster,
  question: PoolQuestion,
  budgets?: BudgetPlace,
): Promise<{ found: Found; snapshot: PoolSnapshot }> {
  const { pool, repair } = question;
  return attempting(`read the machines of "${pool.namespace}/${pool.name}"`, async () => {
    const found = await findMembers(kube, { pool, repair, unproven: new Set(question.unproven), ...budgets });
    const outlook = kube.outlook;
    outlook.looked(Date.now());
    return { found, snapshot: withEtcd(snapshotOf(outlook.tempered(found.members), question), found.etcd) };
  });
}

/**
 * Returns true once the snapshot of the pool has another fingerprint than `fingerprint`; false if it still has the same
 * at `until` (epoch ms). Meanwhile wakes the controller that creates the machines, if the controller has missed a
 * change.
 */
export async function awaitPoolChanged(
  kube: Cluster,
  { fingerprint, until, ...question }: PoolQuestion & { fingerprint: string; until: number },
  budgets?: BudgetPlace,
): Promise<boolean> {
  let members: readonly Member[] = [];
  let lackAt = Infinity;
  // The names of the members' nodes are collected once per read, because every event of any node needs them.
  let nodes: ReadonlySet<string> = new Set();
  const backend = backendOf(kube, question.pool);
  using news = backend.newsOfPool(question.pool, () => nodes);
  const waker = backend.waker?.(question.pool, Date.now());
  // Two machines that name the same node can belong to different pools. A change in the other pool does not wake this
  // wait, so the wait reads at an interval while the owner of a node is unclear.
  const doubt = (): number => members.some(({ unclear }) => unclear !== undefined) ? Date.now() + unclearMs : Infinity;
  const lookBy = (): number =>
    Math.min(Date.now() + (backend.lookEvery?.() ?? Infinity), waker?.lookBy(members) ?? Infinity, doubt(), lackAt);
  return await poll<boolean>({
    until: Number.MAX_SAFE_INTEGER, // `poll` would throw at its end, but an unchanged pool is a valid result of `look`
    news,
    every: () => Math.min(longestRestMs, restMs + restPerMachineMs * members.length),
    lookBy: () => Math.min(until, lookBy()),
    look: async () => {
      const { found, snapshot } = await look(kube, question, budgets);
      members = found.members;
      nodes = new Set(members.flatMap(({ node }) => node ?? []));
      lackAt = found.lackAt;
      const isNews = snapshot.fingerprint !== fingerprint;
      if (isNews || Date.now() >= until) return { answer: isNews };
      await waker?.wake(found, Date.now());
      return { missing: wordsOf(snapshot) };
    },
    expired: (missing) => new Error(missing),
  });
}

function wordsOf({ counts }: PoolSnapshot): string {
  const { machines, updatedReady, old, leaving, ill } = counts;
  const states = `${updatedReady} updated and ready, ${old} old, ${leaving} being deleted, ${ill} unhealthy`;
  return `${counted(machines, "machine")}: ${states}`;
}

/**
 * Reads every member of the pool with the facts of its node; without `repair` no machine is due for repair. Does not
 * read the shared budgets, because a user who runs `ostler plan` may lack the permission.
 */
export async function readMembers(
  kube: Cluster,
  pool: PoolRef,
  repair: RepairRules = neverRepaired,
): Promise<Member[]> {
  return (await findMembers(kube, { pool, repair })).members;
}

/** The parameters of a read of all members. */
interface Finding {
  pool: PoolRef;
  repair: RepairRules;
  /**
   * IDs of Ready machines that have not passed their gates; if absent, no Ready machine counts as having passed them.
   */
  unproven?: ReadonlySet<string>;
  /**
   * Namespace of the shared budgets. If absent, the budgets are not read, and a machine whose Kubernetes is being
   * upgraded is not marked as one that must not be replaced (`kept`).
   */
  profileNamespace?: string;
}

/**
 * All members; `lackAt` is the next time (epoch ms) at which an unmet condition has lasted 30 s, and is then reported.
 */
interface Found extends Observation {
  lackAt: number;
}

async function findMembers(
  kube: Cluster,
  { pool, repair, unproven, profileNamespace }: Finding,
): Promise<Found> {
  const { unseen, observe } = backendOf(kube, pool);
  const seen = await observe(pool);
  const nodes = await kube.nodes.find(seen.members.flatMap(({ node }) => node ?? []));
  const judge = (member: Member): Member => {
    const facts = nodes.get(member.node ?? "");
    const standing: NodeStanding = facts ? standingOn(facts, seen.claims?.get(member.id)) : { state: "Own" };
    const own = standing.state === "Foreign" ? undefined : facts;
    return judged({ kube, pool, repair, facts: own }, settled(member, standing));
  };
  const now = Date.now();
  // Only control planes have an etcd status, and only their Kubernetes is upgraded in place.
  const upgrading = seen.etcd && profileNamespace !== undefined
    ? (await readUpgradeSlots({ kube, profileNamespace })).filter(isNow(now))
    : [];
  const members = seen.members.map(judge).map((member) => keptForUpgrade(member, upgrading));
  const waits = members.map((member): Wait => {
    const isWaiting = member.phase === "Joining" || (isServing(member) && (unproven?.has(member.id) ?? true));
    return isWaiting ? waitOf(member, nodes.get(member.node ?? ""), unseen) : { since: Infinity };
  });
  return {
    ...seen,
    members: members.map((member, nth) => lasting(member, waits[nth], now)),
    lackAt: Math.min(...waits.map(({ since }) => since + usualMs).filter((at) => at > now)),
  };
}

/**
 * Milliseconds for which a condition of a machine is typically unmet; only one that is unmet for longer is reported.
 */
const usualMs = 30_000;

/**
 * The unmet condition of a machine's node, and since when it is unmet (epoch ms); `since` is Infinity if the node lacks
 * nothing.
 */
interface Wait {
  since: number;
  lacks?: string;
}

function isServing({ phase }: Member): boolean {
  return phase === "Ready" || phase === "NotReady";
}

function waitOf(member: Member, facts: NodeFacts | undefined, unseen: (node: string) => string): Wait {
  if (!facts) return { since: Infinity };
  const lacks = member.unclear ?? unreadinessOf(facts) ??
    (member.phase === "Joining" ? unseen(facts.name) : undefined);
  return lacks ? { since: facts.since, lacks } : { since: Infinity };
}

function lasting(member: Member, { since, lacks }: Wait = { since: Infinity }, now: number): Member {
  return member.lacks || !lacks || since + usualMs > now ? member : { ...member, lacks: lacks.slice(0, longestText) };
}

/** The longest text about a machine (characters). */
const longestText = 300;

/**
 * Removes the node from a machine if the node belongs to another machine. While the owner of the node is unclear, the
 * machine is neither replaced nor repaired.
 */
function settled({ node, ...member }: Member, standing: NodeStanding): Member {
  const named = node === undefined ? member : { ...member, node };
  if (standing.state === "Own") return named;
  const unjoined = member.phase === "Leaving" ? member.phase : "Joining";
  if (standing.state === "Foreign") return { ...member, phase: unjoined, lacks: standing.says };
  const phase = standing.isFirst ? member.phase : unjoined;
  return { ...named, phase, kept: "Unclear", unclear: standing.says };
}

interface Judgement {
  kube: Cluster;
  pool: PoolRef;
  repair: RepairRules;
  facts: NodeFacts | undefined;
}

// Adds to a machine the zone of its node, whether the node is Ready now, and the problem of the node, if any. The
// controller that creates the machines remembers only that a node was Ready once.
function judged({ kube, pool, repair, facts }: Judgement, member: Member): Member {
  const zone = facts?.zone ? { zone: facts.zone } : {};
  const isLeaving = member.phase === "Leaving" && member.node !== undefined;
  if (!isLeaving && member.phase !== "Ready" && member.phase !== "NotReady") return { ...member, ...zone };
  const outlook = kube.outlook;
  const key = `${pool.namespace}/${member.id}`;
  if (facts) outlook.found(key);
  const seen = facts ? { facts } : { goneSince: outlook.missed(key, Date.now()), node: member.node };
  if (isLeaving) return { ...member, ...zone, ...(isLost(seen, repair) ? { lost: true } : {}) };
  const ill = illnessOf(seen, repair);
  return { ...member, ...zone, phase: facts?.ready ? "Ready" : "NotReady", ...(ill ? { ill } : {}) };
}
