/** The activities of a rollout over pools in memory: each finds its pool by the input, notes the call, and acts. */
import { Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import { Buffer } from "node:buffer";
import { snapshotOf } from "../../activities/pool/read_pool.ts";
import type {
  AwaitActivities,
  DesiredState,
  DuePool,
  FailureType,
  PoolRef,
  PublishActivities,
  ReadActivities,
  WriteActivities,
} from "../../workflows/contracts.ts";
import { climb } from "./fake_ladder.ts";
import { hashOf, nodeOf } from "./fake_pool.ts";
import type { FakeMachine, FakePool } from "./fake_pool.ts";

export type Activities = ReadActivities & PublishActivities & WriteActivities & AwaitActivities;

/** A failure as an activity makes it when it gave up for good, so that no retry slows a test. */
export function failure(type: FailureType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** Activities over all pools of a test file. */
export class FakeActivities {
  readonly #pools: FakePool[] = [];
  /** Due pools that are listed at once. */
  pageSize = 50;

  /** The pool that was made last. */
  get last(): FakePool | undefined {
    return this.#pools.at(-1);
  }

  add(pool: FakePool): FakePool {
    this.#pools.push(pool);
    return pool;
  }

  /** What a worker registers. */
  all(): Activities {
    return {
      readDesired: (input) => this.#on("readDesired", input, (pool) => desiredOf(pool)),
      listDuePools: ({ after = "0" }) => Promise.resolve(this.#listDue(Number(after))),
      readPool: ({ pool: ref, templateHash }) =>
        this.#on("readPool", { pool: ref }, (pool) => snapshotOf(pool.members(), templateHash)),
      ...this.#publish(),
      ...this.#write(),
      ...this.#await(),
    };
  }

  #listDue(start: number): { pools: DuePool[]; next?: string } {
    const end = start + this.pageSize;
    const page = this.#pools.slice(start, end).filter(({ renewAt }) => renewAt <= Date.now());
    const pools = page.map(({ ref, reports }) => ({ ...ref, publishOnly: reports.at(-1)?.phase === "Aborted" }));
    return { pools, ...(end < this.#pools.length ? { next: String(end) } : {}) };
  }

  #publish(): PublishActivities {
    return {
      renderConfig: (input) =>
        this.#on("renderConfig", input, (pool) => {
          return { configDigest: digestOf(pool), profileVersion: `1.0.${pool.profileVersion}`, files: 9, bytes: 900 };
        }),
      publishConfig: (input) => this.#on("publishConfig", input, (pool) => publish(pool, input)),
      ensureRolloutReported: (input) =>
        this.#on("ensureRolloutReported", input, (pool) => {
          if (pool.state === "Gone") return;
          report(pool, input);
        }),
    };
  }

  #write(): WriteActivities {
    return {
      ensureVictimMarked: (input) => this.#change("ensureVictimMarked", input, mark),
      ensureVictimUnmarked: (input) =>
        this.#change("ensureVictimUnmarked", input, (_, found) => spare(found, input.letGo ?? false)),
      ensureMachineAdmitted: (input) => this.#change("ensureMachineAdmitted", input, admit),
      ensureNodeCordoned: ({ machine, node }) => {
        const pool = this.#poolOfNode(node);
        return this.#change("ensureNodeCordoned", { pool: pool.ref, machine }, (_, found) => {
          if (found) found.cordoned = true;
        });
      },
      ensureVictimReleased: (input) => this.#change("ensureVictimReleased", input, release),
      deleteMachine: (input) =>
        this.#change("deleteMachine", input, (_, found) => {
          if (found) Object.assign(found, { leaving: true, hold: "", skipsEviction: true });
        }),
      ensurePoolCleanedUp: (input) =>
        this.#on("ensurePoolCleanedUp", input, (pool) => {
          for (const machine of pool.machines) machine.hold = machine.mark = "";
          pool.published = undefined;
          pool.state = "Gone";
          pool.touch();
        }),
    };
  }

  #await(): AwaitActivities {
    return {
      awaitDesiredSettled: ({ pool: ref, until }) =>
        this.#until("awaitDesiredSettled", { pool: ref, until, late: "SettleExpired" }, (pool) => {
          const seen = desiredOf(pool);
          return seen.state !== "Present" || seen.desired.settled ? seen : undefined;
        }),
      awaitPoolChanged: ({ pool: ref, templateHash, fingerprint, until }) =>
        this.#until("awaitPoolChanged", { pool: ref, until, late: "SettleExpired" }, (pool) => {
          const seen = snapshotOf(pool.members(), templateHash);
          return seen.fingerprint === fingerprint ? undefined : seen;
        }),
      awaitMachinesJoined: ({ pool: ref, machines, kubelet }) =>
        this.#until(
          "awaitMachinesJoined",
          { pool: ref, until: Number.MAX_SAFE_INTEGER, late: "MachineGone" },
          (pool) => climb(pool, machines, kubelet),
        ),
      awaitVictimLeaving: ({ pool: ref, machine, replicas, until }) =>
        this.#until("awaitVictimLeaving", { pool: ref, machine, until, late: "VictimNotChosen" }, (pool) => {
          const found = pool.find(machine);
          const staying = pool.machines.filter((each) => each.booted && !each.leaving).length;
          return !found || found.leaving || staying <= replicas ? null : undefined;
        }).then(() => undefined),
      awaitNodeDrained: ({ node, until }) => {
        const pool = this.#poolOfNode(node);
        return this.#until("awaitNodeDrained", { pool: pool.ref, machine: node, until, late: "PodsRemaining" }, () => {
          checkDrain(pool, node);
          if (pool.isDrainBlocked) return undefined;
          for (const machine of pool.machines) if (nodeOf(machine.name) === node) machine.drained = true;
          return { evicted: 2 };
        });
      },
      awaitMachineGone: ({ pool: ref, machine, until }) =>
        this.#until(
          "awaitMachineGone",
          { pool: ref, machine, until, late: "MachineRemains" },
          (pool) => pool.find(machine) ? undefined : null,
        ).then(() => undefined),
    };
  }

  async #on<T>(name: string, { pool: ref, ...rest }: { pool: PoolRef }, act: (pool: FakePool) => T): Promise<T> {
    const pool = this.#poolOf(ref);
    const subject = "machine" in rest ? ` ${rest.machine}` : "";
    pool.calls.push(name + subject);
    await pool.before[name]?.(pool.count(name));
    return act(pool);
  }

  #change(
    name: string,
    input: { pool: PoolRef; machine: string },
    act: (pool: FakePool, machine: FakeMachine | undefined) => void,
  ): Promise<void> {
    return this.#on(name, input, (pool) => {
      act(pool, pool.find(input.machine));
      pool.touch();
    });
  }

  /** Looks at every change until there is an answer, the time has come, or the activity is cancelled. */
  async #until<T>(
    name: string,
    { until, late, ...input }: { pool: PoolRef; machine?: string; until: number; late: FailureType },
    look: (pool: FakePool) => T | undefined,
  ): Promise<T> {
    const pool = await this.#on(name, input, (found) => found);
    const context = Context.current();
    const pulse = setInterval(() => context.heartbeat(name), 50);
    try {
      for (;;) {
        const change = pool.nextChange;
        const seen = look(pool);
        if (seen !== undefined) return seen;
        if (Date.now() >= until) throw failure(late, `Cannot finish "${name}": its time has come`);
        await Promise.race([change, tick(), context.cancelled]);
      }
    } finally {
      clearInterval(pulse);
    }
  }

  #poolOf(ref: PoolRef): FakePool {
    const found = this.#pools.find((pool) => pool.ref.name === ref.name && pool.ref.namespace === ref.namespace);
    if (!found) throw failure("GenerationStale", `Cannot find pool "${ref.name}": no test made it`);
    return found;
  }

  #poolOfNode(node: string): FakePool {
    const found = this.#pools.find((pool) => node.startsWith(`${nodeOf(pool.ref.name)}-`));
    if (!found) throw failure("ObjectInvalid", `Cannot find the pool of node "${node}": no test made it`);
    return found;
  }
}

