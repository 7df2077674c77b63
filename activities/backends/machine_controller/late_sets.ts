/**
 * Wakes machine-controller (1.66) where it has not noticed that a node is Ready again. It counts a MachineSet's Ready
 * nodes only when the set or one of its Machines changes. A node that comes back changes neither, and without it no
 * other machine is made or removed until everything is looked at again, as late as five minutes after.
 */
import type { Member, PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { machines, patchObject } from "../../kube/resources.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import type { Observation, Waker } from "../contract.ts";
import { wakeAnnotation } from "./annotations.ts";
import { countedReady } from "./pool_watch.ts";

/** Between looks; machine-controller has as much time to notice by itself. */
const restMs = 5_000;

/** The MachineSets of one pool during one wait. */
export class LateSets implements Waker {
  readonly #kube: Kube;
  readonly #pool: PoolRef;
  /** Sets that counted too few at the last look, by template. */
  #late = new Set<string>();
  #lookedAt: number;

  constructor(kube: Kube, pool: PoolRef, now: number) {
    this.#kube = kube;
    this.#pool = pool;
    this.#lookedAt = now;
  }

  /** Epoch ms at which to look again, where sets that are watched count too few, or nobody knows. */
  lookBy(members: readonly Member[]): number {
    const counted = countedReady(this.#kube, this.#pool);
    if (!counted || this.#late.size > 0) return this.#lookedAt + restMs;
    const isLate = [...counted].some(([templateHash, ready]) => readyOf(templateHash, members).length > ready);
    return isLate ? this.#lookedAt + restMs : Infinity;
  }

  /** Touches one Machine of each set that still counts fewer Ready nodes than there are; `now` is epoch ms. */
  async wake({ members, counted }: Pick<Observation, "members" | "counted">, now: number): Promise<void> {
    if (now - this.#lookedAt < restMs) return;
    this.#lookedAt = now;
    const { namespace, name } = this.#pool;
    await attempting(`wake machine-controller for "${namespace}/${name}"`, async () => {
      const late = [...counted].flatMap((count) => witnessOf(count, members) ?? []);
      for (const each of late.filter(({ templateHash }) => this.#late.has(templateHash))) await this.#touch(each, now);
      this.#late = new Set(late.map(({ templateHash }) => templateHash));
    });
  }

  async #touch({ id }: Member, now: number): Promise<void> {
    const body = { metadata: { annotations: { [wakeAnnotation]: new Date(now).toISOString() } } };
    await ifFound(patchObject(this.#kube, machines, { namespace: this.#pool.namespace, name: id, body }));
  }
}

/** A Ready machine of a set that counts fewer of them than there are; undefined for any other set. */
function witnessOf([templateHash, ready]: [string, number], members: Member[]): Member | undefined {
  const there = readyOf(templateHash, members);
  return there.length > ready ? there[0] : undefined;
}

function readyOf(wanted: string, members: readonly Member[]): Member[] {
  return members.filter(({ phase, templateHash }) => phase === "Ready" && templateHash === wanted);
}
