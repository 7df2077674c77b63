import { setTimeout as delay } from "node:timers/promises";

/** How to wait for a lock that another run holds. */
export interface LockWait {
  /** Called once, when the lock is not free at first. */
  readonly onWait: (holder: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** How long to wait; 45 minutes unless told. */
  readonly waitMs?: number;
}

/** The lock stayed taken for as long as we were ready to wait. */
export class LockTimeout extends Error {
  override readonly name = "LockTimeout";
}

/** Takes a lock that the operating system frees when its holder dies; dispose of it to free it. */
export async function takeBuildLock(path: string, wait: LockWait): Promise<Disposable> {
  const file = await Deno.open(path, { create: true, read: true, write: true });
  try {
    await waitForLock(file, path, wait);
    await file.truncate();
    await file.write(new TextEncoder().encode(`${Deno.pid}`));
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

async function waitForLock(file: Deno.FsFile, path: string, wait: LockWait): Promise<void> {
  const { onWait, signal, waitMs = 45 * 60_000 } = wait;
  const deadline = Date.now() + waitMs;
  let holder = "";
  while (!await file.tryLock(true)) {
    if (holder === "") onWait(holder = await readHolder(path));
    if (Date.now() >= deadline) throw new LockTimeout(`${holder} still holds "${path}" after ${waitMs / 1000} s`);
    // FsFile.lock cannot be told to stop waiting.
    await delay(200, undefined, { ...(signal ? { signal } : {}) }).catch(() => signal?.throwIfAborted());
  }
}

async function readHolder(path: string): Promise<string> {
  const pid = await Deno.readTextFile(path).catch(() => "");
  return pid === "" ? "another run" : `another run (process ${pid})`;
}