/** Deadlines are looked at this often; everything else is told by the pool. */
function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}

function desiredOf(pool: FakePool): DesiredState {
  if (pool.state !== "Present") return { state: pool.state };
  const { generation, replicas, surge, template, current, profileVersion } = pool;
  return {
    state: "Present",
    desired: {
      ...{ generation, replicas, surge, ...template },
      change: `${hashOf(template)}-${current?.revision ?? 0}-p${profileVersion}`,
      observed: `g${generation}-r${current?.revision ?? 0}-p${profileVersion}`,
      settled: current !== undefined,
      revision: String(current?.revision ?? ""),
      templateHash: hashOf(template),
      profile: { name: "osp-ubuntu", namespace: "kube-system" },
    },
  };
}

function digestOf(pool: FakePool): string {
  return Buffer.from(`${hashOf(pool.template)}/${pool.profileVersion}`).toString("hex");
}

function publish(
  pool: FakePool,
  { revision, configDigest }: { revision: string; configDigest: string },
): Awaited<ReturnType<PublishActivities["publishConfig"]>> {
  if (configDigest !== digestOf(pool) || Number(revision) !== pool.current?.revision) {
    throw failure("GenerationStale", `Cannot publish revision ${revision}: the pool has moved on`);
  }
  const isNew = pool.published?.digest !== configDigest || pool.published.revision !== Number(revision);
  const isDue = pool.renewAt <= Date.now();
  pool.published = { revision: Number(revision), digest: configDigest };
  if (isNew || isDue) pool.renewAt = Date.now() + pool.renewAfterMs;
  pool.touch();
  const [renewAt, expiresAt] = [pool.renewAt, pool.renewAt + 57_600_000].map((time) => new Date(time).toISOString());
  const news = isNew ? "Published" : isDue ? "Renewed" : "None";
  return { artefacts: [], news, renewAt: String(renewAt), expiresAt: String(expiresAt) };
}

