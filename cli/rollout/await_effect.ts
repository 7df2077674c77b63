/** Waits for the effect of a command with `--wait`. */
import { clusterFailure, type NamedCluster } from "../connect/cluster.ts";
import type { CommandName } from "../connect/engine.ts";
import type { World } from "../connect/world.ts";
import { Refusal, Unreachable } from "../failure.ts";
import type { Patience } from "../view/durations.ts";
import { abreast } from "../../activities/kube/status.ts";
import { conditionOf, type PoolRow } from "./pool_row.ts";
import { readRow } from "./pools.ts";
import { verdictOf } from "./verdict.ts";
import { endText, timedOut } from "./watch_command.ts";

/** Milliseconds after a command during which a status that is read may still show the state before the command. */
const staleMs = 15_000;
/** Pools that are read concurrently. */
const atOnce = 10;
/** Milliseconds between two reads of the pools. */
const lookMs = 1_000;

export interface Effect {
  name: CommandName;
  /** The state of the pools before the command. */
  before: readonly PoolRow[];
  patience: Patience;
}

/** The end of the wait for one pool; with a failure if the effect did not occur. */
export interface Ended {
  row: PoolRow;
  failure?: unknown;
}

/**
 * Waits for all pools concurrently, and calls `tell` for each pool when its wait ends, with a failure if the effect did
 * not occur. That failure has exit code 1 if the rollout failed, and 3 if the common time limit passed first.
 */
export async function awaitEffects(
  world: World,
  { name, before, patience }: Effect,
  tell: (ended: Ended) => void,
): Promise<void> {
  const cluster = await world.cluster();
  const since = world.now();
  let open: readonly Awaited[] = before.map((row) => ({ before: row, row, readAt: since }));
  for (;;) {
    const passed = world.now() - since;
    const isOver = patience.ms > 0 && passed >= patience.ms;
    open = open.filter((one) => {
      const ended = endOf(name, one, one.readAt - since >= staleMs) ?? (isOver ? late(one, patience) : undefined);
      if (ended) tell(ended);
      return ended === undefined;
    });
    if (open.length === 0) return;
    await world.sleep(lookMs);
    await abreast(atOnce, open, (one) => lookAgain(cluster, one, world.now()));
  }
}

interface Awaited extends Ended {
  before: PoolRow;
  /** Epoch ms at which the read of `row` began, which during an outage of the API server is long ago. */
  readAt: number;
}

function late({ row }: Awaited, { text }: Patience): Ended {
  return { row, failure: timedOut([row], text) };
}

async function lookAgain(cluster: NamedCluster, awaited: Awaited, now: number): Promise<void> {
  try {
    awaited.row = await readRow(cluster, awaited.before.pool);
    awaited.readAt = now;
  } catch (error) {
    const failure = clusterFailure(cluster.server, error);
    // An API server that restarts is not a failure: reads continue until the time limit.
    if (!(failure instanceof Unreachable)) awaited.failure = failure;
  }
}

function endOf(name: CommandName, { before, row, failure }: Awaited, isOld: boolean): Ended | undefined {
  if (failure !== undefined) return { row, failure };
  if (name === "retry" && isBack(before) && isBack(row) && row.status?.quarantine.length === 0) {
    // For a pool that is pinned to its last good profile, retry starts a rollout. The status may not show this rollout
    // until `staleMs` have passed, so the wait goes on until then.
    return isPinned(before) && !isOld ? undefined : { row };
  }
  const isFresh = isOld || changedSince(before, row);
  const state = stateAfter(name, row);
  if (state === "There" && (isFresh || !judgesEnd(name))) return { row };
  return state === "Failed" && isFresh ? { row, failure: new Refusal(endText(row)) } : undefined;
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

// Returns whether a pool was rolled back. Unless the pool is pinned to its last good profile, retry then starts no
// rollout, and only ends the quarantine of the failed change.
function isBack(row: PoolRow): boolean {
  const { left, phase } = row.status ?? {};
  return Boolean(left) && phase !== "Halted" && verdictOf(row) === "Failed";
}

// Returns whether a pool is pinned to its last good profile; only the unparsed status has this field.
function isPinned({ raw }: PoolRow): boolean {
  return Boolean((raw as { pin?: unknown } | undefined)?.pin);
}

function judgesEnd(name: CommandName): boolean {
  return name !== "pause" && name !== "resume";
}

// A rollout that halts again had another phase in between, so the time of its condition Progressing changed.
function changedSince(before: PoolRow, row: PoolRow): boolean {
  const timeOf = ({ status }: PoolRow): string | undefined =>
    status && conditionOf(status, "Progressing")?.lastTransitionTime;
  return before.status?.phase !== row.status?.phase || timeOf(before) !== timeOf(row);
}
