import { DockerApi } from "./docker_api.ts";
import { engineError, reasonOf } from "./engine_error.ts";
import { engineFolders } from "./engine_folders.ts";
import { removeBridge } from "./forwarding.ts";
import { writeAsRoot, writeThrough } from "./host_settings.ts";
import { hostShell } from "./host_shell.ts";
import { networkName } from "./machine_network.ts";
import type { RunRecord } from "./run_record.ts";
import { alone, type RunScope } from "./run_scope.ts";
import { sweepEverything, sweepRun } from "./sweep.ts";
import { stopEngine } from "./stop_engine.ts";

/**
 * Releases everything that this run holds: its machines and its network and, if no other run needs them, the engine and
 * the changed kernel settings; a failed step does not prevent the others. Throws with all failures.
 */
export async function closeRun(scope: RunScope): Promise<void> {
  await alone(scope, undefined, async () => {
    const own = (await scope.records.living()).find(({ runId }) => runId === scope.runId);
    if (own !== undefined) await closeRecorded(scope, own);
  });
}

/**
 * Cleans up after runs (of demos or tests) whose process died; a failed cleanup does not prevent the others. Throws
 * with all failures. Call this function only while no other run opens or closes.
 */
export async function closeDeadRuns(scope: RunScope): Promise<void> {
  const failures: unknown[] = [];
  for (const record of await scope.records.dead()) {
    scope.onProgress(`removing leftovers of run ${record.runId}`);
    await closeRecorded(scope, record).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw new Error(failures.map(reasonOf).join("\n"), { cause: failures[0] });
  if ((await scope.records.living()).length > 0) return;
  // Kernel settings that are still saved although no run remains are restored here, because the record of the run that
  // saved them was lost.
  if (Deno.uid() === 0) await scope.hostSettings.restore(writeAsRoot);
}

async function closeRecorded(scope: RunScope, record: RunRecord): Promise<void> {
  const others = (await scope.records.living()).filter(({ runId }) => runId !== record.runId);
  const failures: string[] = [];
  for (const [what, undo] of undoSteps(scope, record, others)) {
    await undo().catch((error: unknown) => failures.push(`${what}: ${reasonOf(error)}`));
  }
  if (failures.length === 0) return await scope.records.remove(record.runId);
  throw engineError({
    attempt: `clean up after run ${record.runId}`,
    state: `${failures.length} of its cleanup steps failed`,
    details: failures,
    cure: "start another run, which retries the cleanup",
  });
}

type UndoStep = readonly [what: string, undo: () => Promise<void>];

function undoSteps(scope: RunScope, record: RunRecord, others: readonly RunRecord[]): UndoStep[] {
  const { socketPath, engineDirectory: directory } = record;
  const isLastOnEngine = !others.some((other) => other.socketPath === socketPath);
  const steps: UndoStep[] = [];
  if (socketPath !== undefined) {
    steps.push(["machines", () => sweepIfUp(socketPath, directory !== undefined && isLastOnEngine, record.runId)]);
  }
  if (directory !== undefined && isLastOnEngine) {
    steps.push(["Docker engine", () => stopEngine(engineFolders(scope.state, directory), scope.env)]);
  }
  // The bridge of the run's network is also removed directly, because a killed engine leaves the bridge behind.
  if (directory !== undefined) steps.push(["network", () => removeBridge(networkName(record.runId), scope.env)]);
  // The settings are restored last, because not only machines but also the engine change them, and never while other
  // runs need them.
  if (others.length === 0) steps.push(["kernel settings", () => restoreSettings(scope, socketPath)]);
  return steps;
}

async function sweepIfUp(socketPath: string, isAll: boolean, runId: string): Promise<void> {
  const api = new DockerApi(socketPath);
  // If the engine is down, the next run that uses the engine finds the objects of this run by their labels and removes
  // them.
  const isUp = await api.get("/_ping").then(() => true, (error: unknown) => {
    if (["ENOENT", "ECONNREFUSED"].includes((error as { code?: string }).code ?? "")) return false;
    throw error;
  });
  if (isUp) await (isAll ? sweepEverything(api) : sweepRun(api, runId));
}

async function restoreSettings(scope: RunScope, socketPath: string | undefined): Promise<void> {
  const write = Deno.uid() === 0 || socketPath === undefined
    ? writeAsRoot
    : writeThrough(hostShell(new DockerApi(socketPath), scope.labels));
  const changed = await scope.hostSettings.restore(write);
  const names = Object.keys(changed);
  if (names.length > 0) {
    scope.onProgress(`restored settings of this host that machines had changed: ${names.join(", ")}`);
  }
}
