/** One machine in: admitted with a place of the shared budget where it replaces another, and seen to join. */
import type { Member } from "../contracts/mod.ts";
import type { Blocked, Step } from "../policy/turn.ts";
import { write } from "../proxies.ts";
import { restartBoot } from "../state/machines.ts";
import type { Part, Seen } from "../state/rollout.ts";
import { tell } from "../state/view.ts";
import { isGivenUp } from "../steps/quarantine.ts";
import { takeSlot } from "../steps/slots.ts";
import { beginJoin } from "./join_machine.ts";
import type { Joining } from "./join_machine.ts";

/** What admitting touches. */
export type Admitting = Joining & Part<"slots">;

/** Admits a machine that is held, or has one of our choice go for one that boots unasked. */
export async function admit(rollout: Admitting, step: Step & { kind: "admit" }): Promise<Blocked | undefined> {
  const { settings: { pool }, machines, view } = rollout;
  const { newcomer, victim, attempt } = step;
  const full = victim ? await takeSlot(rollout, newcomer.id) : undefined;
  if (full) return full;
  if (isStale(rollout, newcomer)) return undefined;
  // One that never was admitted begins now, however long ago it was chosen.
  if (newcomer.phase === "Held") restartBoot(machines, newcomer.id);
  const replaces = victim ? `, which replaces ${victim.id}` : "";
  tell(view, "MachineAdmitted", `Admitted ${newcomer.id}${replaces}`);
  if (victim) {
    beginJoin(rollout, { machine: newcomer.id, attempt, victim: victim.id }, "ByWait");
    return undefined;
  }
  beginJoin(rollout, { machine: newcomer.id, attempt }, async () => {
    const summary = `Admit ${newcomer.id}`;
    await write.ensureMachineAdmitted.executeWithOptions({ summary }, [{ pool, machine: newcomer.id }]);
    machines.repaired = machines.repaired.slice(1);
  });
  return undefined;
}

/** Sees a machine through that boots already: with a place of the shared budget where it gave its own back and there is one. */
export async function watchAgain(rollout: Admitting, step: Step & { kind: "join" }): Promise<void> {
  if (hasLostPlace(rollout, step.machine)) {
    await takeSlot(rollout, step.machine);
    // Somebody may have asked for something meanwhile, or the change was given up: plan again.
    if (rollout.people.heard || isGivenUp(rollout)) return;
  }
  beginJoin(rollout, step);
}

// Somebody paused or aborted since this was planned, or the change was given up: plan again.
function isStale(rollout: Seen<"people" | "machines" | "memory" | "target">, { phase }: Member): boolean {
  return rollout.people.heard || (phase === "Held" && isGivenUp(rollout));
}

// One that failed for good has given it back, and replaces somebody again when it is tried again.
function hasLostPlace(
  { target: { rules }, people, machines, slots }: Seen<"target" | "people" | "machines" | "slots">,
  machine: string,
): boolean {
  if (!rules || rules.budget.cluster === null || people.retriedAt === 0 || !machines.booting[machine]) return false;
  const { old = [], leaving = [] } = machines.snapshot ?? {};
  return slots.held.length < [...old, ...leaving].filter(({ marked }) => marked).length;
}
