/** The command from a release, on a machine that has no other file of Ostler. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packCommand } from "../../deploy/release/cli_part.ts";
import { type Target, targets } from "../../deploy/release/options.ts";
import { readSource } from "../../deploy/release/source.ts";

export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** The command unpacked from the release's archive for this platform; disposing of it deletes the files. */
export class PackedCommand implements AsyncDisposable {
  private constructor(private readonly work: string, private readonly folder: string) {}

  static async make(): Promise<PackedCommand> {
    const work = await mkdtemp(join(tmpdir(), "ostler-packed-"));
    const archive = await packCommand({ target: thisMachine(), deno: Deno.version.deno }, await readSource(), work);
    execFileSync("tar", ["--extract", `--file=${archive}`], { cwd: work });
    await mkdir(join(work, "home"));
    return new PackedCommand(work, join(work, archive.replace(".tar.gz", "")));
  }

  /** Runs the command in its own folder, with only the given environment, and without shared caches. */
  async run(args: string[], env: Record<string, string>): Promise<Ended> {
    const home = join(this.work, "home");
    const { code, stdout, stderr } = await new Deno.Command(join(this.folder, "ostler"), {
      ...{ args, cwd: home, clearEnv: true, env: { PATH: "/usr/bin:/bin", HOME: home, NO_COLOR: "1", ...env } },
    }).output();
    const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
    return { code, out: text(stdout), err: text(stderr) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.work, { recursive: true });
  }
}

function thisMachine(): Target {
  const arch = Deno.build.arch === "x86_64" ? "amd64" : "arm64";
  return targets.find((target) => target === `${Deno.build.os}-${arch}`) ??
    assert.fail("the release has no archive for this platform");
}
