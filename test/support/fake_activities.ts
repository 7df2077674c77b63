/** The activities of a rollout over pools in memory: each finds its pool by the input, records the call, and acts. */
import { Context } from "@temporalio/activity";
import { orderFirst } from "../../activities/pool/stages.ts";
import { snapshotOf, withEtcd } from "../../activities/pool/snapshot.ts";
import type {
  AdmissionOutcome,
  AutoscalerActivities,
  AutoscalerOutcome,
  AwaitActivities,
  ClusterObject,
  DuePool,
  FailureType,
  ImageActivities,
  JoiningActivities,
  JoiningOutcome,
  NodeUpdateActivities,
  NoticeActivities,
  NoticeTarget,
  PoolQuestion,
  PoolRef,
  PoolSnapshot,
  PublishActivities,
  PublishedPool,
  ReadActivities,
  Relieved,
  RelieveOrder,
  RenewalActivities,
  RenewalWaits,
  Unseen,
  UpgradeActivities,
  UpgradeWaits,
  WriteActivities,
} from "../../workflows/contracts/mod.ts";
import type { Activities as RealActivities } from "../../activities/mod.ts";
import { FakeVersions } from "./fake_versions.ts";
import { admit, cleanUp, cordon, mark, release, remove, spare } from "./fake_changes.ts";
import {
  desiredOf,
  keepMachines,
  planOf,
  publish,
  renewAtRest,
  renewStanding,
  restoreLastGood,
  stampTemplate,
} from "./fake_desired.ts";
import { drain, endJudgement, judge } from "./fake_drain.ts";
import { failure } from "./fake_failure.ts";
import { climb } from "./fake_ladder.ts";
import type { FakeMachine, FakePool } from "./fake_pool.ts";
import { recall, writeReport } from "./fake_rollout.ts";
import { FakeImages } from "./fake_images.ts";
import { FakeSlots } from "./fake_slots.ts";

export { failure };

export type Activities =
  & ReadActivities
  & PublishActivities
  & WriteActivities
  & AwaitActivities
  & NoticeActivities
  & JoiningActivities
  & AutoscalerActivities
  & NodeUpdateActivities
  & UpgradeActivities
  & UpgradeWaits
  & RenewalActivities
  & RenewalWaits
  & ImageActivities;

interface OnMachine {
  pool: PoolRef;
  machine: string;
}

/** Activities over all pools of a test file. */
export class FakeActivities {
  readonly #pools: FakePool[] = [];
  readonly slots = new FakeSlots();
  readonly images = new FakeImages();
  /** Number of pools that one call of `listDuePools` considers; it returns the due ones among them. */
  pageSize = 50;
  /** Whether `listDuePools` also returns, for each converged pool, the state that its last rollout ended with. */
  tellsRest = false;

  /** The pool that was created last. */
  get last(): FakePool | undefined {
    return this.#pools.at(-1);
  }

  add(pool: FakePool): FakePool {
    this.#pools.push(pool);
    return pool;
  }

  /**
   * Every attempt to deliver a notification, as "target id"; `noticeFate` returns the error with which an attempt
   * fails.
   */
  readonly notices: string[] = [];
  noticeFate: (asked: readonly string[], target: NoticeTarget) => Error | undefined = () => undefined;

  /**
   * The results of the reads of each JoiningNode, by name, in order; without a further result the JoiningNode counts as
   * deleted.
   */
  readonly joining = new Map<string, JoiningOutcome[]>();

  /** The results of the reads of each AutoscalingStrategy, by name; `whileKept` runs during a read. */
  readonly autoscalers = new Map<string, AutoscalerOutcome[]>();
  whileKept: (name: string) => Promise<void> = () => Promise.resolve();

  readonly versions = new FakeVersions();

  /** Activities for upgrades of Kubernetes, by the name of the NodeVersion. */
  readonly upgrades = new Map<string, UpgradeActivities & UpgradeWaits>();

  /** Activities for renewals of certificates, by the name of the NodeVersion. */
  readonly renewals = new Map<string, RenewalActivities & RenewalWaits>();

