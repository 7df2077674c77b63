/** Stories on machines that really boot: the same site as in the integration tests, with containers as machines. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { DockerApi } from "../../deploy/local/engine/docker_api.ts";
import { type Fitness, judgeEngine } from "../../deploy/local/engine/engine_fitness.ts";
import { engineSearch, findEngine } from "../../deploy/local/engine/open_run.ts";
import { isDebianLike } from "../../deploy/local/engine/install_engine.ts";
import type { LayoutImage } from "../../deploy/local/mirror/layout_image.ts";
import { type ContainerHost, openContainerHost } from "../../deploy/local/machines/container_host.ts";
import { cacheFolder } from "../../deploy/local/tools/environment.ts";
import { type NodePrograms, resolveNodePrograms } from "../../deploy/local/tools/node_programs.ts";
import type { ToolProgress } from "../../deploy/local/tools/progress.ts";
import { machineDeployment, type PoolOverrides } from "../integration/pool_objects.ts";
import { withWorld, type World, type WorldOptions } from "../integration/world.ts";

/**
 * Whether tests may install a missing container engine. `.ci/run` allows it; users may not want an engine that they did
 * not ask for.
 */
export const mayInstall = Deno.env.get("OSTLER_INSTALL_DOCKER") === "true";

/** Why no machine can run here; undefined when one can. */
export const missing = await whatIsMissing();

/**
 * Registers a test that needs machines, and possibly more; where machines cannot run, the test is skipped with the
 * reason in its name.
 */
export function machineTest(
  name: string,
  test: (t: Deno.TestContext) => Promise<void>,
  alsoMissing?: string,
): void {
  const reason = missing ?? alsoMissing;
  const title = reason === undefined ? name : `${name} (skipped: ${reason})`;
  Deno.test({ name: title, ignore: reason !== undefined, fn: test });
}

export interface MachinesOptions extends Omit<WorldOptions, "machines" | "script"> {
  layouts?: readonly LayoutImage[];
  /** Whether the network enforces NetworkPolicies. */
  policies?: boolean;
}

/** Runs one story on its own host and site; nothing of them remains. */
export async function withMachines(
  { layouts = [], policies = false, ...options }: MachinesOptions,
  story: (world: World, host: ContainerHost) => Promise<void>,
): Promise<void> {
  const host = await openHost(() => {}, layouts);
  try {
    await withWorld({ ...options, machines: host }, async (world) => {
      if (policies) await host.enforcePolicies(await readFile(world.site.stack.adminKubeconfig, "utf8"));
      await story(world, host);
    });
  } finally {
    await host.stop();
  }
}

/** Opens a host for machines, without a site; the first call on a computer takes some minutes. */
export async function openHost(
  onProgress: (text: string) => void = () => {},
  layouts: readonly LayoutImage[] = [],
  more: Pick<NodePrograms, "kubeadm" | "kubeadm-1.35"> = {},
): Promise<ContainerHost> {
  const tools = cacheFolder(process.env);
  if (tools === undefined) {
    throw new Error("Failed to find a folder for images and packages: neither HOME nor XDG_CACHE_HOME is set");
  }
  return await openContainerHost({
    cacheFolder: join(tools, "..", "machines"),
    programs: { ...await resolveNodePrograms({ onProgress: buildsOnly(onProgress) }), ...more },
    installEngine: mayInstall,
    ...{ layouts, onProgress },
  });
}

/** A MachineDeployment whose machines boot as containers: by default Debian 12. */
export function realPool(host: ContainerHost, { annotations, ...overrides }: PoolOverrides = {}): object {
  const debian = { profile: "osp-debian", operatingSystem: "debian", image: "docker://images.example/debian:12" };
  return machineDeployment({
    ...debian,
    kubelet: "1.36.1",
    ...overrides,
    annotations: { ...host.poolAnnotations, ...annotations },
  });
}

function buildsOnly(onProgress: (text: string) => void): (progress: ToolProgress) => void {
  const told = new Set<string>();
  return ({ tool, state }) => {
    if (state === "found" || told.has(`${tool} ${state}`)) return;
    told.add(`${tool} ${state}`);
    onProgress(`${tool} ${state}`);
  };
}

async function whatIsMissing(): Promise<string | undefined> {
  const judge = (socketPath: string): Promise<Fitness> => judgeEngine(new DockerApi(socketPath), {});
  const { engine, unfit } = await findEngine(engineSearch(process.env), judge);
  if (engine !== undefined) return undefined;
  const osRelease = await readFile("/etc/os-release", "utf8").catch(() => "");
  if (mayInstall && process.getuid?.() === 0 && isDebianLike(osRelease)) return undefined;
  return `no Docker engine answers: ${unfit.join("; ")}`;
}
