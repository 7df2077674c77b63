/** Ostler as a platform team has it: a release of the chart, whose pods live on machines of a pool of its own. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runHelm } from "../../deploy/local/chart/render_chart.ts";
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";
import { freePorts } from "../../deploy/local/process/free_ports.ts";
import { Relay } from "../support/relay.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import type { World } from "../integration/world.ts";

const namespace = "ostler-system";
const pods = `/api/v1/namespaces/${namespace}/pods`;
const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;

/** The labels of machines that Ostler's pods live on. */
export const homeLabels = { carries: "ostler" };

/** The repository of its image in the mirror. */
export const repository = "ostler/ostler";

interface Pod {
  metadata: { name: string; labels: Record<string, string>; deletionTimestamp?: string };
  spec: { nodeName?: string };
}

export class Installation implements AsyncDisposable {
  readonly #valuesFile: string;

  private constructor(readonly world: World, readonly temporal: Relay, readonly helm: string) {
    this.#valuesFile = join(world.site.stack.directory, "values.json");
  }

  /** Prepares what pods need of this host: the way to the API server and to Temporal. */
  static async prepare(world: World, host: ContainerHost): Promise<Installation> {
    const { stack } = world.site;
    const [port = 0] = await freePorts(1);
    const [, temporalPort] = stack.temporal.address.split(":");
    const relay = await Relay.open({
      at: { host: host.address, port },
      to: { host: "127.0.0.1", port: Number(temporalPort) },
    });
    const { helm } = await resolveTools(["helm"]);
    const installation = new Installation(world, relay, helm);
    const settings = { ...flagsOf(host.settings), "temporal-address": `${host.address}:${port}` };
    const image = { repository: `${new URL(host.mirror.url).host}/${repository}` };
    const values = { image, settings, nodeSelector: homeLabels, networkPolicy: { enabled: true } };
    await writeFile(installation.#valuesFile, JSON.stringify(values));
    return installation;
  }

  /** Installs a version, or updates to it, and waits for its pods to be Ready. */
  async helmTo(command: "install" | "upgrade", tag: string): Promise<void> {
    const { stack } = this.world.site;
    // Machines that stand already were made with the plain manifests.
    const adopted = command === "install" ? ["--take-ownership"] : [];
    const args = [command, "ostler", ...adopted, "--wait", "--timeout=6m", `--kubeconfig=${stack.adminKubeconfig}`];
    const env = { KUBECACHEDIR: stack.directory };
    await runHelm(args, { helm: this.helm, env, values: [this.#valuesFile], set: [`image.tag=${tag}`] });
  }

  /** The pods of a process that nobody has begun to delete. */
  async pods(process: "controller" | "worker"): Promise<Pod[]> {
    const all = await this.world.list<Pod>(pods);
    return all.filter(({ metadata }) =>
      metadata.labels["ostler.dev/process"] === process && metadata.deletionTimestamp === undefined
    );
  }

  /** The controller's pod that holds the lease; undefined while none of those that stand does. */
  async leader(): Promise<string | undefined> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    const leases = await this.world.list<{ spec: { holderIdentity?: string } }>(path);
    const names = (await this.pods("controller")).map(({ metadata }) => metadata.name);
    return names.find((name) => leases.some(({ spec }) => spec.holderIdentity?.startsWith(`${name}-`)));
  }

  /** Deletes the leader's pod, and waits for another one to lead. */
  async changeLeader(): Promise<void> {
    const before = await this.world.until("a leader", () => this.leader());
    await this.world.remove(`${pods}/${before}`);
    await this.world.until("another leader", async () => {
      const now = await this.leader();
      return now !== undefined && now !== before;
    });
  }

  /** The nodes that its pods are on. */
  async homes(): Promise<string[]> {
    const all = [...await this.pods("controller"), ...await this.pods("worker")];
    return [...new Set(all.map(({ spec }) => spec.nodeName ?? ""))].sort();
  }

  /** Whether every Deployment has all its pods. */
  async isWhole(): Promise<boolean> {
    type Deployment = { spec: { replicas: number }; status: { readyReplicas?: number } };
    const all = await this.world.list<Deployment>(deployments);
    return all.length > 0 && all.every(({ spec, status }) => status.readyReplicas === spec.replicas);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.temporal[Symbol.asyncDispose]();
  }
}

/** Settings by environment variable, as the chart has them: by flag. */
function flagsOf(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings);
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replace("OSTLER_", "").toLowerCase().replaceAll("_", "-"), value]),
  );
}
