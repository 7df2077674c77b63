/** Reads the machines of a pool as a bounded picture. */
import { createHash } from "node:crypto";
import type { Member, PoolRef, PoolSnapshot } from "../../workflows/contracts.ts";
import { expired, moot } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { poll } from "../kube/polling.ts";
import { listObjects, machineDeployments, machines, readObject } from "../kube/resources.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { memberOf } from "./member.ts";
import { nodeFacts } from "./node_facts.ts";
import { labelSelectorOf } from "./selector.ts";

export interface PoolQuestion {
  pool: PoolRef;
  templateHash: string;
}

/** Members listed per group; counts are exact whatever the size of the pool. */
const listed = 20;

/** Counts and the next few members of each group, oldest first. */
export function readPool(kube: Kube, question: PoolQuestion): Promise<PoolSnapshot> {
  const { pool, templateHash } = question;
  return attempting(`read the machines of "${pool.namespace}/${pool.name}"`, async () => {
    return snapshotOf(await readMembers(kube, pool), templateHash);
  });
}

/** Waits until the pool looks different from `fingerprint`; `until` in epoch ms. */
export function awaitPoolChanged(
  kube: Kube,
  { fingerprint, until, ...question }: PoolQuestion & { fingerprint: string; until: number },
): Promise<PoolSnapshot> {
  return poll<PoolSnapshot>({
    until,
    look: async () => {
      const answer = await readPool(kube, question);
      if (answer.fingerprint !== fingerprint) return { answer };
      const { machines, updatedReady, old, leaving } = answer.counts;
      return { missing: `${machines} machines: ${updatedReady} updated and ready, ${old} old, ${leaving} leaving` };
    },
    expired: (missing) =>
      expired("SettleExpired", `Cannot go on with "${question.pool.name}": nothing changed in time; ${missing}`),
  });
}

/** Every member of the pool. */
export async function readMembers(kube: Kube, pool: PoolRef): Promise<Member[]> {
  const deployment = await ifFound(readObject(kube, machineDeployments, pool));
  if (!deployment) throw moot("GenerationStale", `Cannot read the machines of "${pool.name}": it is gone`);
  const where = { namespace: pool.namespace, labelSelector: labelSelectorOf(deployment) };
  const found = await listObjects(kube, machines, where);
  return await Promise.all(found.map((machine) => judged(kube, memberOf(pool, machine))));
}

// machine-controller remembers that a node was Ready once; whether it is now, only the Node tells.
async function judged(kube: Kube, member: Member): Promise<Member> {
  if (member.phase !== "Ready" || !member.node) return member;
  const node = await nodeFacts(kube, member.node);
  return node?.ready ? member : { ...member, phase: "NotReady" };
}

/** Sorts members into groups; pure. */
export function snapshotOf(members: readonly Member[], templateHash: string): PoolSnapshot {
  const ordered = [...members].sort(byTurn);
  const leaving = ordered.filter(isLeaving);
  const staying = ordered.filter((member) => !isLeaving(member));
  const updated = staying.filter((member) => member.templateHash === templateHash);
  const old = staying.filter((member) => member.templateHash !== templateHash);
  const groups = {
    old,
    waiting: updated.filter((member) => member.phase === "Held" && member.held),
    joining: updated.filter((member) => ["Provisioning", "Booting", "Joining"].includes(member.phase)),
    stale: updated.filter((member) => member.phase !== "Held" && (member.marked || member.held)),
    leaving,
  };
  return {
    fingerprint: fingerprintOf(members),
    counts: {
      machines: members.length,
      updated: updated.length,
      ready: staying.filter(isReady).length,
      updatedReady: updated.filter(isReady).length,
      old: old.length,
      held: staying.filter((member) => member.phase === "Held").length,
      leaving: leaving.length,
    },
    old: groups.old.slice(0, listed),
    waiting: groups.waiting.slice(0, listed),
    joining: groups.joining.slice(0, listed),
    stale: groups.stale.slice(0, listed),
    leaving: groups.leaving.slice(0, listed),
  };
}

// Whoever was chosen before stays chosen; then whom machine-controller prefers; then who is no loss; then the oldest.
function byTurn(a: Member, b: Member): number {
  return Number(b.marked) - Number(a.marked) || Number(b.expendable) - Number(a.expendable) ||
    Number(isReady(a)) - Number(isReady(b)) ||
    a.since.localeCompare(b.since) || a.id.localeCompare(b.id);
}

function isLeaving(member: Member): boolean {
  return member.phase === "Leaving";
}

function isReady(member: Member): boolean {
  return member.phase === "Ready";
}

function fingerprintOf(members: readonly Member[]): string {
  const facts = members.map(({ id, phase, held, marked, templateHash }) => [id, phase, held, marked, templateHash]);
  return createHash("sha256").update(JSON.stringify(facts.sort())).digest("hex").slice(0, 16);
}
