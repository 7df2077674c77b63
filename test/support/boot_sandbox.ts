/**
 * Runs the boot scripts of Ostler's profiles on this computer: their paths point to a temporary folder, commands are
 * fakes.
 */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  closeTemplateEngines,
  defaultProfiles,
  type OsFile,
  type Phase,
  renderConfig,
  type RenderFacts,
} from "../../profiles/mod.ts";

// The template engines are kept until the last test of the file has ended, because starting one takes longer than a
// render.
Deno.test.afterAll(() => closeTemplateEngines());

/** The result of a script; a failed script is a result too, and not an exception. */
export interface Ending {
  code: number;
  stdout: string;
  stderr: string;
}

const moved = /(?<![\w/.])\/(etc|opt|run|var|usr\/local|usr\/share\/oem|oem|boot)(?![\w-])/g;

/** A folder with the files of a machine, in place of the machine's root. */
export class BootSandbox implements AsyncDisposable {
  private constructor(readonly root: string) {}

  /** Creates a sandbox with the files that a default profile writes in one phase: bootstrap or provisioning. */
  static async create(profile: string, phase: Phase, facts: RenderFacts): Promise<BootSandbox> {
    const found = (await defaultProfiles()).find(({ metadata }) => metadata.name === profile);
    if (found === undefined) throw new Error(`Failed to find profile "${profile}"`);
    const config = await renderConfig(found.spec, facts);
    const sandbox = new BootSandbox(await mkdtemp(join(tmpdir(), "ostler-boot-")));
    for (const file of config[`${phase}Config`].files) await sandbox.#place(file);
    await sandbox.write("/etc/machine-name", "machine-1");
    return sandbox;
  }

  async #place({ path, permissions, content }: OsFile): Promise<void> {
    await this.write(path, content.inline.data.replaceAll(moved, `${this.root}/$1`));
    await chmod(this.#at(path), parseInt(String(permissions), 8));
  }

  #at(path: string): string {
    return join(this.root, path);
  }

  /** Writes a file, and creates its folders. */
  async write(path: string, text: string): Promise<void> {
    await mkdir(dirname(this.#at(path)), { recursive: true });
    await writeFile(this.#at(path), text);
  }

  /** Returns the text of a file; undefined if it does not exist. */
  async read(path: string): Promise<string | undefined> {
    try {
      return await readFile(this.#at(path), "utf8");
    } catch {
      return undefined;
    }
  }

  /** Puts a command before the real one of that name on the PATH. */
  async command(name: string, script: string): Promise<void> {
    await this.write(`/commands/${name}`, `#!/usr/bin/env bash\n${script}\n`);
    await chmod(this.#at(`/commands/${name}`), 0o755);
  }

  /** Runs a script of the machine to its end. */
  async run(script: string, ...args: string[]): Promise<Ending> {
    const { code, stdout, stderr } = await new Deno.Command(this.#at(script), {
      args,
      clearEnv: true,
      env: { PATH: `${this.#at("/commands")}:/usr/sbin:/usr/bin:/sbin:/bin`, SANDBOX: this.root },
    }).output();
    const decoder = new TextDecoder();
    return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}
