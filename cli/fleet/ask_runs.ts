/** Asks open rollouts where they are, which the run list does not tell; who does not answer is told of. */
import type { Progress } from "../../workflows/contracts/mod.ts";
import type { Server } from "../connect/server.ts";
import { eachBounded, type Reply, replyOf } from "./bounded_work.ts";
import type { OpenRun } from "./open_runs.ts";
import { valueOf } from "./wire.ts";

/** A run that does not answer at once is shown without it; milliseconds, as all that is asked together. */
const patience = { one: 2_000, all: 20_000 };

/** Runs asked at most, and at once: each that no worker remembers is gone through from its beginning. */
const [mostAsked, atOnce] = [500, 16];

/** Runs of a cluster in a row that do not answer: the others would not either. */
const givesUpAfter = 3;

/** What people wait for: whoever stands still first. */
const urgency = ["Halted", "RollingBack", "Rolling", "Repairing"];

/** Temporal's number for: a run that has ended answers nothing. */
const notOpen = 2;

export interface Asking {
  /** Clusters whose workers poll; of the others nobody would answer. */
  served: ReadonlySet<string>;
  now: () => number;
}

/** By workflow id; each run that was given has a reply. */
export async function askRuns(
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
  await eachBounded(chosen, atOnce, async ({ workflowId, pool: { cluster } }) => {
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
