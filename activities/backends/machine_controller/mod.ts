/** The backend of MachineDeployments: machine-controller (1.66) creates the machines, and only annotations pace it. */
import type { Cluster } from "../../cluster.ts";
import type { Observation, Waker, With } from "../contract.ts";
import { wakeAnnotation } from "./annotations.ts";
import {
  admitMachine,
  chooseMachine,
  releaseAll,
  releaseMachine,
  replaceMachine,
  spareMachine,
  stampTemplate,
} from "./holds.ts";
import { keepMinimum } from "./autoscaling.ts";
import { keepMachines } from "./keep_machines.ts";
import { readWanted, restoreLastGood } from "./last_good.ts";
import { readOwnership } from "./machine_of_node.ts";
import { observePool, readMember, readNodeStanding, readState } from "./observe_pool.ts";
import {
  countedReady,
  isSurelyUnsettled,
  newsOfMachines,
  newsOfPool,
  newsOfTemplate,
  watchedUid,
  watchTemplates,
} from "./pool_watch.ts";
import type { Member, PoolRef } from "../../../workflows/contracts/mod.ts";
import { machineDeployments, machines, patchObject, readObject } from "../../kube/resources.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import type { Subject } from "../../status/events.ts";
import { watchMachineDeployments } from "./watch_all.ts";

/** Returns the backend of MachineDeployments. */
export function machineController(
  kube: Cluster,
): With<"orders" | "standing" | "templates" | "stamp" | "keep" | "waker"> {
  return {
    maker: "machine-controller",
    unseen: (node) => `machine-controller has not reported node "${node}" Ready`,
    clues: "see the log of machine-controller",
    lookEvery: undefined,
    subject: (pool) => readSubject(kube, pool),
    wanted: (pool, question) => readWanted(kube, pool, question),
    observe: (pool) => observePool(kube, pool),
    member: (member) => readMember(kube, member),
    state: (member) => readState(kube, member),
    owns: (member) => readOwnership(kube, member),
    spare: (member) => spareMachine(kube, member),
    releaseAll: (pool) => releaseAll(kube, pool),
    restore: (order, place) => restoreLastGood(kube, order, place),
    watchAll: (deps) => watchMachineDeployments(kube, deps),
    newsOfWanted: (pool) => newsOfTemplate(kube, pool),
    newsOfPool: (pool, nodes) => newsOfPool(kube, pool, nodes),
    newsOfMachines: ({ pool, names }, nodes) => newsOfMachines(kube, { namespace: pool.namespace, names }, nodes),
    orders: {
      admit: (member) => admitMachine(kube, member),
      choose: (member) => chooseMachine(kube, member),
      release: (member) => releaseMachine(kube, member),
      replace: (member) => replaceMachine(kube, member),
    },
    boots: undefined,
    standing: (member) => readNodeStanding(kube, member),
    templates: {
      begin: () => watchTemplates(kube),
      isSurelyUnsettled: (pool) => isSurelyUnsettled(kube, pool),
    },
    // A machine whose node is Ready lacks nothing, because it gets everything from its config.
    welcome: undefined,
    relieve: undefined,
    seeOff: undefined,
    stamp: (stamp) => stampTemplate(kube, stamp),
    autoscaling: async (pool, order) => {
      await keepMinimum(kube, pool, order);
      return "";
    },
    keep: (pool, findStray) => keepMachines(kube, pool, findStray),
    endPin: undefined,
    waker: (pool, now) => new LateSets(kube, pool, now),
  };
}

/** Returns the MachineDeployment from the watch, or else from the API server; undefined if it was deleted. */
async function readSubject(kube: Cluster, { namespace, name }: PoolRef): Promise<Subject | undefined> {
  const uid = watchedUid(kube, { namespace, name });
  // The watch may still have a MachineDeployment that was just deleted; the garbage collector then deletes its Rollout
  // later.
  if (uid !== undefined) return { namespace, name, uid };
  return (await ifFound(readObject(kube, machineDeployments, { namespace, name })))?.metadata;
}

