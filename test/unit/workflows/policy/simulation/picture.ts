/** Hand-written situations: groups of machines, and the differences from an ordinary rollout. */
import { snapshotOf } from "../../../../../activities/pool/snapshot.ts";
import { defaultRules } from "../../../../../activities/policy/default_rules.ts";
import type { Desired, Member, Rules } from "../../../../../workflows/contracts/mod.ts";
import { supplierOf } from "../../../../../workflows/policy/supplier.ts";
import type { Situation, Step } from "../../../../../workflows/policy/turn.ts";

export const now = 1_000_000_000_000;
export const minute = 60_000;

export const desired: Desired = {
  ...{ generation: 2, observed: "o", change: "c", specHash: "s", actor: "test", settled: true, revision: "2" },
  ...{ templateHash: "new", replicas: 3, surge: 1, image: "i", kubelet: "k", profile: { name: "p", namespace: "n" } },
};

export type Group = [count: number, phase: Member["phase"], overrides?: Partial<Member>];

/** Returns members with ids such as "old Ready 1", from the oldest to the youngest. */
export function members(hash: "old" | "new", ...groups: Group[]): Member[] {
  return groups.flatMap(([count, phase, overrides], group) =>
    Array.from({ length: count }, (_, nth): Member => {
      const id = `${hash} ${phase} ${nth + 1}`;
      const isThere = ["Ready", "NotReady", "Leaving"].includes(phase);
      return {
        ...{ id, templateHash: hash, image: "i", kubelet: "k", phase, ...(isThere ? { node: id } : {}) },
        since: `2026-01-0${hash === "old" ? 1 : 2}T00:0${group}:${String(nth).padStart(2, "0")}Z`,
        ...{ marked: false, held: phase === "Held", expendable: false, ...overrides },
      };
    })
  );
}

/** A member that has been unhealthy for 30m and is due for repair. */
export const ill: Partial<Member> = { ill: { why: "NotReady", since: now - 30 * minute, due: now - 20 * minute } };
/** A marked member that Ostler holds. */
export const ours: Partial<Member> = { held: true, marked: true };

export interface Difference {
  desired?: Partial<Desired>;
  rules?: Partial<Omit<Rules, "budget">>;
  budget?: Partial<Rules["budget"]>;
  busy?: Partial<Situation["busy"]>;
  limit?: number;
  situation?: Partial<Situation>;
}

/** Returns the situation of an ordinary rollout in progress, with the given differences. */
export function situationOf(pool: Member[], difference: Difference = {}): Situation {
  const { rules, budget, busy, limit = 20, situation } = difference;
  const unproven = Object.keys(situation?.booting ?? {});
  return {
    ...{ now, supplier: supplierOf(), desired: { ...desired, ...difference.desired } },
    rules: { ...defaultRules, ...rules, budget: { ...defaultRules.budget, ...budget } },
    pool: snapshotOf(pool, { templateHash: "new", unproven, limit }),
    busy: { joining: [], leaving: [], repairing: [], ...busy },
    ...{ booting: {}, rolled: true, wave: { index: 0, soakUntil: null, passed: false, approved: false } },
    ...{ retries: [], skipped: [], setAside: [], paused: false, quarantined: false, rollingBack: false },
    ...{ approved: false, usual: null },
    ...situation,
  };
}

/** Returns a step as text. */
export function told(step: Step): string {
  switch (step.kind) {
    case "admit":
      return `admit ${step.newcomer.id} for ${step.victim?.id ?? "none"}${step.attempt ? `, ${step.attempt}` : ""}`;
    case "join":
      return `join ${step.machine}${step.attempt ? `, ${step.attempt}` : ""}`;
    case "gates":
      return `gates ${step.wave}`;
    case "spare":
      return `unmark ${step.machine.id}`;
    default:
      return `${step.kind} ${step.machine.id}`;
  }
}
