/**
 * The contract between a rollout and the controller or cloud that creates and deletes the machines of a pool. Each kind
 * of pool has one backend, which `registry.ts` selects; only the backend knows its objects and annotations.
 *
 * All methods keep these promises:
 * - A method can run twice, or be interrupted at any request and run again, with the same result. An absent machine
 *   counts as success.
 * - Nothing is ordered twice: the name of an object (a machine, a template, a mark) identifies its order. A backend
 *   whose orders have no such name records a token before the order, and finds the order again by that token.
 * - Reads can be older than the last write. One read alone never proves a failure, and the counts of another controller
 *   are passed on as counts (`counted`), not as facts.
 * - Failures have the types of `failures.ts`: not found is Moot (MachineGone, GenerationStale); throttled or
 *   unreachable is Transient (ApiUnavailable); a refusal is Refused, with the reason. A lack of capacity is not a
 *   failure of a method but a state of the machine (`trouble`), because only time or an administrator fixes it.
 * - Not every backend has every ability. The field of an ability that a backend lacks is undefined, so no method throws
 *   because an ability is missing.
 * - A mark chooses a machine as the next one to be deleted. A hold makes the controller wait before it creates the
 *   instance of a machine, or before it deletes the machine. Only marks, holds and cordons of Ostler are removed.
 */
import type { Logger } from "@temporalio/common";
import type {
  AdmissionOutcome,
  Desired,
  EtcdStanding,
  Keeping,
  Member,
  MemberPhase,
  OsOrder,
  OsOutcome,
  PoolKind,
  PoolRef,
  Published,
  Relieved,
  RelieveOrder,
  RestoreOrder,
  TemplateStamp,
} from "../../workflows/contracts/mod.ts";
import type { ConfigSource } from "../config/read_profile.ts";
import type { News } from "../kube/polling.ts";
import type { RolloutObject } from "../kube/resources.ts";
import type { NodeClaim, NodeStanding } from "../node/node_claim.ts";
import type { Subject } from "../status/events.ts";

/** Creates and deletes the machines of one kind of pool. */
export interface Backend {
  /** The creator of the machines, as messages name it, such as "machine-controller". */
  readonly maker: string;
  /** Returns the message to people about a machine that has not joined although its node is Ready. */
  unseen(node: string): string;
  /**
   * A hint at where people find the reason why a machine is not deleted, such as "see the log of machine-controller".
   */
  readonly clues: string;
  /**
   * Returns the milliseconds between the reads of a wait, for a backend in which some changes cause no watch event;
   * undefined for a backend in which every change causes one.
   */
  readonly lookEvery: (() => number) | undefined;

  /**
   * Returns the object that the Rollout and Events of a pool are about; undefined if it was deleted. Writes nothing.
   */
  subject(pool: PoolRef): Promise<Subject | undefined>;
  /** Returns the desired state of a pool, or that the pool is being deleted or was deleted. Writes nothing. */
  wanted(pool: PoolRef, question: WantedQuestion): Promise<Wanted>;
  /** Reads the machines that the pool owns, not all with its labels. Throws Moot or returns none for a deleted pool. */
  observe(pool: PoolRef): Promise<Observation>;
  /** Reads a machine as the rollout planner sees it, perhaps even of another pool; undefined if it was deleted. */
  member(member: MemberRef): Promise<Member | undefined>;
  /** Reads the progress of a machine, perhaps even of another pool; undefined if it was deleted. */
  state(member: MemberRef): Promise<MachineState | undefined>;
  /**
   * If the pool owns the machine and `node` is the machine's node, returns whether the pool rolls control planes;
   * otherwise undefined. Writes nothing.
   */
  owns(member: MemberRef & { node: string }): Promise<{ rollsControlPlanes: boolean } | undefined>;
  /**
   * Removes mark and hold of a machine and the cordon of its node. A machine that is being deleted stays unchanged, so
   * that its hold still delays the deletion. With `release`, such a machine loses its hold, and its controller then
   * drains and deletes it by the controller's own rules.
   */
  spare(member: MemberRef & { release?: boolean }): Promise<void>;
  /** Removes marks, holds and cordons of all machines of a pool that is being deleted, whichever pool owns them now. */
  releaseAll(pool: PoolRef): Promise<void>;
  /**
   * Makes the last good template and profile the desired ones; returns whether this changed anything. Changes nothing
   * if the order names a bad change and a newer change is desired by now. Throws Refused (LastGoodMissing) if no last
   * good revision is recorded.
   */
  restore(order: RestoreOrder, place: ProfilePlace): Promise<{ changed: boolean }>;

