/** A NodePool named "edge", its policy, and the actions of its administrator. */
import { poolOfNodePool, workflowIdOf } from "../../../../../workflows/commands/start_options.ts";
import { NotYet } from "../../../process/wait_until.ts";
import { applyObjects } from "../../../stack/manifests.ts";
import type { Cluster } from "../cluster.ts";
import type { StoryScene } from "../story.ts";

const kind = "/apis/ostler.dev/v1alpha1/namespaces/kube-system";
const named = { metadata: { namespace: "kube-system", name: "edge", labels: { kind: "edge" } } };

/** Access to the pool's cluster; the stories of the demo and tests provide it. */
interface Place {
  readonly cluster: Pick<Cluster, "kubeconfig" | "get" | "list" | "patch" | "until">;
}

/** The fields of the status of the pool's Rollout that are read. */
export interface Status {
  phase?: string;
  reason?: string;
  message?: string;
  image?: string;
  quarantine?: { reason: string }[];
  underway?: unknown[];
}

interface EdgePool {
  /** Labels by which the NodePool selects its nodes. */
  readonly labels: Readonly<Record<string, string>>;
  readonly driver: "bootc" | "ostree";
  readonly reference: string;
  /** The spec of the pool's policy without its selector; undefined for a pool without a policy. */
  readonly policy?: object;
}

/** Creates the policy, if there is one, then the pool. */
export async function createEdge({ cluster }: Place, edge: EdgePool): Promise<void> {
  const policy = {
    ...{ apiVersion: "ostler.dev/v1alpha1", kind: "RolloutPolicy", ...named },
    spec: { selector: { matchLabels: named.metadata.labels }, ...edge.policy },
  };
  const { labels: matchLabels, driver, reference } = edge;
  const pool = {
    ...{ apiVersion: "ostler.dev/v1alpha1", kind: "NodePool", ...named },
    spec: { nodeSelector: { matchLabels }, driver, image: { reference } },
  };
  await applyObjects(cluster.kubeconfig, edge.policy === undefined ? [pool] : [policy, pool]);
}

/** Changes the image of the pool. */
export async function ask({ cluster }: Place, reference: string): Promise<void> {
  await cluster.patch(`${kind}/nodepools/edge`, { spec: { image: { reference } } });
}

/** Waits until the pool's Rollout reports this phase and image, and returns its status. */
export async function stands(place: Place, phase: string, reference: string): Promise<Status> {
  return await statusOf(place, `the Rollout to have phase ${phase} and image ${reference}`, (status) => {
    return status.phase === phase && status.image === reference;
  });
}

/**
 * Waits until the pool is halted and no step is in progress: a halted pool still finishes the updates in progress, even
 * those whose node is not cordoned yet.
 */
export async function restsHalted(place: Place): Promise<Status> {
  return await statusOf(place, "the end of the updates in progress", ({ phase, underway = [] }) => {
    return phase === "Halted" && underway.length === 0;
  });
}

async function statusOf({ cluster }: Place, what: string, isReached: (status: Status) => boolean): Promise<Status> {
  return await cluster.until(what, async () => {
    const status = (await cluster.get<{ status?: Status }>(`${kind}/rollouts/node-pool.edge`))?.status;
    if (status && isReached(status)) return status;
    throw new NotYet(status);
  }, 300);
}

/** Aborts the rollout of the image that fails to boot, with the update `abort` to the pool's workflow. */
export async function abort({ client }: StoryScene): Promise<void> {
  const handle = client.workflow.getHandle(workflowIdOf(poolOfNodePool("kube-system", "edge")));
  await handle.executeUpdate("abort", { args: [{ by: "the story", reason: "the image fails to boot" }] });
}

/** Kills Ostler's worker process, and starts it again. */
export async function killWorker({ waits, site }: StoryScene): Promise<void> {
  const { worker } = site.ostler;
  worker.kill("SIGKILL");
  await waits.until("the worker to exit", worker.exit);
  await waits.until("the worker to start again", worker.start(waits.signal));
}

/** Returns the names of the cordoned nodes. */
export async function cordoned({ cluster }: Place): Promise<string[]> {
  const nodes = await cluster.list<{ metadata: { name: string }; spec: { unschedulable?: boolean } }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.unschedulable).map(({ metadata }) => metadata.name);
}
