/** What a pool waits for when there is nothing to begin, in words. */
import type { Budget } from "./budget.ts";
import { isIdle } from "./census.ts";
import type { Census } from "./census.ts";
import { isEnoughReady } from "./departures.ts";
import type { Blocked, Situation } from "./turn.ts";
import type { WaveLook } from "./waves.ts";

/** What of a turn is already known. */
export interface Findings {
  census: Census;
  budget: Budget;
  wave: WaveLook;
  blocks: Blocked[];
  /** Newcomers wait for room in the budget or in a zone. */
  isSpent: boolean;
}

/** The end of the sentence "waiting for …". */
export function waitsForOf(situation: Situation, findings: Findings): string {
  const { pool, desired, setAside, supplier } = situation;
  const { census, wave, blocks } = findings;
  const { machines, held, old, updated } = pool.counts;
  const ours = pool.leaving.find((member) => isIdle(situation, member) && member.node !== undefined);
  const leaving = pool.counts.leaving - pool.leaving.filter(({ id }) => setAside.includes(id)).length;
  if (ours && !isEnoughReady(situation)) return `others to be Ready before ${ours.id} may go`;
  if (leaving > 0) return `${leaving} machine(s) to go`;
  if (census.joins > 0) return `${census.joins} machine(s) to join`;
  if (wave.gatesDue) return `the gates of wave ${wave.state.index + 1}`;
  if (blocks[0]) return `the end of what blocks it: ${blocks[0].message}`;
  if (findings.isSpent) return budgetText(findings);
  // Short of one that serves, nobody adds or removes any.
  const missed = pool.ill.find(({ phase }) => phase === "NotReady");
  if (missed) return `${missed.id} to be Ready again`;
  if (updated < desired.replicas && held === 0) return `${supplier.title} to create a machine`;
  if (old > 0 || machines > desired.replicas) return `${supplier.title} to remove a machine`;
  return "every machine to be Ready";
}

function budgetText({ budget: { changing, ill, total } }: Findings): string {
  if (changing + ill < total) return "room in the budget of a zone";
  return `room in the budget of ${total} machine(s): ${changing} out or changing, ${ill} unhealthy`;
}
