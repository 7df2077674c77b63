/** The backend of MachineDeployments: machine-controller (1.66) makes the machines, paced by annotations alone. */
import type { Cluster } from "../../cluster.ts";
import type { Backend, JoinedMachine, NodeOwners, Observation, OwnedSet, Waker } from "../contract.ts";
import {
  admitMachine,
  chooseMachine,
  releaseAll,
  releaseMachine,
  replaceMachine,
  spareMachine,
  stampTemplate,
  wakeAnnotation,
} from "./holds.ts";
import { keepMachines } from "./keep_machines.ts";
import { readWanted, restoreLastGood } from "./last_good.ts";
import { hasJoined, observePool, readMember, readState } from "./observe_pool.ts";
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
import {
  Machine,
  machineDeployments,
  machines,
  MachineSet,
  machineSets,
  patchObject,
  readObject,
  type Resource,
} from "../../kube/resources.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import type { Subject } from "../../status/events.ts";

export function machineController(kube: Cluster): Backend {
  return {
    maker: "machine-controller",
    boots: undefined,
    lookEvery: undefined,
    subject: (pool) => readSubject(kube, pool),
    wanted: (pool, question) => readWanted(kube, pool, question),
    isSurelyUnsettled: (pool) => isSurelyUnsettled(kube, pool),
    observe: (pool) => observePool(kube, pool),
    member: (member) => readMember(kube, member),
    state: (member) => readState(kube, member),
    admit: (member) => admitMachine(kube, member),
    // It has all from its config.
    welcome: () => Promise.resolve(),
    choose: (member) => chooseMachine(kube, member),
    spare: (member) => spareMachine(kube, member),
    relieve: undefined,
    release: (member) => releaseMachine(kube, member),
    replace: (member) => replaceMachine(kube, member),
    seeOff: (member) => readState(kube, member),
    releaseAll: (pool) => releaseAll(kube, pool),
    restore: (order, place) => restoreLastGood(kube, order, place),
    stamp: (stamp) => stampTemplate(kube, stamp),
    keep: (pool) => keepMachines(kube, pool),
    beginToWatch: () => watchTemplates(kube),
    newsOfWanted: (pool) => newsOfTemplate(kube, pool),
    newsOfPool: (pool, nodes) => newsOfPool(kube, pool, nodes),
    newsOfMachines: ({ pool, names }, nodes) => newsOfMachines(kube, { namespace: pool.namespace, names }, nodes),
    waker: (pool, now) => new LateSets(kube, pool, now),
  };
}

// The MachineDeployment that a Rollout and its Events are about.

/** Returns the MachineDeployment as a watch or else the API server has it; undefined if it was deleted. */
async function readSubject(kube: Cluster, { namespace, name }: PoolRef): Promise<Subject | undefined> {
  const uid = watchedUid(kube, { namespace, name });
  // If the MachineDeployment is being deleted now, the garbage collector deletes its Rollout later.
  if (uid !== undefined) return { namespace, name, uid };
  return (await ifFound(readObject(kube, machineDeployments, { namespace, name })))?.metadata;
}

// Whose nodes are whose, as machine-controller's objects tell it; no more of them is kept.

const joinedMachines: Resource<JoinedMachine> = { ...machines, schema: Machine.transform(joinedMachine) };
const ownedSets: Resource<OwnedSet> = { ...machineSets, schema: MachineSet.transform(ownedSet) };

export const machineControllerOwners: NodeOwners = { machines: joinedMachines, sets: ownedSets };

function joinedMachine(machine: Machine): JoinedMachine {
  const { metadata, status } = machine;
  const set = metadata.ownerReferences?.find(({ kind }) => kind === "MachineSet")?.name;
  const node = status?.nodeRef?.name;
  if (!set || !node || metadata.deletionTimestamp || !hasJoined(machine)) return {};
  return { set: `${metadata.namespace}/${set}`, node };
}

function ownedSet({ metadata }: MachineSet): OwnedSet {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === "MachineDeployment");
  return owner ? { pool: `${metadata.namespace}/${owner.name}` } : {};
}

// Wakes machine-controller (1.66) where it has not noticed that a node is Ready again. It counts a MachineSet's Ready
// nodes only when the set or one of its Machines changes. A node that comes back changes neither, and without it no
// other machine is made or removed until everything is looked at again, as late as five minutes after.

/** Between looks; machine-controller has as much time to notice by itself. */
const restMs = 5_000;

/** The MachineSets of one pool during one wait. */
export class LateSets implements Waker {
  readonly #kube: Cluster;
  readonly #pool: PoolRef;
  /** Sets that counted too few at the last look, by template. */
  #late = new Set<string>();
  #lookedAt: number;

  constructor(kube: Cluster, pool: PoolRef, now: number) {
    this.#kube = kube;
    this.#pool = pool;
    this.#lookedAt = now;
  }

  /** Epoch ms of the next read if the watched MachineSets count too few Ready machines, or are not known. */
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