  /**
   * While the pool is rolled, keeps an autoscaler that Ostler does not configure from removing the pool's machines;
   * afterwards, lets it remove them again. Returns a sentence about changes by the autoscaler that Ostler cannot
   * prevent; "" if there are none.
   */
  autoscaling(pool: PoolRef, order: { isRolling: boolean }): Promise<string>;

  /** Watches all pools of the backend from `start` on. */
  watchAll(deps: WatchDeps): PoolSource;
  /** Reports to a waiting activity that the desired state has changed, or that the controller has observed it. */
  newsOfWanted(pool: PoolRef): News;
  /** Reports to a waiting activity: changes of a pool, its machines, and the nodes named by `nodes()`. */
  newsOfPool(pool: PoolRef, nodes: () => ReadonlySet<string>): News;
  /** Reports to a waiting activity: changes of some machines of a pool, and of nodes named by `nodes()`, if given. */
  newsOfMachines(machines: { pool: PoolRef; names: readonly string[] }, nodes?: () => ReadonlySet<string>): News;

  /** Orders that admit and delete machines; undefined for a pool whose nodes no controller creates. */
  readonly orders: Orders | undefined;
  /** Sets what new machines boot; undefined for machines that boot with a config and secrets published by Ostler. */
  readonly boots: Boots | undefined;
  /**
   * Returns whether the node that a machine names belongs to this machine (Own), certainly belongs to another machine
   * (Foreign), or may belong to either (Unclear); Own for a deleted machine. The field is undefined for a backend whose
   * machines never name the node of another machine.
   */
  readonly standing: ((member: MemberRef) => Promise<NodeStanding>) | undefined;
  /** Watches the templates of pools; undefined for a backend that observes every change immediately. */
  readonly templates: TemplateWatch | undefined;
  /**
   * Completes a machine whose node is Ready, before the machine counts as joined. Resolves to what the machine still
   * lacks, as words for a message; to undefined if it lacks nothing or was deleted. The field is undefined for a
   * backend whose Ready machines lack nothing.
   */
  readonly welcome: ((member: MemberRef) => Promise<string | undefined>) | undefined;
  /**
   * Moves the leadership of etcd away from a machine that is about to be deleted, or returns the reasons why the
   * machine must not be deleted now. The field is undefined for machines without etcd.
   */
  readonly relieve: ((order: RelieveMember) => Promise<Relieved>) | undefined;
  /**
   * Repeats the deletion of a released or replaced machine; resolves to what is left of it, and to undefined once it is
   * deleted. The field is undefined for a backend that orders each deletion only once; `state` then shows what is left.
   */
  readonly seeOff: ((member: MemberRef) => Promise<MachineState | undefined>) | undefined;
  /**
   * Writes a digest of the config (the stamp) into the template, so that a changed config changes the template and
   * machines are replaced. A repeated call changes nothing. Resolves to the stamp; to undefined for a deleted pool.
   */
  readonly stamp: ((stamp: TemplateStamp) => Promise<string | undefined>) | undefined;
  /**
   * Keeps a new image in the pool's template from replacing machines, if NodePools update their nodes in place. The
   * field is undefined for a backend that cannot do this.
   */
  readonly keep: ((pool: PoolRef, findStray: FindStray) => Promise<Keeping>) | undefined;
  /**
   * If `restore` replaced one of these changes (`specHash`), lets the pool use that change again. The field is
   * undefined for a backend that stores nothing beside the Rollout after it has restored the last good revision.
   */
  readonly endPin: ((pool: PoolRef, specHashes: readonly string[]) => Promise<void>) | undefined;
  /**
   * Returns an object that makes the controller reconcile if it misses a change during a wait that begins at `now`
   * (epoch ms). The field is undefined for a backend whose controller misses no change.
   */
  readonly waker: ((pool: PoolRef, now: number) => Waker) | undefined;
}

/** A backend that has these optional abilities, so that their fields are never undefined. */
export type With<Ability extends keyof Backend> =
  & Backend
  & { readonly [Each in Ability]: NonNullable<Backend[Each]> };

/** One machine of a pool, by the ID that the rollout planner uses (`Member.id`). */
export interface MemberRef {
  pool: PoolRef;
  machine: string;
}

