/** Runs the boot scripts of our profiles on this computer: their paths point into a scratch folder, commands are made up. */
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

// Kept until then, as one is started in no less time than it takes to run what it renders.
Deno.test.afterAll(() => closeTemplateEngines());

/** How a script ended; nothing of it is thrown. */
export interface Ending {
  code: number;
  stdout: string;
  stderr: string;
}

const moved = /(?<![\w/.])\/(etc|opt|run|var|usr\/local|usr\/share\/oem|oem|boot)(?![\w-])/g;

/** A machine's folders, somewhere else. */
export class BootSandbox implements AsyncDisposable {
  private constructor(readonly root: string) {}

  /** A sandbox with the files that a default profile writes in one phase. */
  static async create(profile: string, phase: Phase, facts: RenderFacts): Promise<BootSandbox> {
    const found = (await defaultProfiles()).find(({ metadata }) => metadata.name === profile);
    if (found === undefined) throw new Error(`Cannot find profile "${profile}"`);
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

  /** Writes a file, and the folders above it. */
  async write(path: string, text: string): Promise<void> {
    await mkdir(dirname(this.#at(path)), { recursive: true });
    await writeFile(this.#at(path), text);
  }

  /** Text of a file; undefined when it is not there. */
  async read(path: string): Promise<string | undefined> {
    try {
      return await readFile(this.#at(path), "utf8");
    } catch {
      return undefined;
    }
  }

  /** Puts a command in front of the real one of that name. */
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