  /** Real activities that replace the fake ones for a pool, by the name of its Rollout. */
  readonly others = new Map<string, RealActivities>();
  /** Real activities that replace the fake ones for a cluster, by its name. */
  readonly clusters = new Map<string, RealActivities>();
  /** Descriptions of the activities that have not ended. */
  readonly running = new Map<symbol, string>();

  /** Returns the activities that a worker registers. */
  all(): Activities {
    return this.#ofClusters(this.#ofPools());
  }

  /** Returns steps that call a cluster's own activities, if it has any, and otherwise the given ones. */
  #ofClusters<Steps extends object>(steps: Steps): Steps {
    type Input = { pool?: PoolRef; object?: ClusterObject } | undefined;
    type Step = (input: Input) => Promise<unknown>;
    const routed = Object.entries(steps as Record<string, Step>).map((
      [name, step],
    ): [string, Step] => [name, (input) => {
      const cluster = input?.pool?.cluster ?? input?.object?.cluster ?? "";
      const real = this.clusters.get(cluster);
      const work = real ? (real[name as keyof RealActivities] as Step)(input) : step(input);
      return this.#counted(`${name} of ${cluster || (input?.pool?.name ?? input?.object?.name ?? "no pool")}`, work);
    }]);
    return Object.fromEntries(routed) as Steps;
  }

  async #counted<T>(what: string, work: Promise<T>): Promise<T> {
    const key = Symbol(what);
    this.running.set(key, what);
    try {
      return await work;
    } finally {
      this.running.delete(key);
    }
  }

  #ofPools(): Activities {
    const deliverNotice: NoticeActivities["deliverNotice"] = async ({ notice, target }) => {
      await Promise.resolve();
      this.notices.push(`${target} ${notice.id}`);
      const fault = this.noticeFate(this.notices, target);
      if (fault) throw fault;
    };
    const ensureNodeAnnotated: JoiningActivities["ensureNodeAnnotated"] = ({ object }) => {
      return Promise.resolve(this.joining.get(object.name)?.shift() ?? { outcome: "Gone" });
    };
    const steps = { ...this.#read(), ...this.#publish(), ...this.#write(), ...this.#await() };
    const ensureAutoscalerKept: AutoscalerActivities["ensureAutoscalerKept"] = async ({ object }) => {
      await this.whileKept(object.name);
      return this.autoscalers.get(object.name)?.shift() ?? { outcome: "Gone" };
    };
    return {
      ...this.#routed(steps),
      ...this.#updates(),
      ...this.#kubernetes(),
      ...this.#certificates(),
      ...this.versions.all(),
      ...this.images.all(),
      ...{ deliverNotice, ensureNodeAnnotated, ensureAutoscalerKept },
    };
  }

  /** Returns steps that call a pool's own activities, if it has any, and otherwise the given ones. */
  #routed<Steps extends object>(steps: Steps): Steps {
    type Step = (input: { pool?: PoolRef }) => Promise<unknown>;
    const routed = Object.entries(steps as Record<string, Step>).map((
      [name, step],
    ): [string, Step] => [name, (input) => {
      const other = this.others.get(input.pool?.name ?? "");
      return other ? (other[name as keyof RealActivities] as Step)(input) : step(input);
    }]);
    return Object.fromEntries(routed) as Steps;
  }

  #updates(): NodeUpdateActivities {
    const of = ({ pool }: { pool: PoolRef }): RealActivities => {
      const other = this.others.get(pool.name);
      if (!other) throw new TypeError(`Failed to update a machine of "${pool.name}": nothing serves that pool`);
      return other;
    };
    return {
      awaitImageStaged: (input) => of(input).awaitImageStaged(input),
      awaitBootOrdered: (input) => of(input).awaitBootOrdered(input),
      awaitNodeBooted: (input) => of(input).awaitNodeBooted(input),
      ensureImageFailed: (input) => of(input).ensureImageFailed(input),
      readMaker: (input) => of(input).readMaker(input),
      ensureNodeReplaced: (input) => of(input).ensureNodeReplaced(input),
      awaitNodeGone: (input) => of(input).awaitNodeGone(input),
    };
  }

  #kubernetes(): UpgradeActivities & UpgradeWaits {
    const of = ({ object: { name } }: { object: ClusterObject }): UpgradeActivities & UpgradeWaits => {
      const steps = this.upgrades.get(name);
      if (!steps) throw new TypeError(`Failed to upgrade NodeVersion "${name}": nothing serves it`);
      return steps;
    };
    return {
      surveyUpgrade: (input) => of(input).surveyUpgrade(input),
      checkUpgrade: (input) => of(input).checkUpgrade(input),
      ensureControlPlaneAnnounced: (input) => of(input).ensureControlPlaneAnnounced(input),
      ensureControlPlaneUncordoned: (input) => of(input).ensureControlPlaneUncordoned(input),
      ensureUpgradeEnded: (input) => of(input).ensureUpgradeEnded(input),
      ensureUpgradeReported: (input) => of(input).ensureUpgradeReported(input),
      awaitUpgradeOrdered: (input) => of(input).awaitUpgradeOrdered(input),
      awaitControlPlaneHealthy: (input) => of(input).awaitControlPlaneHealthy(input),
      awaitUpgradeChanged: (input) => of(input).awaitUpgradeChanged(input),
    };
  }

  #certificates(): RenewalActivities & RenewalWaits {
    const of = ({ object: { name } }: { object: ClusterObject }): RenewalActivities & RenewalWaits => {
      const steps = this.renewals.get(name);
      if (!steps) throw new TypeError(`Failed to renew certificates of NodeVersion "${name}": nothing serves it`);
      return steps;
    };
    return {
      surveyRenewal: (input) => of(input).surveyRenewal(input),
      ensureCertificatesRead: (input) => of(input).ensureCertificatesRead(input),
      ensureRenewalReported: (input) => of(input).ensureRenewalReported(input),
      awaitRenewalOrdered: (input) => of(input).awaitRenewalOrdered(input),
      awaitCertificatesRenewed: (input) => of(input).awaitCertificatesRenewed(input),
    };
  }

  #read(): ReadActivities {
    return {
      readDesired: (input) => this.#on("readDesired", input, desiredOf),
      readPool: (input) => this.#on("readPool", input, lookAt),
      readRound: async (input) => {
        const seen = await this.all().readDesired(input);
        const isSame = seen.state === "Present" && seen.desired.templateHash === input.templateHash;
        return { seen, pool: isSame && seen.desired.settled ? await this.all().readPool(input) : null };
      },
      recall: (input) => this.#on("recall", input, recall),
      planRollout: (input) => this.#on("planRollout", input, planOf),
      listDuePools: ({ after = "0" }) => Promise.resolve(this.#listDue(Number(after))),
    };
  }

  #listDue(start: number): { pools: DuePool[]; next?: string } {
    const end = start + this.pageSize;
    const page = this.#pools.slice(start, end).filter(({ renewAt }) => renewAt <= Date.now());
    const pools = page.map((pool) => ({
      ...pool.ref,
      publishOnly: pool.reports.at(-1)?.phase === "Aborted",
      ...(this.tellsRest ? restOf(pool) : {}),
    }));
    return { pools, ...(end < this.#pools.length ? { next: String(end) } : {}) };
  }

  /** Publishes step by step, as the real activity does, so that a test can make any of the steps fail. */
  async #publishDesired({ pool, revision }: { pool: PoolRef; revision?: string }): Promise<PublishedPool> {
    const earlier = await this.#on("recall", { pool }, recall);
    const seen = await this.#on("readDesired", { pool }, desiredOf);
    const desired = seen.state === "Present" && seen.desired.settled ? seen.desired : undefined;
    if (revision !== undefined && desired?.revision !== revision) {
      throw failure("GenerationStale", `Cannot publish revision ${revision}: another one is desired`);
    }
    if (!desired) return { seen, earlier, published: null, pool: null };
    const published = await this.#on("publishConfig", { pool, revision: desired.revision }, publish);
    return { seen, earlier, published, pool: null };
  }

  #publish(): PublishActivities {
    return {
      publishDesired: (input) => this.#publishDesired(input),
      ensureCredentialsRenewed: (input) => this.#on("ensureCredentialsRenewed", input, renewStanding),
      ensureRestRenewed: (input) => this.#on("ensureRestRenewed", input, renewAtRest),
      ensureRolloutReported: (input) =>
        this.#on("ensureRolloutReported", input, (pool) => {
          if (pool.state !== "Gone") writeReport(pool, input);
        }),
    };
  }

  #write(): WriteActivities {
    return {
      ensureVictimMarked: (input) => this.#change("ensureVictimMarked", input, mark),
      ensureVictimUnmarked: (input) => this.#change("ensureVictimUnmarked", input, spare),
      ensureMachineAdmitted: (input) => this.#admit(input),
      deleteMachine: (input) => this.#change("deleteMachine", input, remove),
      ensureLastGoodRestored: (input) => this.#on("ensureLastGoodRestored", input, restoreLastGood),
      ensureTemplateStamped: (input) => this.#on("ensureTemplateStamped", input, stampTemplate),
      ensureMachinesKept: (input) => this.#on("ensureMachinesKept", input, keepMachines),
      ensureSlotTaken: (input) => this.#on("ensureSlotTaken", input, () => this.slots.take(input)),
      ensureSlotsKept: (input) => this.#on("ensureSlotsKept", input, () => this.slots.keep(input)),
      ensurePoolCleanedUp: (input) => this.#on("ensurePoolCleanedUp", input, cleanUp),
    };
  }

  async #admit(input: OnMachine & { anyAge?: true }): Promise<AdmissionOutcome> {
    let outcome = undefined as AdmissionOutcome;
    await this.#change("ensureMachineAdmitted", input, (pool, machine, given) => {
      const isOld = !given.anyAge && machine !== undefined && machine.hold !== "" &&
        pool.isHeldTooLong(machine.created);
      if (isOld) outcome = "Recreated";
      (isOld ? remove : admit)(pool, machine, {});
    });
    return outcome;
  }

  // Splits each activity that first writes and then waits into one call per write and one for the wait, so that the log
  // of a failed test shows every call.
  #stages(): Pick<AwaitActivities, "awaitReplacementJoined" | "awaitNodeEmptied" | "awaitVictimGone"> {
    const { ensureVictimMarked, ensureMachineAdmitted } = this.#write();
    return {
      awaitReplacementJoined: async ({ pool, kubelet, victim, machine, deadlines, ...age }) => {
        let admitted = undefined as AdmissionOutcome;
        const late = await orderFirst(async () => {
          await ensureVictimMarked({ pool, machine: victim });
          admitted = await ensureMachineAdmitted({ pool, machine, ...age });
        });
        if (admitted === "Recreated") return { joined: [], failed: [], gone: [machine], isRecreated: true };
        return late ??
          await this.#await().awaitMachinesJoined({ pool, kubelet, machines: [{ machine, deadlines }] });
      },
      awaitNodeEmptied: async (input) => {
        const late = await orderFirst(() => this.#change("ensureNodeCordoned", input, cordon));
        return late ?? await this.#await().awaitNodeDrained(input);
      },
      awaitVictimGone: async (input) => {
        const late = await orderFirst(() => this.#change("ensureVictimReleased", input, release));
        if (!late) await this.#await().awaitMachineGone(input);
        return late;
      },
    };
  }

  #await(): AwaitActivities {
    return {
      ...this.#stages(),
      awaitDesiredSettled: (input) =>
        this.#until("awaitDesiredSettled", { ...input, late: "SettleExpired" }, (pool) => {
          const seen = desiredOf(pool);
          return seen.state !== "Present" || seen.desired.settled ? seen : undefined;
        }),
      awaitPoolChanged: (input) =>
        this.#until("awaitPoolChanged", input, (pool) => {
          const isNews = lookAt(pool, input).fingerprint !== input.fingerprint;
          return isNews || isOver(input) ? isNews : undefined;
        }),
      awaitMachinesJoined: ({ pool: ref, machines, kubelet }) => {
        const machine = machines.map((each) => each.machine).join(" ");
        return this.#until(
          "awaitMachinesJoined",
          { pool: ref, machine },
          (pool) => this.#unseen(pool) ?? climb(pool, machines, kubelet),
        );
      },
      awaitNodeDrained: (input) => {
        this.#poolOf(input.pool).drains.push(input.rules);
        return this.#until(
          "awaitNodeDrained",
          { ...input, machine: input.node },
          (pool) => this.#unseen(pool) ?? drain(pool, input),
        );
      },
      awaitGates: (input) =>
        this.#until("awaitGates", input, (pool) => judge(pool, input))
          .finally(() => endJudgement(this.#poolOf(input.pool), input.machine)),
      awaitMachineRelieved: (input) =>
        this.#until("awaitMachineRelieved", input, (pool): Relieved | undefined => relieve(pool, input)),
      awaitMachineGone: (input) =>
        this.#until(
          "awaitMachineGone",
          { ...input, late: "MachineRemains" },
          (pool) => pool.find(input.machine) ? undefined : null,
        ).then(() => undefined),
    };
  }

  #unseen(pool: FakePool): Unseen | undefined {
    const unseenMs = pool.unseen.shift();
    return unseenMs === undefined ? undefined : { unseenMs };
  }

  async #on<Input extends { pool: PoolRef }, T>(
    name: string,
    input: Input,
    act: (pool: FakePool, input: Input) => T,
  ): Promise<T> {
    const pool = this.#poolOf(input.pool);
    const subject = "machine" in input && input.machine !== undefined ? ` ${String(input.machine)}` : "";
    pool.calls.push(name + subject);
    await pool.before[name]?.(pool.count(name));
    const done = act(pool, input);
    await pool.after[name]?.();
    return done;
  }

  #change<Input extends OnMachine>(
    name: string,
    input: Input,
    act: (pool: FakePool, machine: FakeMachine | undefined, input: Input) => void,
  ): Promise<void> {
    return this.#on(name, input, (pool) => {
      act(pool, pool.find(input.machine), input);
      pool.touch();
    });
  }

  /**
   * Calls `look` after every change of the pool until it returns an answer, the activity is cancelled, or the deadline
   * has passed.
   */
  async #until<T>(
    name: string,
    input: { pool: PoolRef; machine?: string; until?: number; late?: FailureType },
    look: (pool: FakePool) => T | undefined,
  ): Promise<T> {
    const pool = await this.#on(name, input, (found) => found);
    const context = Context.current();
    context.heartbeat(name);
    const pulse = setInterval(() => context.heartbeat(name), 50);
    try {
      for (;;) {
        const change = pool.nextChange;
        const seen = look(pool);
        if (seen !== undefined) return seen;
        if (input.late && isOver(input)) {
          throw failure(input.late, `Failed to finish "${name}": its deadline has passed`);
        }
        await Promise.race([change, tick(), context.cancelled]);
      }
    } finally {
      clearInterval(pulse);
    }
  }

  #poolOf(ref: PoolRef): FakePool {
    const found = this.#pools.find((pool) => pool.ref.name === ref.name && pool.ref.namespace === ref.namespace);
    if (!found) throw failure("GenerationStale", `Failed to find pool "${ref.name}": no test made it`);
    return found;
  }
}

function restOf({ reports, rollout: { observed, lastGood } }: FakePool): Pick<DuePool, "rest"> {
  const { phase = "Converged" } = reports.at(-1) ?? {};
  if (phase !== "Converged" || !observed || !lastGood) return {};
  return { rest: { observed, specHash: lastGood.specHash } };
}

function lookAt(pool: FakePool, question: PoolQuestion): PoolSnapshot {
  return withEtcd(snapshotOf(pool.members(question.repair), question), pool.etcd);
}

function isOver({ until = Infinity }: { until?: number }): boolean {
  return Date.now() >= until;
}

/** Waits for the interval at which deadlines are checked; the pool itself reports all other changes. */
function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}

function relieve(
  { etcd, snapshot }: FakePool,
  { machine, isLost, taken, until }: RelieveOrder,
): Relieved | undefined {
  const doubts = (etcd?.doubts ?? []).filter((doubt) => !(isLost && doubt.machine === machine))
    .map(({ says }) => says).filter((says) => !taken.includes(says));
  if (doubts.length === 0) return { state: "Relieved", snapshot };
  return Date.now() >= until ? { state: "InDoubt", doubts } : undefined;
}
