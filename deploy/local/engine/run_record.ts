import { join } from "node:path";
import { isDead, kernelProc, readOwner } from "./owner.ts";

/** What a run holds on this machine; written before it holds it, so that others can let go of it after a crash. */
export interface RunRecord {
  /** Eight hexadecimal digits. */
  readonly runId: string;
  /** The process that answers for the run, as `writeOwner` writes it. */
  readonly owner: string;
  /** The engine that it runs machines on. */
  readonly socketPath?: string;
  /** Set when that engine is ours: stopped when no run uses it any more. */
  readonly engineDirectory?: string;
}

/** The records of the runs of this machine, one file each. */
export class RunRecords {
  readonly #folder: string;
  readonly #proc: string;

  constructor(state: string, proc = kernelProc) {
    this.#folder = join(state, "runs");
    this.#proc = proc;
  }

  /** Written whole or not at all. */
  async write(record: RunRecord): Promise<void> {
    await writeWhole(this.#path(record.runId), JSON.stringify(record, null, 2));
  }

  async remove(runId: string): Promise<void> {
    await Deno.remove(this.#path(runId)).catch(ignoreAbsence);
  }

  /** The runs whose process is alive, or which cannot be seen from here. */
  async living(): Promise<RunRecord[]> {
    return await this.#select(false);
  }

  /** The runs that ended without letting go of what they held. */
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

/** Writes a file so that a reader, also after a crash, sees all of it or none. */
export async function writeWhole(path: string, text: string): Promise<void> {
  await Deno.mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
  const draft = `${path}.${Deno.pid}.draft`;
  await Deno.writeTextFile(draft, text, { mode: 0o600 });
  await Deno.rename(draft, path);
}

/** For `catch`: what is not there needs no removing. */
export function ignoreAbsence(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
