/**
 * Three real machines with guests (pods that answer HTTP), and visitors that send requests to the guests all the time.
 */
import { readFile } from "node:fs/promises";
import { type Connection, connectWith } from "../../../deploy/local/cloud/kube.ts";
import type { ContainerHost } from "../../../deploy/local/machines/container_host.ts";
import { policiesPath, poolsPath, rolloutPolicy } from "../../integration/pool_objects.ts";
import type { World } from "../../integration/world.ts";
import { guestObjects, guests } from "./guests.ts";
import { PodRoutes } from "./pod_routes.ts";
import { PoolView } from "./pool_view.ts";
import { realPool, withMachines } from "../../machines/real_machines.ts";
import type { Scene } from "./rollouts.ts";
import { Visitors } from "./visitors.ts";

const labels = { carries: "guests" };
const profileName = "guest-profile";

/** Path of the profile that the machines boot from. */
export const profilePath =
  `/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemprofiles/${profileName}`;

/** Path of the policy that the pool is rolled by. */
export const policyPath = `${policiesPath()}/guests`;

/** Debian's profile under another name, with additions. */
export function guestProfile(
  version: string,
  files: { path: string; data: string }[],
): { metadata: object; spec: object } {
  const kind = { apiVersion: "operatingsystemmanager.k8c.io/v1alpha1", kind: "OperatingSystemProfile" };
  return {
    ...kind,
    metadata: { name: profileName, namespace: "kube-system" },
    spec: {
      osName: "debian",
      osVersion: "12",
      version,
      extends: { name: "osp-debian" },
      provisioningConfig: { files: files.map(({ path, data }) => ({ path, content: { inline: { data } } })) },
    },
  };
}

/** Runs a story once the guest pods are ready on three machines with kubelet 1.35.3 and the visitors get answers. */
export async function withGuests(story: (scene: Scene) => Promise<void>): Promise<void> {
  await withMachines({}, async (world, host) => {
    await using parts = new AsyncDisposableStack();
    const connection = connectWith(await readFile(world.site.stack.adminKubeconfig, "utf8"));
    parts.defer(() => connection.close());
    const routes = await PodRoutes.open(connection);
    parts.defer(() => routes.close());
    const pool = new PoolView(world);
    await createPool(world, host);
    await pool.until("three machines", ({ phase, updated }) => phase === "Converged" && updated === "3/3");
    const visitors = await settle({ world, host, connection });
    parts.defer(() => visitors.stop());
    await story({ world, host, pool, visitors });
  });
}

async function createPool(world: World, host: ContainerHost): Promise<void> {
  await world.create(profilePath.slice(0, profilePath.lastIndexOf("/")), guestProfile("v1.0.0", []));
  const policy = { onFailure: "Rollback", maxFailed: 1, onProfileChange: "Roll", join: { attempts: 0 } };
  await world.create(policiesPath(), rolloutPolicy("guests", policy, labels));
  await world.create(poolsPath(), realPool(host, { replicas: 3, kubelet: "1.35.3", profile: profileName, labels }));
}

async function settle(
  { world, host, connection }: { world: World; host: ContainerHost; connection: Connection },
): Promise<Visitors> {
  for (const [path, body] of guestObjects(host.mirror.images.podServer)) await world.create(path, body);
  const { namespace, name: service, port } = guests;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  await world.until("the guests to be ready, one on each machine", async () => {
    const found = await world.list<Pod>(pods);
    const ready = found.filter(({ status }) =>
      status.conditions?.some((each) => each.type === "Ready" && each.status === "True")
    );
    return new Set(ready.map(({ spec }) => spec.nodeName)).size === guests.replicas;
  }, 120);
  return await Visitors.start({ connection, namespace, service, port, perSecond: 50 });
}

interface Pod {
  spec: { nodeName?: string };
  status: { conditions?: { type: string; status: string }[] };
}