/** Replaces machines one by one. */
export interface Orders {
  /** Lets a held new machine boot, or recreates it; does nothing if Ostler does not hold it. Moot for a deleted one. */
  admit(order: AdmitOrder): Promise<AdmissionOutcome>;
  /** Makes the controller delete this machine next, but not before `release`. Throws Moot for a deleted machine. */
  choose(member: MemberRef): Promise<void>;
  /** Releases a chosen machine that is being deleted and was drained, without a second drain of `node`. */
  release(member: MemberRef & { node?: string }): Promise<void>;
  /** Deletes a machine, held or not, so that the controller creates another; with `drain` it moves the pods first. */
  replace(member: MemberRef & { node?: string; drain?: boolean }): Promise<void>;
}

/** A new machine to admit, and the machine that it replaces; with `anyAge` the new machine is never recreated. */
export type AdmitOrder = MemberRef & { victim?: string; anyAge?: true };

/** A machine about to be deleted; if it is lost, the state of its own etcd member does not block the deletion. */
export type RelieveMember = MemberRef & Omit<RelieveOrder, "until">;

/** The pool, and the revision that its new machines boot, by the name that conditions and Events use. */
export interface BootOrder {
  pool: PoolRef;
  revision: string;
}

/** Sets what new machines boot, if the controller or the cloud stores that itself. */
export interface Boots {
  /** Makes new machines of the pool boot the desired revision. */
  publish(order: BootOrder): Promise<Published>;
  /** Removes Ostler's finalizer from the object of a pool; called once the pool's machines are released. */
  letGo(pool: PoolRef): Promise<void>;
}

/** The desired state of a pool. */
export type Wanted =
  | { state: "Gone" }
  | { state: "Deleting" }
  | WantedPool;

/** A pool that exists. */
export interface WantedPool {
  state: "Present";
  desired: Desired;
  /** Labels by which policies select the pool. */
  labels: Record<string, string>;
  /** Objects from which the pool's config is rendered; absent for a backend with `boots`. */
  source?: Omit<ConfigSource, "policies" | "since">;
  /** Whether it is certain that the pool never had a machine. */
  isUnused?: true;
  /** Whether it is certain that the backend itself keeps the last good template. */
  keepsGood?: true;
}

/** Default namespace, for profiles that are named without a namespace. */
export interface ProfilePlace {
  profileNamespace: string;
}

/** The parameters of a read of the desired state. */
export interface WantedQuestion extends ProfilePlace {
  /** The pool's Rollout if it was just read; null for a pool without one. */
  rollout?: RolloutObject | null;
}

/** One snapshot of the machines of a pool. */
export interface Observation {
  /** The machines, without what only nodes show: zone, health, and whether a joined machine is Ready now. */
  members: Member[];
  /** The desired template; "" until the controller has observed it. */
  templateHash: string;
  /** Ready machines as the controller counts them, by template hash; its counts can be out of date. */
  counted: ReadonlyMap<string, number>;
  /** State of etcd; missing for machines without etcd. */
  etcd?: EtcdStanding;
  /**
   * By machine that names a Node: the identity of the machine, and the other machines that name the same Node. Missing
   * for a backend in which machines never name the node of another machine.
   */
  claims?: ReadonlyMap<string, NodeClaim>;
}

/** The progress of one machine. */
export interface MachineState {
  name: string;
  /** Whether the machine is being deleted. */
  leaving: boolean;
  /** Whether an instance was ordered for the machine. */
  ordered: boolean;
  /** The failure that machine-controller or the cloud reports, such as no capacity. */
  trouble?: string;
  /** Whether the machine cannot join any more, whatever its deadline. */
  failed?: true;
  addresses: string[];
  /** Name of the machine's Node, once the Node has registered. */
  node?: string;
  /** Whether its backend counts the machine as joined; whether its Node is Ready now is another question. */
  joined: boolean;
  /** Why the machine does not count as joined although its node is Ready, as words. */
  lacks?: string;
  image: string;
  /** Finalizers that delay the machine's deletion. */
  finalizers: string[];
  /** Why the machine's deletion may take longer than others, and until when (epoch ms). */
  delayed?: { says: string; until: number };
  /** The object that Events about the machine name. */
  object: { kind: string; namespace: string; name: string };
}

/** Returns the first of these nodes that does not exist, or that no NodePool or several select; undefined if none. */
export type FindStray = (nodes: readonly string[]) => Promise<string | undefined>;

