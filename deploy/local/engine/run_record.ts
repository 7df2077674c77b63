import { join } from "node:path";
import { isDead, kernelProc, readOwner } from "./owner.ts";

/**
 * The resources of a run (of a demo or a test) on this host, recorded before they are acquired, so that another run can
 * release them after a crash.
 */
export interface RunRecord {
  /** Id of the run, eight hexadecimal digits. */
  readonly runId: string;
  /** The process that owns the run, in the format of `writeOwner`. */
  readonly owner: string;
  /** Socket of the engine that runs the machines. */
  readonly socketPath?: string;
  /** Folder of the engine; set only if Ostler started the engine, which is then stopped after its last run. */
  readonly engineDirectory?: string;
}

/** The records of the runs on this host, one file per run. */
export class RunRecords {
  readonly #folder: string;
  readonly #proc: string;

  constructor(state: string, proc = kernelProc) {
    this.#folder = join(state, "runs");
    this.#proc = proc;
  }

  /** Writes a record atomically. */
  async write(record: RunRecord): Promise<void> {
    await writeWhole(this.#path(record.runId), JSON.stringify(record, null, 2));
  }

  async remove(runId: string): Promise<void> {
    await Deno.remove(this.#path(runId)).catch(ignoreAbsence);
  }

  /**
   * Returns the records of the runs whose process runs, or may run in another process namespace, where it is not
   * visible.
   */
  async living(): Promise<RunRecord[]> {
    return await this.#select(false);
  }

  /** Returns the records of the runs whose process has ended without releasing its resources. */
  async dead(): Promise<RunRecord[]> {
    return await this.#select(true);
  }

  async #select(dead: boolean): Promise<RunRecord[]> {
    await Deno.mkdir(this.#folder, { recursive: true });
    const names = (await Array.fromAsync(Deno.readDir(this.#folder))).map(({ name }) => name);
    const records = await Promise.all(
      names.filter((name) => name.endsWith(".json")).map(async (name) =>
        JSON.parse(await Deno.readTextFile(join(this.#folder, name))) as RunRecord
      ),
    );
    const areDead = await Promise.all(records.map((record) => isGone(record, this.#proc)));
    return records.filter((_, index) => areDead[index] === dead);
  }

  #path(runId: string): string {
    return join(this.#folder, `${runId}.json`);
  }
}

async function isGone({ owner }: RunRecord, proc: string): Promise<boolean> {
  const known = readOwner(owner);
  return known === undefined || await isDead(known, proc);
}

/** Writes a file atomically: after a crash, the file has either its old content or the complete new content. */
export async function writeWhole(path: string, text: string): Promise<void> {
  await Deno.mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
  const draft = `${path}.${Deno.pid}.draft`;
  await Deno.writeTextFile(draft, text, { mode: 0o600 });
  await Deno.rename(draft, path);
}

/** Ignores errors about absent files, for use in `catch`. */
export function ignoreAbsence(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
