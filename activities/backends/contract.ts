/**
 * What a rollout asks of whoever makes and removes the machines of a pool. One implementation for each kind of pool, chosen
 * in `registry.ts`; nobody else knows whose annotation does what.
 *
 * All verbs keep these promises:
 * - A verb may run twice, or be killed at any request and run again, and leaves the same world; who is absent is done with.
 * - Nothing is ordered twice. What is ordered here has a name of its own (a machine, a template, a mark); a backend whose
 *   orders have none carries a token, written down before the order goes out, and finds its order again by it.
 * - The world is seen late: an answer may be older than what was just done. Nobody concludes from one look that something
 *   failed, and counts of the maker are told as counts (`counted`), not as truth.
 * - Outcomes are closed, and thrown as `failures.ts` sorts them: not found is Moot ("MachineGone", "GenerationStale");
 *   throttled and out of reach are Transient ("ApiUnavailable"); refused is Refused, with the reason. No capacity is no
 *   failure of a verb but a state of the machine (`trouble`), as only time or a person mends it.
 * - What a backend does otherwise is declared as a field of it (`boots`, `lookEvery`), never found out by a stub that throws.
 * - Only what is ours is taken back: a hold, a mark or a cordon of somebody else stays.
 */
import type {
  Desired,
  EtcdStanding,
  Keeping,
  Member,
  MemberPhase,
  PoolRef,
  Published,
  Relieved,
  RelieveOrder,
  TemplateStamp,
} from "../../workflows/contracts/mod.ts";
import type { ConfigSource } from "../config/read_profile.ts";
import type { News } from "../kube/polling.ts";
import type { Resource, RolloutObject } from "../kube/resources.ts";
import type { Subject } from "../status/events.ts";

/** One machine of a pool, by the name that the planner has for it. */
export interface MemberRef {
  pool: PoolRef;
  machine: string;
}

/** A new machine to admit, and the machine that it replaces. */
export type AdmitOrder = MemberRef & { victim?: string };

/** One that is to go; what is in doubt about one that is lost keeps nobody from letting it go. */
export type RelieveMember = MemberRef & Omit<RelieveOrder, "until">;

/** The revision to boot, by the name that people use for it. */
export interface BootOrder {
  pool: PoolRef;
  revision: string;
}

/** Where a maker keeps itself what machines boot with. */
export interface Boots {
  /** Sets the group to boot the desired revision. */
  publish(order: BootOrder): Promise<Published>;
  /** Removes the finalizer of the object of a pool whose machines are released. */
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
  /** The labels that policies select the pool by. */
  labels: Record<string, string>;
  /** The objects that its config is rendered from; absent for a backend with `boots`. */
  source?: Omit<ConfigSource, "since">;
  /** It is certain that the pool never had a machine. */
  isUnused?: true;
}

/** Where profiles are that are named without a namespace. */
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
  /** Without what only their nodes tell: zone, illness, and whether one that joined is Ready now. */
  members: Member[];
  /** The template that is wanted now; "" while the maker has not seen it. */
  templateHash: string;
  /** Machines that serve as the maker counts them, by template hash; it may be late. */
  counted: ReadonlyMap<string, number>;
  /** Where its machines are members of etcd. */
  etcd?: EtcdStanding;
}

/** How far one machine has come. */
export interface MachineState {
  name: string;
  /** The machine is being deleted. */
  leaving: boolean;
  /** An instance was ordered for it. */
  ordered: boolean;
  /** The failure that machine-controller or the cloud reports, such as no capacity. */
  trouble?: string;
  /** Nothing will come of it: nobody has to wait for its deadline. */
  failed?: true;
  addresses: string[];
  /** Its node, once it has registered. */
  node?: string;
  /** machine-controller or the group has once observed that node as Ready. */
  joined: boolean;
  /** What it lacks to have joined though its node is Ready, in words. */
  lacks?: string;
  image: string;
  /** What has to be done before it is gone. */
  finalizers: string[];
  /** The object that Events about it name. */
  object: { kind: string; namespace: string; name: string };
}

/** A machine that may be about to become a node. */
export interface Newcomer {
  /** Whose it says that it is, and the UID of what it means by that; missing where it is of no pool. */
  pool?: PoolRef;
  poolUid?: string;
  phase: MemberPhase;
  /** Ostler or another controller holds the machine. */
  isHeld: boolean;
}

/** A machine in whose place another one comes once it is deleted, and the pool that sees to that. */
export interface Remade extends MemberRef {
  uid: string;
  /** It was deleted already. */
  leaving: boolean;
}

/** A rollback order. */
export interface RestoreOrder {
  pool: PoolRef;
  by: string;
  reason: string;
}

/** Slim watches that tell whose node one is: machines that have joined, and the sets through which pools own them. */
export interface NodeOwners {
  machines: Resource<JoinedMachine>;
  sets: Resource<OwnedSet>;
}

/** Its set and node; nothing of a machine that has not joined yet or is on its way out, which a rollout looks after. */
export interface JoinedMachine {
  set?: string;
  node?: string;
}

