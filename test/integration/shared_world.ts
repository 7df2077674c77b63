/**
 * Lets the stories of a test process share one site (API server, Temporal and the processes of Ostler), because
 * starting a site costs more than most stories. The site is restored after each story.
 */
import { Client } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startCloud } from "../../deploy/local/cloud/cloud.ts";
import { installManifests, type Site, startSite } from "../../deploy/local/site/site.ts";
import { simulatedHands } from "../../deploy/local/cloud/image_nodes/image_ground.ts";
import { startOstler } from "../../deploy/local/site/ostler_processes.ts";
import { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { ourUsers } from "./asked.ts";
import { CleanSlate } from "./clean_slate.ts";
import { quick, toolNames, type Tools, World, type WorldOptions } from "./world.ts";

/** The parts of a shared site that a story may change. */
export type SharedOptions = Pick<WorldOptions, "seed" | "script" | "settings" | "mayRevive">;

/** Registers a test whose story runs on the site that this process shares, which is as clean as a new one. */
export function testInWorld(
  name: string,
  options: SharedOptions,
  story: (world: World, t: Deno.TestContext) => Promise<void>,
): void {
  // The resources of the site outlive the test that started it.
  const fn = (t: Deno.TestContext): Promise<void> => inSharedWorld(options, (world) => story(world, t));
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false, fn });
}

/** Runs one story on the shared site; after a failure the site ends and its logs are kept. */
export async function inSharedWorld(options: SharedOptions, story: (world: World) => Promise<void>): Promise<void> {
  const shared = await SharedSite.lend(options);
  const world = await World.open(shared.site, shared.tools);
  try {
    await story(world);
    if (shared.crashes[0]) throw shared.crashes[0];
  } catch (error) {
    await world.close();
    await shared.end(true);
    throw new Error(`The story failed; logs are in "${shared.directory}/logs"`, { cause: error });
  }
  await world.close();
  await shared.takeBack();
}

class SharedSite {
  static #kept: SharedSite | undefined;
  site: Site;
  crashes: Error[] = [];
  #mayRevive = false;
  #settings = "";
  #slate: CleanSlate | undefined;
  readonly #open = new AsyncDisposableStack();

  private constructor(readonly directory: string, readonly tools: Tools, site: Site) {
    this.site = site;
  }

  /**
   * Returns the site that this process keeps, or a new one, with the simulated cloud and the settings of the next
   * story.
   */
  static async lend(options: SharedOptions): Promise<SharedSite> {
    const shared = SharedSite.#kept ?? await SharedSite.#start(options);
    SharedSite.#kept = shared;
    await shared.#suit(options);
    return shared;
  }

  /** Ends the site of this process, if there is one. */
  static async close(): Promise<void> {
    await SharedSite.#kept?.end(false);
  }

  static async #start(options: SharedOptions): Promise<SharedSite> {
    const tools = await resolveTools(toolNames);
    const directory = await mkdtemp(join(tmpdir(), "ostler-test-"));
    const { settings = {}, seed = 1 } = options;
    const told: { shared?: SharedSite } = {};
    const site = await startSite({
      ...{ directory, tools, seed, settings, isMeasured: true, audited: ourUsers },
      script: { ...quick, ...options.script },
      onCrash: (crash) => told.shared?.crashes.push(crash),
      onRevival: (line) => told.shared?.revived(line),
    });
    const shared = new SharedSite(directory, tools, site);
    told.shared = shared;
    shared.#settings = JSON.stringify(settings);
    await shared.#note().catch(async (error: unknown) => {
      await shared.end(true);
      throw error;
    });
    return shared;
  }

  async #note(): Promise<void> {
    const { adminKubeconfig, temporal } = this.site.stack;
    // Installs the permissions of hands before the first story, because the admission policies that limit them take
    // effect only some moments later.
    await installManifests(adminKubeconfig, { handsImage: simulatedHands });
    const api = this.#open.use(await ApiConnection.open(adminKubeconfig));
    const connection = await NativeConnection.connect({ address: temporal.address });
    this.#open.defer(() => connection.close());
    this.#slate = await CleanSlate.of(api, new Client({ connection }));
  }

  /** Unexpected exits of Ostler's processes fail the story, although a cluster would restart them. */
  revived(line: string): void {
    if (!this.#mayRevive) this.crashes.push(new Error(line));
  }

  /** Replaces the simulated cloud; restarts Ostler if the story's settings differ from those of the previous story. */
  async #suit({ seed = 1, script = {}, settings = {}, mayRevive = false }: SharedOptions): Promise<void> {
    const { stack, kubeconfigs, ostler } = this.site;
    await this.site.cloud.stop();
    this.crashes = [];
    this.#mayRevive = mayRevive;
    const wanted = JSON.stringify(settings);
    const processes = wanted === this.#settings ? ostler : await this.#restart(settings);
    this.#settings = wanted;
    const kubeconfig = await readFile(kubeconfigs.cloud, "utf8");
    const cloud = await startCloud({ kubeconfig, seed, script: { ...quick, ...script }, log: () => {} });
    const stop = async (): Promise<void> => {
      await stack.stop();
      await cloud.stop();
    };
    this.site = { ...this.site, cloud, ostler: processes, stop };
  }

  async #restart(settings: Record<string, string>): Promise<Site["ostler"]> {
    const { stack, kubeconfigs, ostler } = this.site;
    await Promise.all([ostler.controller.stop(), ostler.worker.stop()]);
    return await startOstler(stack, kubeconfigs, { settings, isMeasured: true });
  }

  /** Cleans the site for the next story; if that fails, the next story gets a new site. */
  async takeBack(): Promise<void> {
    try {
      await this.#slate?.restore();
    } catch (error) {
      process.stderr.write(`The next story gets a new site: ${(error as Error).message}\n`);
      await this.end(false);
    }
  }

  /** Stops all processes; the directory is kept after a failed story. */
  async end(isKept: boolean): Promise<void> {
    if (SharedSite.#kept === this) SharedSite.#kept = undefined;
    await this.#open.disposeAsync();
    await this.site.stop();
    if (!isKept) await rm(this.directory, { recursive: true, force: true });
  }
}

Deno.test.afterAll(() => SharedSite.close());
