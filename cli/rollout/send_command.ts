/** The commands that control rollouts: pause, resume, approve, promote, retry, skip and abort. */
import type { CommandName, Engine } from "../connect/engine.ts";
import type { World } from "../connect/world.ts";
import { Refusal } from "../failure.ts";
import { calledAs, type Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import type { Command } from "../../workflows/commands/messages.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import { type Patience, patienceOf } from "../view/durations.ts";
import { abreast } from "../../activities/kube/status.ts";
import { awaitEffects, type Ended } from "./await_effect.ts";
import { checkHome } from "./check_home.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { findMachine, noMachine } from "./find_machine.ts";
import type { PoolRow } from "./pool_row.ts";
import { type Chosen, chosenBy, hiddenRefusal, noPools, poolName, readRow, readSelected } from "./pools.ts";
import { tellFailure } from "./tell_failure.ts";

export interface SendFlags extends ClusterFlags {
  reason?: string;
  wait?: boolean;
  timeout?: string;
  yes?: boolean;
  plan?: string;
  full?: boolean;
}

/** Milliseconds to wait for an answer; while Ostler's worker runs, it answers almost immediately. */
const answerMs = 30_000;
/** Pools that get the command concurrently. */
const atOnce = 10;

/**
 * Sends one command to every selected pool, and with --wait waits for its effect. Returns the highest exit code of all
 * pools, such as 1 if one of them refused, or is left out because the user may not list its kind.
 */
export async function sendCommand(
  terminal: Terminal,
  world: World,
  { name, flags }: { name: CommandName; flags: SendFlags },
): Promise<number> {
  const patience = patienceOf(flags);
  const cluster = await world.cluster();
  const chosen = chosenBy(flags, cluster, false);
  if (name === "approve") checkPlan(terminal, flags, chosen);
  const { rows, hidden } = await readSelected(cluster, chosen);
  const refusal = hiddenRefusal(name, hidden, chosen);
  if (rows.length === 0) throw refusal ?? new Refusal(`Failed to ${name}: ${noPools(chosen)}`);
  // The other pools get the command nevertheless: a pause of most pools is better than of none.
  if (refusal) terminal.err(`${refusal.message}\n`);
  const code = await sendToAll(terminal, world, { name, flags, patience, rows, machine: undefined });
  return Math.max(code, refusal?.exitCode ?? 0);
}

/** Sends skip for one machine to the pool of that machine, or to the pool that `--pool` names. */
export async function skipMachine(
  terminal: Terminal,
  world: World,
  { name, flags }: { name: string; flags: SendFlags },
): Promise<number> {
  const patience = patienceOf(flags);
  const cluster = await world.cluster();
  const { pool, machine } = await skippedBy(cluster, name, flags);
  const rows = [await readRow(cluster, pool)];
  return await sendToAll(terminal, world, { name: "skip", flags, patience, rows, machine });
}

// Machines of scaling groups and NodePools have no Machine object that shows their pool, so `--pool` names it. Their
// run drops a name that none of its machines has, and reports it.
async function skippedBy(
  cluster: NamedCluster,
  name: string,
  flags: SendFlags,
): Promise<{ pool: PoolRef; machine: string }> {
  const { namespace = cluster.namespace, pool } = flags;
  if (pool !== undefined) {
    const chosen = chosenBy(flags, cluster, false);
    if (chosen.kind === "one" && chosen.pool.kind !== undefined) return { pool: chosen.pool, machine: name };
    throw new UsageError(`Failed to use "${pool}" as --pool: expected sg/NAME or nodepool/NAME`);
  }
  const found = await findMachine(cluster, { name, namespace });
  if (found === undefined) {
    const remedy = "for a machine of a scaling group or NodePool, give --pool";
    throw await noMachine(cluster, { name, namespace, remedy });
  }
  const machine = found.machine.metadata.name;
  if (found.pool === undefined) throw new Refusal(`Failed to skip machine "${machine}": no MachineDeployment owns it`);
  return { pool: found.pool, machine };
}

interface Sending {
  name: CommandName;
  flags: SendFlags;
  patience: Patience;
  rows: readonly PoolRow[];
  machine: string | undefined;
}

// All pools get the command before the wait for any of them begins.
async function sendToAll(terminal: Terminal, world: World, sending: Sending): Promise<number> {
  const { name, flags, patience, rows } = sending;
  const [by, engine] = await Promise.all([world.whoAsks(), world.engine()]);
  checkHome(name, rows, await engine.home());
  if (name === "abort") await confirm(terminal, rows, flags);
  const sent = { ...sending, by, engine };
  const codes = await abreast(atOnce, rows, (row) => sendToOne(terminal, sent, row));
  const taken = rows.filter((_, index) => codes[index] === 0);
  if (flags.wait === true) {
    await awaitEffects(world, { name, before: taken, patience }, (ended) => {
      codes.push(tellEnd(terminal, sending, ended));
    });
  }
  return Math.max(...codes);
}

interface Sent extends Sending {
  by: string;
  engine: Engine;
}

// A pool that refuses, or fails unexpectedly, must not keep the command from the others.
async function sendToOne(terminal: Terminal, sent: Sent, { pool }: PoolRow): Promise<number> {
  const { name, engine } = sent;
  try {
    const { message } = await engine.send({ pool, name, command: commandOf(sent), within: answerMs });
    terminal.out(`${poolName(pool)}: ${message}\n`);
    return 0;
  } catch (error) {
    return tellFailure(terminal, sent.rows.length > 1 ? pool : undefined, error);
  }
}

function tellEnd(terminal: Terminal, { rows }: Sending, { row: { pool, status }, failure }: Ended): number {
  if (failure !== undefined) return tellFailure(terminal, rows.length > 1 ? pool : undefined, failure);
  terminal.out(`${poolName(pool)}: ${status?.phase ?? ""}${status?.paused ? ", paused" : ""}\n`);
  return 0;
}

function commandOf({ by, flags, machine }: Sent): Command {
  const { reason, plan, full } = flags;
  return {
    by,
    ...(reason === undefined ? {} : { reason }),
    ...(plan === undefined ? {} : { plan }),
    ...(machine === undefined ? {} : { machine }),
    ...(full === true ? { full } : {}),
  };
}

function checkPlan(terminal: Terminal, { plan }: SendFlags, chosen: Chosen): void {
  if (chosen.kind === "many") {
    throw new UsageError("Failed to approve several pools: each has its own plan; name exactly one pool");
  }
  if (plan !== undefined) return;
  const { namespace, name } = chosen.pool;
  const show = `${calledAs(terminal)} plan -n ${namespace} ${name}`;
  throw new UsageError(`Failed to approve "${name}": --plan HASH is missing; \`${show}\` shows the plan and its hash`);
}

async function confirm(terminal: Terminal, rows: readonly PoolRow[], { yes }: SendFlags): Promise<void> {
  if (yes === true) return;
  const [row] = rows;
  const what = row && rows.length === 1
    ? `the rollout of "${poolName(row.pool)}"`
    : `the rollouts of ${rows.length} pools`;
  if (terminal.ask === undefined) {
    throw new UsageError(`Failed to confirm the abort of ${what}: no terminal; give --yes`);
  }
  const back = rows.length === 1 && row?.status?.lastGood ? ` to revision ${row.status.lastGood.revision}` : "";
  const answer = await terminal.ask(`Abort ${what}, and roll back${back}? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Refusal("Abort cancelled: nothing was changed");
}