/** The pool, as "namespace/name". */
export interface OwnedSet {
  pool?: string;
}

/** Wakes a maker that has not noticed what it has to act on, during one wait. */
export interface Waker {
  /** Epoch ms at which to look again on its account; Infinity while it is up to date. */
  lookBy(members: readonly Member[]): number;
  /** Wakes it where it was late at the look before, too; `now` is epoch ms. Harmless when it was about to notice. */
  wake(seen: Observation, now: number): Promise<void>;
}

/** What a pool's machines are made and removed by. */
export interface Backend {
  /** Name of the machine controller or cloud group in messages to people. */
  readonly maker: string;
  /** Undefined where a config and secrets are published for its machines. */
  readonly boots: Boots | undefined;
  /** Milliseconds after which a wait looks again where something happens of which there is no news; undefined where all is told. */
  readonly lookEvery: (() => number) | undefined;

  /** The object that Rollout and Events of a pool are about; undefined when it is gone. Writes nothing. */
  subject(pool: PoolRef): Promise<Subject | undefined>;

  /** Reads what is asked for. Writes nothing. A pool that is gone is an answer. */
  wanted(pool: PoolRef, question: WantedQuestion): Promise<Wanted>;
  /** What is watched tells that the maker has not taken up what is asked for; false where nobody knows. Asks for nothing. */
  isSurelyUnsettled(pool: PoolRef): boolean;
  /** Reads all members: those that the pool owns, whatever labels others bear. Writes nothing. Moot when the pool is gone. */
  observe(pool: PoolRef): Promise<Observation>;
  /** Reads one machine as the planner would see it, member or not; undefined when it is gone. Writes nothing. */
  member(member: MemberRef): Promise<Member | undefined>;
  /** Reads how far one machine has come, member or not; undefined when it is gone. Writes nothing. */
  state(member: MemberRef): Promise<MachineState | undefined>;

  /** Lets a held new machine boot. Moot when the machine is gone; does nothing when Ostler does not hold it. */
  admit(order: AdmitOrder): Promise<void>;
  /** Does what is to be done for one whose node is Ready before it counts as joined, and tells what it lacks still, in words. One that is gone is done. */
  welcome(member: MemberRef): Promise<string | void>;
  /** Has the maker take this machine next, and wait for us before it acts. Moot when it is gone. */
  choose(member: MemberRef): Promise<void>;
  /**
   * Takes back what was done to a machine that stays: mark, hold, and the cordon of its node. One that already leaves
   * cannot be kept for ever but runs as long as it is held: it stays held, unless `release` leaves it to the maker, which
   * drains it by its own rules. One that is gone is done.
   */
  spare(member: MemberRef & { release?: boolean }): Promise<void>;
  /** Has one that is to go hand on what only it has, or tells why that is not to be done now; undefined where none has anything. */
  readonly relieve: ((order: RelieveMember) => Promise<Relieved>) | undefined;
  /** Releases a chosen machine that leaves and was drained, without a second drain of `node`. One that is gone is done. */
  release(member: MemberRef & { node?: string }): Promise<void>;
  /** Removes a machine, held or not, so that the maker makes another; with `drain` the maker moves its pods first. One that is gone is done. */
  replace(member: MemberRef & { node?: string; drain?: boolean }): Promise<void>;
  /** Sees one off that was released or replaced: tells its maker again, and gives what is left of it; undefined when it is gone. */
  seeOff(member: MemberRef): Promise<MachineState | undefined>;
  /** Takes back everything from all machines of a pool that is being deleted, whoever owns them by now. A pool that is gone is done. */
  releaseAll(pool: PoolRef): Promise<void>;

  /** Makes the last good template and profile what is wanted; whether there was anything to do. Refused as "LastGoodMissing". */
  restore(order: RestoreOrder, place: ProfilePlace): Promise<{ changed: boolean }>;
  /** Makes a change of the config one of the template, so that machines are replaced; once for one order. */
  stamp(stamp: TemplateStamp): Promise<void>;

  /** Has another image in the template replace no machine; undefined where no image is of a template. Safe to run twice. */
  readonly keep: ((pool: PoolRef) => Promise<Keeping>) | undefined;

  /** Begins to watch what every change asks about, so that none pays for it. Where nothing streams there is nothing to do. */
  beginToWatch(): void;
  /** Reports changes of the desired state, and of whether the backend has observed it. */
  newsOfWanted(pool: PoolRef): News;
  /** Reports changes of a pool, its machines, and the nodes named by `nodes()`. */
  newsOfPool(pool: PoolRef, nodes: () => ReadonlySet<string>): News;
  /** Reports changes of some machines of a pool, and of the nodes named by `nodes()`, if given. */
  newsOfMachines(machines: { pool: PoolRef; names: readonly string[] }, nodes?: () => ReadonlySet<string>): News;
  /** What wakes the maker while somebody waits for it, from `now` on (epoch ms). */
  waker(pool: PoolRef, now: number): Waker;
}