function report(
  pool: FakePool,
  { report, events }: Parameters<PublishActivities["ensureRolloutReported"]>[0],
): void {
  const { history: entry, message } = report;
  const isNews = entry && (entry.machines > 0 || pool.history.at(-1)?.configDigest !== entry.configDigest);
  if (isNews) pool.history.push(entry);
  pool.reports.push(report);
  pool.events.push(...events, ...(isNews ? [{ type: "Normal", reason: "RolloutConverged", message } as const] : []));
  pool.convergedHash = report.convergedTemplateHash ?? pool.convergedHash;
}

function mark(pool: FakePool, machine: FakeMachine | undefined): void {
  if (!machine) throw failure("MachineGone", "Cannot choose the machine: it is gone");
  machine.mark = machine.hold = pool.holder;
}

// A machine that is leaving stays held: without the hold it would go before anybody said that it may.
function spare(machine: FakeMachine | undefined, letGo: boolean): void {
  if (machine && (letGo || !machine.leaving)) machine.mark = machine.hold = "";
}

function admit(pool: FakePool, machine: FakeMachine | undefined): void {
  if (!machine) throw failure("MachineGone", "Cannot admit the machine: it is gone");
  if (pool.published?.revision !== machine.set.revision) {
    pool.violations.push(`${machine.name} was admitted before its secrets`);
  }
  machine.hold = "";
}

function release(pool: FakePool, machine: FakeMachine | undefined): void {
  if (!machine) return;
  if (machine.ready && !machine.drained) pool.violations.push(`${machine.name} was let go undrained`);
  Object.assign(machine, { hold: "", skipsEviction: true });
}

function checkDrain(pool: FakePool, node: string): void {
  const others = pool.machines.filter((machine) =>
    machine.ready && !machine.isNodeDown && !machine.leaving && nodeOf(machine.name) !== node
  );
  if (pool.surge > 0 && others.length < pool.replicas) {
    pool.violations.push(`${node} was drained with ${others.length} others Ready`);
  }
}
