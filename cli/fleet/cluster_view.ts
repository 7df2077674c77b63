/** Reads all clusters that share a namespace of Temporal, from Temporal alone, so that no kubeconfig is needed. */
import type { Progress } from "../../workflows/contracts/mod.ts";
import { abreast } from "../../activities/kube/status.ts";
import { valueOf } from "../connect/payload.ts";
import type { Server } from "../connect/server.ts";
import { type Reply, replyOf } from "./bounded_work.ts";
import { countByPhase, listOpenRuns, mostListed, type OpenRun } from "./open_runs.ts";
import { listNames, type Place, placeless, readPlace } from "./places.ts";
import { type Polling, readPolling } from "./pollers.ts";
import { stateOf } from "./run_state.ts";

/** Clusters that are read concurrently, and milliseconds for each. */
const [atOnce, placeMs] = [8, 10_000];

/** Milliseconds to list the Schedules of all clusters; the list of open rollouts has the same limit. */
const listMs = 30_000;

/** The facts in Temporal about one cluster; a reply without a value has the reason why Temporal did not answer. */
export interface ClusterView {
  cluster: string;
  place: Reply<Place>;
  polling: Reply<Polling>;
  /** The number of open rollouts by phase, or by what they wait for. */
  rollouts: Reply<Record<string, number>>;
  /** Epoch ms at which the first of the halted rollouts halted; missing if no halted rollout reported its progress. */
  oldestHalt?: number;
  /** The number of open rollouts that did not report progress. */
  unheard: number;
}

/** All clusters by name, and the runs and replies that were read for them. */
export interface Fleet {
  clusters: ClusterView[];
  runs: OpenRun[];
  /** The number of open rollouts, including those that are not listed. */
  total: number;
  replies: Map<string, Reply<Progress>>;
}

type Asked = Pick<ClusterView, "cluster" | "place" | "polling">;

/** Reads all clusters; throws only if the list of Schedules or the list of open rollouts cannot be read. */
export async function readFleet(server: Server, now: () => number): Promise<Fleet> {
  const [names, { runs, total }] = await Promise.all([
    server.within(listMs, () => listNames(server)),
    server.within(listMs, () => listOpenRuns(server)),
  ]);
  const known = new Set(names);
  const all = [...new Set([...names, ...runs.map(({ pool }) => pool.cluster)])].sort();
  const asked = await abreast(
    atOnce,
    all,
    (cluster) => readCluster(server, { cluster, isKnown: known.has(cluster), now }),
  );
  const served = new Set(asked.filter(({ polling }) => workersOf(polling) > 0).map(({ cluster }) => cluster));
  const replies = await askRuns(server, runs, { served, now });
  const isWhole = total <= mostListed;
  const clusters = await abreast(atOnce, asked, async (one) => {
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

/** Milliseconds to read the progress of one run, and of all runs; a slow run is shown without its progress. */
const patience = { one: 2_000, all: 20_000 };

/**
 * Maximum runs that are queried, in total and concurrently: a worker replays each run that is not in its cache from the
 * beginning.
 */
const [mostAsked, askedAtOnce] = [500, 16];

/** After this many runs of a cluster in a row did not answer, its other runs are not queried. */
const givesUpAfter = 3;

/** Phases in the order in which their runs are queried: halted rollouts come first. */
const urgency = ["Halted", "RollingBack", "Rolling", "Repairing"];

/**
 * The number of QUERY_REJECT_CONDITION_NOT_OPEN in Temporal's API, with which Temporal rejects queries of closed runs.
 */
const notOpen = 2;

interface Asking {
  /** Clusters of which a worker polls Temporal; without a worker, the runs of a cluster cannot answer. */
  served: ReadonlySet<string>;
  now: () => number;
}

/** Queries open runs for their progress, which the list does not have; returns a reply for each run by workflow id. */
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
    else replies.set(run.workflowId, { why: `not queried: more than ${mostAsked} are open` });
  }
  await abreast(askedAtOnce, chosen, async ({ workflowId, pool: { cluster } }) => {
    const unheard = (): number => silent.get(cluster) ?? 0;
    if (unheard() >= givesUpAfter) {
      return void replies.set(workflowId, { why: "not queried: other runs did not answer" });
    }
    if (now() >= until) return void replies.set(workflowId, { why: "not queried: the time limit was reached" });
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
  if (queryRejected || typeof value !== "object" || value === null) throw new Error("the run has ended");
  return value as Progress;
}
