/** All clusters of one Temporal, each as somebody looks at it who has none of their kubeconfigs. */
import type { Progress } from "../../workflows/contracts/mod.ts";
import type { Server } from "../connect/server.ts";
import { eachBounded, type Reply, replyOf } from "./bounded_work.ts";
import { countByPhase, listOpenRuns, mostListed, type OpenRun } from "./open_runs.ts";
import { listNames, type Place, placeless, readPlace } from "./places.ts";
import { type Polling, readPolling } from "./pollers.ts";
import { stateOf } from "./run_state.ts";
import { valueOf } from "./wire.ts";

/** Clusters looked at side by side, and how long one may take, in milliseconds. */
const [atOnce, placeMs] = [8, 10_000];

/** Milliseconds for a list over all. */
const listMs = 30_000;

/** One cluster; a reply without a value is what Temporal did not tell. */
export interface ClusterView {
  cluster: string;
  place: Reply<Place>;
  polling: Reply<Polling>;
  /** Open rollouts, by what they are doing or waiting for. */
  rollouts: Reply<Record<string, number>>;
  /** Epoch ms since when the first one stands still, of those that said so. */
  oldestHalt?: number;
  /** Open rollouts that did not say where they are. */
  unheard: number;
}

/** All of them by name, and what was asked on the way. */
export interface Fleet {
  clusters: ClusterView[];
  runs: OpenRun[];
  /** Open rollouts, listed or not. */
  total: number;
  replies: Map<string, Reply<Progress>>;
}

type Asked = Pick<ClusterView, "cluster" | "place" | "polling">;

/** Looks at all clusters; fails only where Temporal answers nothing at all. */
export async function readFleet(server: Server, now: () => number): Promise<Fleet> {
  const [names, { runs, total }] = await Promise.all([
    server.within(listMs, () => listNames(server)),
    server.within(listMs, () => listOpenRuns(server)),
  ]);
  const known = new Set(names);
  const all = [...new Set([...names, ...runs.map(({ pool }) => pool.cluster)])].sort();
  const asked = await eachBounded(
    all,
    atOnce,
    (cluster) => readCluster(server, { cluster, isKnown: known.has(cluster), now }),
  );
  const served = new Set(asked.filter(({ polling }) => workersOf(polling) > 0).map(({ cluster }) => cluster));
  const replies = await askRuns(server, runs, { served, now });
  const isWhole = total <= mostListed;
  const clusters = await eachBounded(asked, atOnce, async (one) => {
    const own = runs.filter(({ pool }) => pool.cluster === one.cluster);
    const rollouts = isWhole
      ? { value: countsOf(own, replies) }
      : await replyOf(() => server.within(placeMs, () => countByPhase(server, one.cluster)));
    return { ...one, rollouts, ...heardOf(own, replies) };
  });
  return { clusters, runs, total, replies };
}

function workersOf(polling: Reply<Polling>): number {
  return "value" in polling ? polling.value.workers : 0;
}

async function readCluster(
  server: Server,
  { cluster, isKnown, now }: { cluster: string; isKnown: boolean; now: () => number },
): Promise<Asked> {
  const usual = placeless(server, cluster);
  const place = isKnown
    ? await replyOf(() => server.within(placeMs, () => readPlace(server, cluster)))
    : { value: usual };
  const { taskQueue } = "value" in place ? place.value : usual;
  const polling = await replyOf(() => server.within(placeMs, () => readPolling(server, taskQueue, now())));
  return { cluster, place, polling };
}

function countsOf(runs: readonly OpenRun[], replies: Fleet["replies"]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const run of runs) {
    const state = stateOf(run, replies.get(run.workflowId)).state;
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return counts;
}

function heardOf(runs: readonly OpenRun[], replies: Fleet["replies"]): Pick<ClusterView, "oldestHalt" | "unheard"> {
  const states = runs.map((run) => stateOf(run, replies.get(run.workflowId)));
  const halts = states.flatMap(({ state, since }) => state === "Halted" && since !== undefined ? [since] : []);
  const unheard = states.filter(({ unheard }) => unheard !== undefined).length;
  return { unheard, ...(halts.length > 0 ? { oldestHalt: Math.min(...halts) } : {}) };
}

// Asks open rollouts where they are, which the run list does not tell; who does not answer is told of.

/** A run that does not answer at once is shown without it; milliseconds, as all that is asked together. */
const patience = { one: 2_000, all: 20_000 };

/** Runs asked at most, and at once: each that no worker remembers is gone through from its beginning. */
const [mostAsked, askedAtOnce] = [500, 16];

/** Runs of a cluster in a row that do not answer: the others would not either. */
const givesUpAfter = 3;

/** What people wait for: whoever stands still first. */
const urgency = ["Halted", "RollingBack", "Rolling", "Repairing"];

/** Temporal's number for: a run that has ended answers nothing. */
const notOpen = 2;

interface Asking {
  /** Clusters whose workers poll; of the others nobody would answer. */
  served: ReadonlySet<string>;
  now: () => number;
}

/** By workflow id; each run that was given has a reply. */
async function askRuns(
  server: Server,
  runs: readonly OpenRun[],
  { served, now }: Asking,
): Promise<Map<string, Reply<Progress>>> {
  const replies = new Map<string, Reply<Progress>>();
  const silent = new Map<string, number>();
  const until = now() + patience.all;
  const chosen: OpenRun[] = [];
  for (const run of [...runs].sort((one, other) => rankOf(one) - rankOf(other))) {
    if (!served.has(run.pool.cluster)) replies.set(run.workflowId, { why: "no worker polls" });
    else if (chosen.length < mostAsked) chosen.push(run);
    else replies.set(run.workflowId, { why: `not asked: more than ${mostAsked} are open` });
  }
  await eachBounded(chosen, askedAtOnce, async ({ workflowId, pool: { cluster } }) => {
    const unheard = (): number => silent.get(cluster) ?? 0;
    if (unheard() >= givesUpAfter) return void replies.set(workflowId, { why: "not asked: others did not answer" });
    if (now() >= until) return void replies.set(workflowId, { why: "not asked: no time was left" });
    const reply = await replyOf(() => server.within(patience.one, () => progressOf(server, workflowId)));
    silent.set(cluster, "why" in reply ? unheard() + 1 : 0);
    replies.set(workflowId, reply);
  });
  return replies;
}

function rankOf({ phase }: OpenRun): number {
  const rank = urgency.indexOf(phase);
  return rank < 0 ? urgency.length : rank;
}

async function progressOf({ namespace, service }: Server, workflowId: string): Promise<Progress> {
  const { queryResult, queryRejected } = await service.workflowService.queryWorkflow({
    ...{ namespace, execution: { workflowId }, query: { queryType: "progress" } },
    queryRejectCondition: notOpen,
  });
  const value = valueOf(queryResult?.payloads?.[0]);
  if (queryRejected || typeof value !== "object" || value === null) throw new Error("it has ended");
  return value as Progress;
}
