import { waitFor, WaitTimeout } from "../process/wait_until.ts";

/** How to wait for a lock that another run holds. */
interface LockWait {
  /** Called once before the wait, with the name of the run that holds the lock. */
  readonly onWait: (holder: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** Maximum time to wait in milliseconds; default 45 minutes. */
  readonly waitMs?: number;
}

/** Thrown if another run still holds the lock when the wait times out. */
export class LockTimeout extends Error {
  override readonly name = "LockTimeout";
}

/**
 * Acquires a lock, which the operating system releases when its holder dies; dispose of the result to release it.
 * Throws LockTimeout if another run still holds the lock after `waitMs`.
 */
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
  // A free lock is acquired even if `waitMs` is 0.
  if (await file.tryLock(true)) return;
  const holder = await readHolder(path);
  onWait(holder);
  // Polls because FsFile.lock cannot be cancelled.
  const look = (): Promise<boolean> => file.tryLock(true);
  const waits = { what: `the lock "${path}"`, timeoutMs: waitMs, pausesMs: [200, 200], isFinal: () => true } as const;
  await waitFor(look, { ...waits, ...(signal ? { signal } : {}) }).catch((error: unknown) => {
    if (!(error instanceof WaitTimeout)) throw error;
    throw new LockTimeout(`${holder} still holds "${path}" after ${waitMs / 1000} s`);
  });
}

async function readHolder(path: string): Promise<string> {
  const pid = await Deno.readTextFile(path).catch(() => "");
  return pid === "" ? "another run" : `another run (process ${pid})`;
}