/** Makes a controller that misses a change reconcile; one object serves one wait. */
export interface Waker {
  /** Returns the time (epoch ms) of the next read, if the controller may have missed a change; otherwise Infinity. */
  lookBy(members: readonly Member[]): number;
  /** Makes the controller reconcile if it missed a change at this read and at the previous one; `now` is epoch ms. */
  wake(seen: Observation, now: number): Promise<void>;
}

/** Watches the objects that show whether a template is observed, so that no request to the API server is needed. */
interface TemplateWatch {
  /** Begins to watch, so that the first change after an idle period needs no more requests than later changes. */
  begin(): void;
  /** Returns whether the controller has certainly not observed the desired state; false if that is unknown. */
  isSurelyUnsettled(pool: PoolRef): boolean;
}

// All pools of a backend, as the controller process follows them.

export interface WatchDeps extends ProfilePlace {
  /** Called at the start with the key of each pool, and later with the key of each pool that may have changed. */
  onChange: (key: string) => void;
  /** Whether a cloud is configured, so that machines of scaling groups can be repaired. */
  hasCloud: boolean;
  log: Pick<Logger, "warn">;
  /** Ends the watches when it aborts. */
  signal: AbortSignal;
}

/** All pools of a backend, kept up to date by watches; the key of a pool is "namespace/name" of its Rollout. */
export interface PoolSource {
  keys(): string[];
  /** Returns a pool by its key; undefined for a pool that Ostler does not manage. */
  find(key: string): PoolFacts | undefined;
  /** Begins the watches; resolves after their first complete lists. */
  start(): Promise<void>;
}

/** The pools of all backends. */
export interface AllPools extends PoolSource {
  /** Kinds of pools whose objects could not be listed yet, for example because a CRD or permission is missing. */
  missing(): PoolKind[];
}

/** A pool as the objects of its backend show it. */
export interface PoolFacts {
  pool: PoolRef;
  generation: number;
  /** Whether the pool's controller has observed `generation`, or the pool is being deleted. */
  isNumbered: boolean;
  /** A text that changes with anything that a rollout depends on. */
  observed: string;
  /** Labels by which policies select the pool. */
  labels: Record<string, string> | undefined;
  /**
   * Returns a hash of the pool's unhealthy nodes and of the conditions (Ready, or one of `conditions`) because of which
   * they are unhealthy; "" if all are healthy.
   */
  illness(conditions: readonly IllCondition[]): string;
}

/** A condition of an unhealthy node. */
export interface IllCondition {
  type: string;
  status: string;
}

// Machines of nodes, whichever backend made them.

/** A machine whose node may be about to register. */
export interface Newcomer {
  /** The pool that the machine names, and the UID of that pool's object; missing for a machine without a pool. */
  pool?: PoolRef;
  poolUid?: string;
  phase: MemberPhase;
  /** Whether Ostler or another controller holds the machine. */
  isHeld: boolean;
}

/** A machine whose pool creates another machine once this machine is deleted. */
export interface Remade extends MemberRef {
  uid: string;
  /** Whether the machine is already being deleted. */
  leaving: boolean;
}

/** Finds and replaces the machine of a node. */
export interface Makers {
  /** Returns the machine of a node if its pool replaces deleted machines; otherwise undefined. Writes nothing. */
  find(node: { name: string; uid: string }): Promise<Remade | undefined>;
  /** Deletes the machine so that its pool creates another. */
  replace: Orders["replace"];
}

// Nodes that are updated in place.

/** Runs an order for the OS on the node that the order names; returns an outcome even if the node does not answer. */
export type GiveOrder = (order: OsOrder) => Promise<OsOutcome>;

/** A client of the FleetLock protocol, as it names itself. */
export interface LockClient {
  id: string;
  group: string;
}

/** The reason why a client gets no lock: a stable kind, and a sentence. */
export interface LockRefusal {
  kind: "unknown_client" | "wrong_group";
  message: string;
}

/** Locks that nodes which update themselves request before they reboot. */
export interface RebootLocks {
  /** Requests the lock for a client's node and returns the node's name; a repeated request changes nothing. */
  request(client: LockClient): Promise<{ node: string } | LockRefusal>;
  /** Releases the lock of a client's node. */
  release(client: LockClient): Promise<{ node: string } | LockRefusal>;
  /**
   * Returns the state of a node's lock. Reads the Node, unless an up-to-date watch shows a request that is not granted.
   */
  stateOf(node: string): Promise<"Granted" | "Requested" | "Missing">;
}