// machine-controller (1.66) counts the Ready nodes of a MachineSet only when the set or one of its Machines changes. A
// node that is Ready again changes neither, so no machine would be created or deleted until the next resync, after as
// long as five minutes. The same is true of a node that has been Ready for minReadySeconds, if not all machines of the
// set are Ready.

/** Milliseconds between reads: the time in which machine-controller can notice a Ready node by itself. */
const restMs = 5_000;
/** The longest pause (ms) before machine-controller is made to count the nodes of a set again. */
const longestRestMs = 30_000;

/** A set that counts too few machines: when to make machine-controller count again (epoch ms), and the pause then. */
interface Late {
  dueAt: number;
  pauseMs: number;
}

/**
 * Finds the MachineSets of one pool for which machine-controller counts too few Ready nodes, and makes it count them
 * again; one object serves one wait.
 */
export class LateSets implements Waker {
  readonly #kube: Cluster;
  readonly #pool: PoolRef;
  /** Sets that counted too few Ready machines at the previous read, by template hash. */
  #late = new Map<string, Late>();
  #lookedAt: number;

  constructor(kube: Cluster, pool: PoolRef, now: number) {
    this.#kube = kube;
    this.#pool = pool;
    this.#lookedAt = now;
  }

  /**
   * Returns the time (epoch ms) of the next read, if the watched MachineSets count too few Ready machines or are not
   * known; otherwise Infinity.
   */
  lookBy(members: readonly Member[]): number {
    const counted = countedReady(this.#kube, this.#pool);
    if (!counted) return this.#lookedAt + restMs;
    const dueAt = Math.min(...[...this.#late.values()].map((late) => late.dueAt));
    // `wake` does nothing before `restMs` have passed, so a read before that would be in vain.
    if (dueAt < Infinity) return Math.max(this.#lookedAt + restMs, dueAt);
    const isLate = [...counted].some(([templateHash, ready]) => readyOf(templateHash, members).length > ready);
    return isLate ? this.#lookedAt + restMs : Infinity;
  }

  /**
   * Annotates one Machine of each MachineSet that counts too few Ready nodes, and also did at the previous read, so
   * that machine-controller counts them again; the pauses between the annotations of a set grow. `now` is epoch ms.
   */
  async wake({ members, counted }: Pick<Observation, "members" | "counted">, now: number): Promise<void> {
    if (now - this.#lookedAt < restMs) return;
    this.#lookedAt = now;
    const { namespace, name } = this.#pool;
    await attempting(`make machine-controller count the Ready nodes of "${namespace}/${name}"`, async () => {
      const late = [...counted].flatMap((count) => witnessOf(count, members) ?? []);
      const before = this.#late;
      this.#late = new Map();
      for (const each of late) {
        const known = before.get(each.templateHash);
        if (known && now >= known.dueAt) await this.#touch(each, now);
        this.#late.set(each.templateHash, lateFrom(known, now));
      }
    });
  }

  async #touch({ id }: Member, now: number): Promise<void> {
    const body = { metadata: { annotations: { [wakeAnnotation]: new Date(now).toISOString() } } };
    await ifFound(patchObject(this.#kube, machines, { namespace: this.#pool.namespace, name: id, body }));
  }
}

function lateFrom(known: Late | undefined, now: number): Late {
  if (!known) return { dueAt: now + restMs, pauseMs: restMs };
  if (now < known.dueAt) return known;
  return { dueAt: now + known.pauseMs, pauseMs: Math.min(longestRestMs, known.pauseMs * 2) };
}

/** Returns a Ready machine of a set that counts fewer Ready machines than there are; undefined for any other set. */
function witnessOf([templateHash, ready]: [string, number], members: Member[]): Member | undefined {
  const there = readyOf(templateHash, members);
  return there.length > ready ? there[0] : undefined;
}

function readyOf(wanted: string, members: readonly Member[]): Member[] {
  return members.filter(({ phase, templateHash }) => phase === "Ready" && templateHash === wanted);
}
