import { dirname, join } from "node:path";
import type { ResolveOptions } from "../../../../deploy/local/tools/resolve_tools.ts";
import type { BuildOrder } from "../../../../deploy/local/tools/tool_cache.ts";
import type { ToolProgress } from "../../../../deploy/local/tools/progress.ts";

/** A new folder with a cache of tools and an empty folder as PATH; removed when disposed of. */
export class ToolSandbox implements AsyncDisposable {
  readonly folder: string;
  readonly builds: BuildOrder[] = [];
  readonly events: ToolProgress[] = [];

  constructor() {
    this.folder = Deno.makeTempDirSync();
    Deno.mkdirSync(join(this.folder, "bin"));
  }

  get cache(): string {
    return join(this.folder, "cache", "ostler", "tools");
  }

  get env(): Record<string, string> {
    return { XDG_CACHE_HOME: join(this.folder, "cache"), PATH: join(this.folder, "bin"), HOME: this.folder };
  }

  /** Options whose build writes scripts in place of tools. */
  options(env: Record<string, string> = {}): ResolveOptions {
    return { env: { ...this.env, ...env }, onProgress: (event) => this.events.push(event), build: this.build };
  }

  readonly build = async (order: BuildOrder): Promise<void> => {
    this.builds.push(order);
    for (const tool of order.tools) await writeScript(join(order.workDir, "bin", tool), `echo built ${tool}`);
  };

  /** Writes a shell script into the sandbox and returns its path. */
  async script(path: string, body: string): Promise<string> {
    return await writeScript(join(this.folder, path), body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

async function writeScript(path: string, body: string): Promise<string> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeTextFile(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return path;
}
