/**
 * A cluster in memory with scaling groups in a cloud in memory. Workflows, activities, signals of the controller, and
 * the driver of the cloud are real; the API server, its watches and the machines are not. Any number of such clusters
 * share one Temporal server and its worker (`Stage`).
 */
import type { Client } from "@temporalio/client";
import { setTimeout as pause } from "node:timers/promises";
import { useCloud } from "./staged_cluster.ts";
import { simulatedCloud } from "../../activities/clouds/simulated.ts";
import type { Activities } from "../../activities/mod.ts";
import { GroupGround } from "../../deploy/local/cloud/groups/group_ground.ts";
import { readConfig } from "../../workers/config.ts";
import { type PoolNews, PoolNotifier } from "../../workers/pool_notifier.ts";
import { scalingGroup } from "../../activities/backends/scaling_group/mod.ts";
import { startRollout } from "../../workers/start_rollout.ts";
import { keepAutoscaler, tellAutoscalers } from "../../workers/tell_autoscalers.ts";
import { admitJoiningNode, tellJoiningNodes } from "../../workers/tell_joining_nodes.ts";
import { rollOutNodeVersion, tellNodeVersions } from "../../workers/controller.ts";
import { watchPools } from "../../workers/watch_pools.ts";
import { workersOf } from "../../workers/worker_options.ts";
import type { RolloutStatus } from "../integration/pool_objects.ts";
import { breakEachOnce } from "./broken_steps.ts";
import { eventually } from "./eventually.ts";
import { FakeKube, overBudget, type Stored } from "./fake_kube.ts";
import type { Befalls } from "./group_story.ts";
import { GroupSiteMachines } from "./group_site_machines.ts";
import { KubeStreams } from "./kube_streams.ts";
import type { Stage } from "./workflow_stage.ts";

/**
 * Poll intervals in milliseconds: of activities that wait for the cloud, of the controller for objects and for pools,
 * and of stories that wait for a state.
 */
const every = { cloud: 100, objects: 100, pools: 1_000, looks: 25 };

/** Milliseconds for which the cloud may hide a new instance: less than the join deadline. */
const lagMs = 3_000;

const quiet = { info: () => {}, warn: () => {} };

let sites = 0;

/** Path of an object. */
interface Place {
  plural: string;
  namespace?: string;
  name?: string;
}

export class GroupSite implements AsyncDisposable {
  readonly kube = new FakeKube();
  readonly ground: GroupGround;
  readonly cluster = `site-${++sites}`;
  readonly #streams = new KubeStreams(this.kube);
  readonly #ended = new AbortController();
  readonly #told: Promise<unknown>;
  readonly #client: Client;
  readonly #served: Stage["activities"]["clusters"];

  constructor(stage: Stage, befalls: Befalls) {
    this.#served = stage.activities.clusters;
    this.ground = new GroupGround({
      fault: (call) => befalls.fault?.(call),
      lagMs: () => befalls.lagMs ?? 0,
      fleet: (world) => {
        const ills = {
          isDead: (each: Parameters<NonNullable<Befalls["isDead"]>>[0]) => befalls.isDead?.(each) ?? false,
          isUnready: (each: Parameters<NonNullable<Befalls["isDead"]>>[0]) => befalls.isUnready?.(each) ?? false,
          isSilent: (each: Parameters<NonNullable<Befalls["isDead"]>>[0]) => befalls.isSilent?.(each) ?? false,
        };
        return Promise.resolve(new GroupSiteMachines(this.kube, world, ills));
      },
    });
    this.kube.clock = Date.now;
    this.kube.onRequest = (request) => this.#guard(request);
    this.#client = stage.client;
    const kube = this.#streams.client;
    const cloud = simulatedCloud({ url: this.ground.api.url });
    useCloud(kube, () => Promise.resolve({ ...cloud, lookEvery: every.cloud, lagMs }));
    const config = { ...readConfig({ OSTLER_CLUSTER: this.cluster }), taskQueue: "ostler" };
    const [{ activities } = {}] = workersOf(config, { kube, clusterCa: () => "", steps: [] });
    stage.activities.clusters.set(this.cluster, activities as unknown as Activities);
    this.#told = this.#tell(config);
  }

  /**
   * Interrupts each activity of this cluster once before and once after its work; returns the set of interruptions,
   * which grows during the story.
   */
  breakSteps(): Set<string> {
    const { steps, broken } = breakEachOnce(this.#served.get(this.cluster) ?? {});
    this.#served.set(this.cluster, steps as never);
    return broken;
  }

  /** Watches pools and other objects, and signals their workflows, as the controller does, until the cluster ends. */
  async #tell(config: ReturnType<typeof readConfig>): Promise<void> {
    const { signal } = this.#ended;
    const kube = this.#streams.client;
    const client = this.#client;
    const place = { profileNamespace: "kube-system", hasCloud: true };
    const groups = watchPools({
      ...{ kube, log: quiet, signal },
      watchAll: (deps) => scalingGroup(kube).watchAll({ ...deps, ...place }),
    });
    const self = { name: config.cluster, uid: "" };
    const notify = (news: PoolNews) => startRollout({ client, config, self }, news);
    const notifier = new PoolNotifier(groups, { notify, log: quiet, lookEvery: every.pools });
    const telling = { kube, log: quiet, every: { lookEvery: every.objects } };
    await groups.start();
    await Promise.all([
      notifier.run(signal),
      tellJoiningNodes({ ...telling, tell: (name) => admitJoiningNode(client, config, name) }, signal),
      tellAutoscalers({ ...telling, tell: (name) => keepAutoscaler(client, config, name) }, signal),
      tellNodeVersions({ ...telling, tell: (name) => rollOutNodeVersion(client, config, name) }, signal),
    ]);
  }

