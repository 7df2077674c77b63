/** What `--wait` waits for after each command. */
import { clusterFailure } from "../connect/cluster.ts";
import type { CommandName } from "../connect/engine.ts";
import type { World } from "../connect/world.ts";
import { Refusal, Unreachable } from "../failure.ts";
import { parseDuration } from "../view/durations.ts";
import { conditionOf, type PoolRow } from "./pool_row.ts";
import { readRow } from "./pools.ts";
import { verdictOf } from "./verdict.ts";
import { endText, timedOut } from "./watch_command.ts";

/** What the status said before a command may stand there for a while after it. */
const staleMs = 15_000;

export interface Effect {
  name: CommandName;
  /** How the pool stood before the command. */
  before: PoolRow;
  /** As given; undefined waits for ever. */
  timeout: string | undefined;
}

/** Waits until the effect is there; fails with 1 when the rollout ended otherwise, with 3 when the time is over. */
export async function awaitEffect(world: World, { name, before, timeout }: Effect): Promise<PoolRow> {
  const cluster = await world.cluster();
  const [since, patience] = [world.now(), parseDuration(timeout ?? "0")];
  let row = before;
  for (;;) {
    const isFresh = changedSince(before, row) || world.now() - since >= staleMs;
    const state = stateAfter(name, row);
    if (state === "There" && (isFresh || !judgesEnd(name))) return row;
    if (state === "Failed" && isFresh) throw new Refusal(endText(row));
    if (patience > 0 && world.now() - since >= patience) throw timedOut([row], timeout ?? "");
    await world.sleep(1_000);
    row = await readRow(cluster, before.pool).catch((error: unknown) => {
      const failure = clusterFailure(cluster.server, error);
      if (failure instanceof Unreachable) return row; // looked at again until the time is over
      throw failure;
    });
  }
}

function stateAfter(name: CommandName, row: PoolRow): "There" | "NotYet" | "Failed" {
  const { status } = row;
  if (name === "pause") return status?.paused && status.underway.length === 0 ? "There" : "NotYet";
  if (name === "resume") return status?.paused === false ? "There" : "NotYet";
  if (name === "abort" && status?.phase === "Aborted") return "There";
  const verdict = verdictOf(row);
  if (verdict === "UnderWay") return "NotYet";
  return verdict === "Ready" ? "There" : "Failed";
}

function judgesEnd(name: CommandName): boolean {
  return name !== "pause" && name !== "resume";
}

// A rollout that was halted and halts again has gone through another state: its conditions changed in between.
function changedSince(before: PoolRow, row: PoolRow): boolean {
  const timeOf = ({ status }: PoolRow): string | undefined =>
    status && conditionOf(status, "Progressing")?.lastTransitionTime;
  return before.status?.phase !== row.status?.phase || timeOf(before) !== timeOf(row);
}
