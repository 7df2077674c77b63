import { randomBytes } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { takeBuildLock } from "../tools/build_lock.ts";
import type { Environment } from "../tools/environment.ts";
import { stateFolder } from "./engine_folders.ts";
import { SavedHostSettings } from "./host_settings.ts";
import { currentOwner, writeOwner } from "./owner.ts";
import { RunRecords } from "./run_record.ts";
import { machineLabel, ownerLabel } from "./sweep.ts";

/** The context in which a run (of a demo or a test) is opened and closed. */
export interface RunScope {
  readonly runId: string;
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Environment whose PATH includes the folders of system programs, which a user's PATH often lacks. */
  readonly env: Environment;
  readonly state: string;
  readonly records: RunRecords;
  readonly hostSettings: SavedHostSettings;
  readonly onProgress: (text: string) => void;
}

/** Returns the context of a new run that this process owns; the run does not hold any resources yet. */
export async function createRunScope(onProgress: (text: string) => void): Promise<RunScope> {
  const env = { ...process.env, PATH: `${process.env.PATH ?? ""}:/usr/sbin:/sbin:/usr/bin:/bin` };
  const state = stateFolder(env);
  await Deno.mkdir(state, { recursive: true, mode: 0o700 });
  const runId = randomBytes(4).toString("hex");
  const owner = writeOwner(await currentOwner());
  return {
    runId,
    owner,
    labels: { [machineLabel]: runId, [ownerLabel]: owner },
    env,
    state,
    records: new RunRecords(state),
    hostSettings: new SavedHostSettings(state),
    onProgress,
  };
}

/**
 * Runs `act` under the lock that each run of this host holds while it opens or closes; first waits until the lock is
 * free.
 */
export async function alone<T>(scope: RunScope, signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T> {
  const onWait = (holder: string): void =>
    scope.onProgress(`waiting for ${holder}, which starts or stops a Docker engine`);
  using _lock = await takeBuildLock(join(scope.state, "lock"), { onWait, signal });
  return await act();
}
