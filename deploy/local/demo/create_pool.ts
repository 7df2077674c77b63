import { poolSecrets, secretsNamespace } from "../observer/pool_names.ts";
import { waitUntil } from "../process/wait_until.ts";
import { applyObjects } from "../stack/manifests.ts";
import { guestObjects, guests, machineDeployment, type Manifest, pool, type PoolShape } from "./pool_objects.ts";
import { runPage } from "./runs.ts";
import type { Scene } from "./scene.ts";

/** Longer than a typical demo, so that the time limit of the demo (`Waits.limit`) ends a wait before this timeout. */
const timeoutMs = 3_600_000;

/**
 * Creates the pool, reports each object that Ostler publishes for it, and waits until all machines have joined. Then
 * creates the guests, pods of a Deployment that run on the machines, and waits until they are available.
 */
export async function createPool(scene: Scene, shape: PoolShape, guestImage?: string): Promise<void> {
  const { waits, narrator, runs, site } = scene;
  const { replicas, release } = shape;
  narrator.say("  (machine-controller begins to work about 15 s after its start)");
  const create = (objects: Manifest[]): Promise<void> => applyObjects(site.stack.adminKubeconfig, objects);
  await waits.until("the pool to be created", create([machineDeployment(shape)]));
  const runId = await waits.until("the workflow of the pool to start", runs.next());
  const { temporal } = site.stack;
  if (temporal.uiUrl !== "") narrator.say(`  web UI of this run: ${runPage(temporal, runId)}`);
  await announcePublished(scene);
  await waits.until(`${replicas} machines to join`, runs.converged(release));
  // The guests are created last, because otherwise all of them would run on the first machine that joins.
  await waits.until(`Deployment "${guests.name}" to be created`, create(guestObjects(guestImage)));
  await waits.until(`all pods of Deployment "${guests.name}" to be available`, guestsRunning(scene));
  const { replicas: pods, needed } = guests;
  narrator.say(`  ${pods} pods run on the machines; their PodDisruptionBudget has minAvailable ${needed}`);
}

async function announcePublished(scene: Scene): Promise<void> {
  const { waits, narrator } = scene;
  const announce = async ({ kind, name, path }: Artefact): Promise<void> => {
    await waits.until(`${kind} "${name}"`, present(scene, path));
    narrator.say(`  ${kind} "${name}" is published`);
  };
  await Promise.all(artefacts().map(announce));
}

interface Artefact {
  kind: string;
  name: string;
  path: string;
}

function artefacts(): Artefact[] {
  const config = `${pool.name}-${pool.namespace}-config`;
  const configs = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs";
  const secrets = Object.keys(poolSecrets(pool)).map((name) => ({
    kind: "Secret",
    name,
    path: `/api/v1/namespaces/${secretsNamespace}/secrets/${name}`,
  }));
  return [{ kind: "OperatingSystemConfig", name: config, path: `${configs}/${config}` }, ...secrets];
}

async function present({ api, waits }: Scene, path: string): Promise<void> {
  const look = async (): Promise<void> => void await api.call({ method: "GET", path });
  await waitUntil(look, { what: `"${path}"`, timeoutMs, signal: waits.signal });
}

async function guestsRunning({ api, waits }: Scene): Promise<void> {
  const { namespace, name, replicas } = guests;
  const look = async (): Promise<void> => {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
    const { status } = await api.call({ method: "GET", path }) as { status?: { availableReplicas?: number } };
    const running = status?.availableReplicas ?? 0;
    if (running < replicas) throw new Error(`${running} of ${replicas} pods are available`);
  };
  await waitUntil(look, { what: `all pods of Deployment "${name}" to be available`, timeoutMs, signal: waits.signal });
}
