/**
 * A running test site (API server, controllers, Temporal and the processes of Ostler), and the few operations that a
 * story needs. Everything is real except the cloud.
 */
import { Client } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startObserver } from "../../deploy/local/observer/observer.ts";
import type { ObserverReport } from "../../deploy/local/observer/observer_report.ts";
import type { ScriptChange } from "../../deploy/local/cloud/script.ts";
import { NotYet, waitFor, waitUntil } from "../../deploy/local/process/wait_until.ts";
import type { ManagementKubeconfigs } from "../../deploy/local/site/ostler_processes.ts";
import { startSite } from "../../deploy/local/site/site.ts";
import type { MachineGround, Site } from "../../deploy/local/site/site.ts";
import { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { ApiObjects } from "../../deploy/local/stack/api_objects.ts";
import type { Cluster } from "../../deploy/local/stack/stack.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { poolPath } from "./pool_objects.ts";
import type { RolloutStatus } from "./pool_objects.ts";

export interface WorldOptions {
  seed?: number;
  script?: ScriptChange;
  settings?: Record<string, string>;
  /** Kubeconfigs of a management cluster, which has the profiles and configs. */
  management?: ManagementKubeconfigs;
  /** Whether controller and worker serve metrics. */
  isMeasured?: boolean;
  /** Users whose requests the API server's audit log keeps. */
  audited?: string[];
  /** Seconds after which the API server ends a watch; it adds a random time of up to the same length. */
  watchSeconds?: number;
  /** The type of machines and their environment; by default simulated. */
  machines?: MachineGround;
  /** A cluster to use instead of a new one on loopback. */
  cluster?: Cluster;
  /** Whether a story tolerates unexpected exits of Ostler's processes, such as of a controller without its Lease. */
  mayRevive?: boolean;
}

export const toolNames = [
  ...["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] as const,
  ...["temporal", "tctl", "machine-controller"] as const,
];

/** Absolute paths by name. */
export type Tools = Record<typeof toolNames[number], string>;

/** Short delays of the simulated machines, so that a story takes seconds. */
export const quick: ScriptChange = {
  bootSeconds: { min: 0.3, max: 1 },
  readySeconds: { min: 0.1, max: 0.5 },
  podStartSeconds: 0.2,
  maxPodGraceSeconds: 1,
};

/** Runs one story on its own site; its directory is kept only when the story fails. */
export async function withWorld(options: WorldOptions, story: (world: World) => Promise<void>): Promise<void> {
  const tools = await resolveTools(toolNames);
  const directory = await mkdtemp(join(tmpdir(), "ostler-test-"));
  const crashes: Error[] = [];
  const site = await startSite({
    directory,
    tools,
    seed: options.seed ?? 1,
    script: { ...quick, ...options.script },
    settings: options.settings ?? {},
    isMeasured: options.isMeasured ?? false,
    ...(options.management ? { management: options.management } : {}),
    audited: options.audited ?? [],
    ...(options.watchSeconds === undefined ? {} : { watchSeconds: options.watchSeconds }),
    ...(options.machines ? { machines: options.machines } : {}),
    ...(options.cluster ? { cluster: options.cluster } : {}),
    onCrash: (crash) => crashes.push(crash),
    // Unexpected exits of Ostler's processes fail the story, although a cluster would restart them.
    onRevival: (line) => void (options.mayRevive || crashes.push(new Error(line))),
  });
  const world = await World.open(site, tools);
  try {
    await story(world);
    if (crashes[0]) throw crashes[0];
  } catch (error) {
    throw new Error(`The story failed; logs are in "${directory}/logs"`, { cause: error });
  } finally {
    await world.close();
    await site.stop();
  }
  await rm(directory, { recursive: true, force: true });
}

/** The limits for a pool, by default "pool", during a story. */
export interface Expected {
  pool?: string;
  /** Minimum number of Ready nodes at any time. */
  replicas: number;
  /** Maximum number of machines above `replicas`. */
  surge?: number;
}

export class World extends ApiObjects {
  private constructor(
    readonly site: Site,
    readonly tools: Tools,
    api: ApiConnection,
    readonly temporal: Client,
  ) {
    super(api);
  }

  static async open(site: Site, tools: Tools): Promise<World> {
    // Uses the native connection: Deno 2.9 crashes when the server ends an idle connection of Deno's own HTTP/2 client
    // (github.com/denoland/deno/issues/36788).
    const connection = await NativeConnection.connect({ address: site.stack.temporal.address });
    return new World(site, tools, await ApiConnection.open(site.stack.adminKubeconfig), new Client({ connection }));
  }

  async close(): Promise<void> {
    this.api[Symbol.dispose]();
    await this.temporal.connection.close();
  }

  /** Lists a collection; waits until a new kind is served. */
  override async list<T>(path: string): Promise<T[]> {
    return await waitUntil(() => super.list<T>(path), { what: path, timeoutMs: 10_000 });
  }

  /**
   * Waits until `look` returns something, for at most `seconds`; a call of `look` that takes more than 5 s is abandoned
   * and repeated.
   */
  async until<T>(what: string, look: () => Promise<T | undefined | false>, seconds = 90): Promise<T> {
    return await waitFor(look, { what, timeoutMs: seconds * 1000 });
  }

  /** Makes a change under an independent observer; fails when a promise was broken or a moment was not observed. */
  async observed(expected: Expected | number, change: () => Promise<void>): Promise<ObserverReport> {
    const { adminKubeconfig } = this.site.stack;
    const promises = typeof expected === "number" ? { replicas: expected } : expected;
    const options = { kubeconfig: adminKubeconfig, namespace: "kube-system", pool: "pool", ...promises };
    const observer = await startObserver(options);
    observer.arm();
    await change().catch(async (error: unknown) => {
      await observer.stop();
      throw error;
    });
    const report = await observer.stop();
    assert.deepEqual(report.violations, []);
    assert.ok(report.ok, JSON.stringify(report));
    return report;
  }

  status(name: string, namespace = "kube-system"): Promise<RolloutStatus | undefined> {
    const path = `/apis/ostler.dev/v1alpha1/namespaces/${namespace}/rollouts/${name}`;
    return this.get<{ status?: RolloutStatus }>(path).then((rollout) => rollout?.status);
  }

  /**
   * Waits until the status of a rollout has this phase, and belongs to the newest generation of the MachineDeployment.
   */
  async untilPhase(
    name: string,
    phase: string,
    { namespace = "kube-system", seconds = 180 }: { namespace?: string; seconds?: number } = {},
  ): Promise<RolloutStatus> {
    return await this.until(`rollout "${name}" ${phase}`, async () => {
      const status = await this.status(name, namespace);
      if (status?.phase !== phase) throw new NotYet(status);
      const pool = await this.get<{ metadata: { generation: number } }>(poolPath(name, namespace));
      if (status.observedGeneration !== pool?.metadata.generation) throw new NotYet(status);
      return status;
    }, seconds);
  }
}
