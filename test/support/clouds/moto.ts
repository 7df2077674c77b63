/** moto in place of AWS: its server, in a Python environment that is created once from `moto_requirements.txt`. */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { freePorts } from "../../../deploy/local/process/free_ports.ts";
import { waitUntil } from "../../../deploy/local/process/wait_until.ts";
import { cacheFolder, definedVariables, findOnPath } from "../../../deploy/local/tools/environment.ts";
import { runCommand } from "../../../deploy/local/tools/run_command.ts";

const requirements = fileURLToPath(new URL("moto_requirements.txt", import.meta.url));
const program = fileURLToPath(new URL("moto_as_aws.py", import.meta.url));

/**
 * Returns the path of a Python with moto; undefined without python3 or a cache folder. Throws if moto cannot be
 * installed.
 */
export async function motoPython(): Promise<string | undefined> {
  const cache = cacheFolder(process.env);
  const [system] = await findOnPath("python3", process.env);
  if (!cache || !system) return undefined;
  const digest = createHash("sha256").update(await readFile(requirements)).digest("hex").slice(0, 12);
  const python = join(cache, "moto", digest, "bin/python");
  if (!await stat(python).catch(() => undefined)) await makePython(system, join(cache, "moto"), digest);
  return python;
}

/**
 * Creates the Python environment completely or not at all: in a temporary folder, which is then renamed to the final
 * path. Only `python` of this environment can be run: its other programs contain the path of the temporary folder.
 */
async function makePython(system: string, folder: string, digest: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const made = await mkdtemp(join(folder, "made-"));
  const env = definedVariables(process.env);
  await need({ program: system, args: ["-m", "venv", made], env });
  const args = ["-m", "pip", "install", "--quiet", "--no-deps", "--requirement", requirements];
  await need({ program: join(made, "bin/python"), args, env });
  // Fails if another test has created the environment meanwhile; then that environment is used.
  await rename(made, join(folder, digest)).catch(() => undefined);
}

async function need(order: Parameters<typeof runCommand>[0]): Promise<void> {
  const { code, lines } = await runCommand(order);
  if (code !== 0) throw new Error(`Failed to make a Python with moto: ${order.args.join(" ")}: ${lines.at(-1)}`);
}

/** A moto server of its own; disposing of it ends the server. */
export class Moto implements AsyncDisposable {
  private constructor(readonly url: string, private readonly child: Deno.ChildProcess) {}

  static async start(python: string): Promise<Moto> {
    const [port] = await freePorts(1);
    const args = [program, "-H", "127.0.0.1", "-p", `${port}`];
    const child = new Deno.Command(python, { args, stdin: "null", stdout: "null", stderr: "null" }).spawn();
    const moto = new Moto(`http://127.0.0.1:${port}`, child);
    await waitUntil(async () => {
      const answer = await fetch(`${moto.url}/moto-api/reset`, { method: "POST" });
      await answer.body?.cancel();
    }, { what: "moto to answer", timeoutMs: 60_000 });
    return moto;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGTERM");
    await this.child.status;
  }
}