  /** Stops the controller's part, and terminates every workflow run of this cluster. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#told;
    const runs = this.#client.workflow.list({
      query: `ExecutionStatus = "Running" AND KubernetesCluster = "${this.cluster}"`,
    });
    for await (const { workflowId } of runs) {
      await this.#client.workflow.getHandle(workflowId).terminate("its story is over").catch(() => undefined);
    }
    await this.ground[Symbol.asyncDispose]();
  }

  get<T>(path: string): Promise<T | undefined> {
    const { plural, namespace, name = "" } = placeOf(path);
    return Promise.resolve(this.kube.get(plural, name, namespace) as T | undefined);
  }

  list<T>(path: string): Promise<T[]> {
    const { plural, namespace } = placeOf(path);
    const all = this.kube.all(plural).filter(({ metadata }) => !namespace || metadata.namespace === namespace);
    return Promise.resolve(all as unknown as T[]);
  }

  async create(path: string, body: object): Promise<void> {
    const { custom } = this.kube.client;
    const { plural, namespace } = placeOf(path);
    const given = { group: "", version: "", plural, body: { ...body, ...statusOf(plural, body) } };
    if (namespace === undefined) await custom.createClusterCustomObject(given);
    else await custom.createNamespacedCustomObject({ ...given, namespace });
  }

  async patch(path: string, body: object): Promise<void> {
    const { plural, namespace, name = "" } = placeOf(path);
    const given = { group: "", version: "", plural, name, body };
    const { custom } = this.kube.client;
    if (namespace === undefined) await custom.patchClusterCustomObject(given);
    else await custom.patchNamespacedCustomObject({ ...given, namespace });
  }

  async remove(path: string): Promise<void> {
    const { plural, namespace, name = "" } = placeOf(path);
    const { custom } = this.kube.client;
    const given = { group: "", version: "", plural, name };
    if (namespace === undefined) await custom.deleteClusterCustomObject(given);
    else await custom.deleteNamespacedCustomObject({ ...given, namespace });
  }

  async until<T>(what: string, look: () => Promise<T | undefined | false>, seconds = 90): Promise<T> {
    return await eventually(what, look, { withinMs: seconds * 1000, pausesMs: [every.looks, every.looks] });
  }

  async status(name: string): Promise<RolloutStatus | undefined> {
    const rollout = await this.get<Stored & { status?: RolloutStatus }>(
      `/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts/${name}`,
    );
    return rollout?.status;
  }

  /**
   * Waits so long that any remaining action has happened: activities that wait for the cloud poll ten times meanwhile.
   */
  async idle(): Promise<void> {
    await pause(10 * every.cloud);
  }

  /** Sets a condition of a node, as a monitoring agent does. */
  report(name: string, condition: { type: string; status: string }): void {
    const node = this.kube.get("nodes", name);
    const status = node?.["status"] as { conditions: object[] };
    const conditions = [...status.conditions, { ...condition, lastTransitionTime: new Date().toISOString() }];
    this.kube.put("nodes", { ...node, metadata: { ...node?.metadata, name }, status: { ...status, conditions } });
  }

  // Refuses evictions in a namespace that has a PodDisruptionBudget, because the budgets of these stories allow no
  // disruption.
  #guard(request: string): void {
    const [, namespace] = /^evict pods ([^/]+)\//.exec(request) ?? [];
    if (namespace === undefined) return;
    if (this.kube.all("poddisruptionbudgets").some(({ metadata }) => metadata.namespace === namespace)) {
      throw overBudget();
    }
  }
}

function placeOf(path: string): Place {
  const [, , , ...parts] = path.split("/");
  const rest = path.startsWith("/apis/") ? parts.slice(1) : parts;
  const [first = "", namespace = "", plural = "", name] = rest;
  if (first !== "namespaces" || plural === "") {
    return { plural: first, ...(namespace === "" ? {} : { name: namespace }) };
  }
  return { plural, namespace, ...(name === undefined ? {} : { name }) };
}

/**
 * Returns the status that other controllers would give a new object: a pod runs, a PodDisruptionBudget allows no
 * disruption.
 */
function statusOf(plural: string, body: object): object {
  if (plural === "pods") return { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
  if (plural !== "poddisruptionbudgets") return {};
  const { minAvailable } = (body as { spec: { minAvailable: number } }).spec;
  return { status: { disruptionsAllowed: 0, currentHealthy: minAvailable, desiredHealthy: minAvailable } };
}
