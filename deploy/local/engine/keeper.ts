// Entry point of the keeper, a process beside the process of a run: opens an engine for the run, and cleans up after
// the run when the keeper's input ends. The input ends whenever the process of the run ends, even if that process is
// killed.
import { closeDeadRuns, closeRun } from "./close_run.ts";
import { reasonOf } from "./engine_error.ts";
import type { KeeperOrder, KeeperReport } from "./keeper_messages.ts";
import { openRun } from "./open_run.ts";
import { alone, createRunScope, type RunScope } from "./run_scope.ts";

async function report(message: KeeperReport): Promise<void> {
  // The write fails if the process of the run was killed; the keeper then still cleans up.
  await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`)).catch(() => {});
}

interface Input {
  readonly order: Promise<KeeperOrder>;
  /** Aborted at the end of input or by a signal. */
  readonly ended: AbortSignal;
}

function readInput(): Input {
  const ended = new AbortController();
  const end = (why: string): void => ended.abort(new Error(`Stopped: ${why}`));
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(name, () => end(`received ${name}`));
  }
  const { promise, resolve, reject } = Promise.withResolvers<KeeperOrder>();
  const read = async (): Promise<void> => {
    let text = "";
    for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("\n")) resolve(JSON.parse(text) as KeeperOrder);
    }
    end("the process that uses the Docker engine has ended");
    reject(ended.signal.reason);
  };
  read().catch(reject);
  return { order: promise, ended: ended.signal };
}

async function keep({ order, ended }: Input): Promise<void> {
  const told = await order;
  const scope = await createRunScope((text) => void report({ kind: "progress", text }));
  // The end of input does not cancel this cleanup, because the caller ends the input at once, and then waits until the
  // keeper exits.
  if (told.isSweep) return await alone(scope, undefined, () => closeDeadRuns(scope));
  const failures: unknown[] = [];
  await openUntil(ended, scope, told).catch((error: unknown) => failures.push(error));
  await closeRun(scope).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new Error(failures.map(reasonOf).join("\n"), { cause: failures[0] });
}

async function openUntil(ended: AbortSignal, scope: RunScope, order: KeeperOrder): Promise<void> {
  await report({ kind: "opened", run: await openRun(scope, order, ended) });
  if (ended.aborted) return;
  await new Promise<void>((resolve) => ended.addEventListener("abort", () => resolve(), { once: true }));
}

try {
  await keep(readInput());
  await report({ kind: "closed" });
  Deno.exit(0);
} catch (error) {
  await report({ kind: "failed", message: reasonOf(error) });
  Deno.exit(1);
}
