import { join } from "node:path";
import { type Mirror, startMirror } from "../../../../deploy/local/mirror/mirror.ts";
import type { NodePrograms } from "../../../../deploy/local/tools/node_programs.ts";
import { machineToolNames } from "../../../../deploy/local/tools/tool_name.ts";

/** An unused address: clients never get ports this low. */
export const nowhere = "http://127.0.0.1:1019";

/** Small files that stand in for a machine's programs, and a folder for the mirrors that serve them. */
export class MirrorSandbox implements AsyncDisposable {
  readonly folder: string = Deno.makeTempDirSync();
  readonly programs: NodePrograms;
  readonly #mirrors: Mirror[] = [];

  constructor() {
    const paths = machineToolNames.map((name) => [name, join(this.folder, name)] as const);
    for (const [name, path] of paths) Deno.writeTextFileSync(path, `the program ${name}\n`, { mode: 0o755 });
    this.programs = Object.fromEntries(paths) as NodePrograms;
  }

  /** The folder in which the mirrors keep the release files and images that they prepared. */
  get files(): string {
    return join(this.folder, "mirror", "files");
  }

  /** Starts a mirror on loopback, with the folder of the earlier mirrors; disposing of the sandbox stops it. */
  async start(source = nowhere): Promise<Mirror> {
    const archives = { debian: `${source}/debian`, "debian-security": `${source}/debian-security` };
    const directory = join(this.folder, "mirror");
    const mirror = await startMirror({ address: "127.0.0.1", directory, programs: this.programs, archives });
    this.#mirrors.push(mirror);
    return mirror;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const mirror of this.#mirrors) await mirror.stop();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Returns status and text of the response to a GET. */
export async function get(url: string): Promise<{ status: number; text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}
