import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";

/** A folder with those files of /proc from which processes and kernel settings are read; it contains this process. */
export class FakeProc implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<FakeProc> {
    const proc = new FakeProc(await mkdtemp(join(tmpdir(), "ostler-proc-")));
    await proc.write("sys/kernel/random/boot_id", "b007-1d\n");
    await proc.process(process.pid, { name: "deno" });
    await mkdir(join(proc.path, "self/ns"), { recursive: true });
    await symlink("pid:[4026531836]", join(proc.path, "self/ns/pid"));
    await symlink("net:[4026531840]", join(proc.path, "self/ns/net"));
    return proc;
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.path, name)), { recursive: true });
    await writeFile(join(this.path, name), text);
  }

  /** A process that started at clock tick `startedAt` in network namespace `network`. */
  async process(
    pid: number,
    { name, state = "S", startedAt = 4711, network = 4026531840 }: ProcessFacts,
  ): Promise<void> {
    const between = Array.from({ length: 18 }, (_, index) => index).join(" ");
    await this.write(`${pid}/stat`, `${pid} (${name}) ${state} ${between} ${startedAt} 0 0\n`);
    await this.write(`${pid}/comm`, `${name}\n`);
    await mkdir(join(this.path, `${pid}/ns`), { recursive: true });
    await rm(join(this.path, `${pid}/ns/net`), { force: true });
    await symlink(`net:[${network}]`, join(this.path, `${pid}/ns/net`));
  }

  async end(pid: number): Promise<void> {
    await rm(join(this.path, String(pid)), { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

export interface ProcessFacts {
  readonly name: string;
  readonly state?: string;
  readonly startedAt?: number;
  readonly network?: number;
}
