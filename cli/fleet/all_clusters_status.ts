/** `ostler status --all-clusters`: lists the open rollouts of all clusters, from Temporal alone. */
import type { World } from "../connect/world.ts";
import type { StatusFlags } from "../rollout/status_command.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { duration } from "../view/durations.ts";
import { asData } from "../view/output.ts";
import { plainTable } from "../view/plain_table.ts";
import { phaseText } from "../view/pool_columns.ts";
import { type Fleet, readFleet } from "./cluster_view.ts";
import { fromTemporal } from "./from_temporal.ts";
import type { OpenRun } from "./open_runs.ts";
import { type RunState, stateOf } from "./run_state.ts";

/** Prints a table of open rollouts; always returns exit code 0. */
export async function showAllClusters(terminal: Terminal, world: World, flags: StatusFlags): Promise<number> {
  refuseOthers(flags);
  const fleet = await fromTemporal(world, (server) => readFleet(server, world.now));
  const rows = rowsOf(fleet);
  const data = asData(flags.output, { items: rows.map(rowData), openRollouts: fleet.total });
  if (data !== undefined) terminal.out(data);
  else if (rows.length === 0) terminal.err("Nothing to show: no rollout is open in any cluster\n");
  else terminal.out(tableOf(terminal, rows, { now: world.now(), isWide: flags.output === "wide" }));
  if (rows.length < fleet.total) {
    terminal.err(`Only ${rows.length} of ${fleet.total} open rollouts are listed; halted ones were included first\n`);
  }
  if (data === undefined) terminal.err(silenceOf(rows));
  return 0;
}

// These flags need the API server of a cluster, which `--all-clusters` does not query.
function refuseOthers(flags: StatusFlags): void {
  const { pool, namespace, selector, all, allNamespaces, watch } = flags;
  const others = { POOL: pool, "-n": namespace, "-l": selector, "--all": all, "-A": allNamespaces, "-w": watch };
  for (const [name, value] of Object.entries(others)) {
    if (value) {
      throw new UsageError(
        `Failed to use --all-clusters with ${name}: --all-clusters shows all open rollouts once; omit ${name}`,
      );
    }
  }
}

interface Row {
  run: OpenRun;
  state: RunState;
}

function rowsOf({ runs, replies }: Fleet): Row[] {
  return runs.map((run) => ({ run, state: stateOf(run, replies.get(run.workflowId)) }))
    .sort((one, other) => one.run.workflowId < other.run.workflowId ? -1 : 1);
}

function tableOf(terminal: Terminal, rows: Row[], { now, isWide }: { now: number; isWide: boolean }): string {
  const head = ["CLUSTER", "NAMESPACE", "NAME", "PHASE", "FOR", "UPDATED", "WAVE", ...(isWide ? ["IMAGE"] : []), "WHY"];
  const lines = rows.map(({ run: { pool, image }, state }) => [
    pool.cluster === "" ? "(no name)" : pool.cluster,
    pool.namespace,
    pool.name,
    phaseText(terminal, state.state),
    state.since === undefined ? "" : duration((now - state.since) / 1000),
    state.updated,
    state.wave,
    ...(isWide ? [image] : []),
    state.unheard === undefined ? isWide ? state.message : state.reason : `(${state.unheard})`,
  ]);
  return plainTable(lines, head);
}

function silenceOf(rows: Row[]): string {
  const unheard = rows.filter(({ state }) => state.unheard !== undefined).length;
  return unheard === 0
    ? ""
    : `${counted(unheard, "rollout")} did not report progress: the phase is from Temporal's list of workflows\n`;
}

function rowData({ run: { pool, image, workflowId, startedAt }, state: { since, ...state } }: Row): object {
  return {
    ...pool,
    workflowId,
    image,
    ...state,
    startedAt: startedAt === undefined ? null : new Date(startedAt).toISOString(),
    since: since === undefined ? null : new Date(since).toISOString(),
  };
}
