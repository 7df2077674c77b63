/** A registry of the Distribution project over its own folder, which can be down for a while. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../../../deploy/local/process/free_ports.ts";
import { waitUntil } from "../../../deploy/local/process/wait_until.ts";
import { resolveTools } from "../../../deploy/local/tools/resolve_tools.ts";

export class RegistryServer implements AsyncDisposable {
  /** Host and port, as in image references. */
  readonly host: string;
  readonly #directory: string;
  readonly #program: string;
  #child: Deno.ChildProcess | undefined;

  private constructor(directory: string, host: string, program: string) {
    this.#directory = directory;
    this.host = host;
    this.#program = program;
  }

  static async start(): Promise<RegistryServer> {
    const { registry } = await resolveTools(["registry"]);
    const directory = await mkdtemp(join(tmpdir(), "ostler-registry-"));
    const [port] = await freePorts(1);
    const config = {
      version: "0.1",
      log: { level: "error", accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(directory, "data") }, delete: { enabled: true } },
      http: { addr: `127.0.0.1:${port}` },
    };
    await writeFile(join(directory, "config.yml"), JSON.stringify(config));
    const server = new RegistryServer(directory, `127.0.0.1:${port}`, registry);
    await server.comeBack();
    return server;
  }

  /** Starts the registry again, with all its content. */
  async comeBack(): Promise<void> {
    const env = { OTEL_TRACES_EXPORTER: "none" };
    const args = ["serve", join(this.#directory, "config.yml")];
    this.#child = new Deno.Command(this.#program, { args, env, stdin: "null", stdout: "null", stderr: "null" }).spawn();
    await waitUntil(async () => {
      const answer = await fetch(`http://${this.host}/v2/`);
      await answer.body?.cancel();
    }, { what: "the registry to answer", timeoutMs: 30_000 });
  }

  /** Stops the registry, so that its address does not respond. */
  async goAway(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#child?.status;
    this.#child = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.goAway();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
