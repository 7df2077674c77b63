/** Detects whether another controller is still running, by its Lease and by its Deployments. */
import { osmLeases } from "../../activities/handover/names.ts";
import { type LeaseSeen, readAtWork, readLease } from "../../activities/handover/presence.ts";
import { sharedNamespace } from "../../activities/kube/client.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";

/**
 * A Lease counts as abandoned this many milliseconds after its last renewal; this is long, because the holder's clock
 * may differ by some minutes.
 */
const longGone = 3_600_000;

/** Watches a Lease for one lease duration; returns the Lease if its holder renews it in that time, else undefined. */
async function renewedLease(
  world: World,
  cluster: NamedCluster,
  where: { namespace: string; name: string },
): Promise<LeaseSeen | undefined> {
  const first = await readLease(cluster.kube, where);
  if (first === undefined || world.now() - Date.parse(first.renewTime) > longGone) return undefined;
  const until = world.now() + first.seconds * 1000;
  while (world.now() < until) {
    await world.sleep(1000);
    const now = await readLease(cluster.kube, where);
    if (now === undefined) return undefined;
    if (now.renewTime !== first.renewTime) return now;
  }
  return undefined;
}

/**
 * Returns why the controller counts as running, with the remedy: one sentence about its `deployments` if there are any,
 * else one for each Lease that is still renewed. Returns none if the controller is stopped.
 */
export async function whoIsAtWork(
  world: World,
  cluster: NamedCluster,
  asked: { what: string; leases: { namespace: string; name: string }[]; deployments: string[] },
): Promise<string[]> {
  const { what, leases, deployments } = asked;
  const stops = deployments.map((name) => `\`${scaleDown(name)}\``);
  if (deployments.length > 0) {
    const names = deployments.map((name) => `Deployment "${name}"`).join(", ");
    return [`${what} is not scaled down to 0 replicas: ${names}; first run ${stops.join(", ")}`];
  }
  const renewed = await Promise.all(leases.map((where) => renewedLease(world, cluster, where)));
  return renewed.flatMap((lease) =>
    lease ? [`${what} is running: "${lease.holder}" renews Lease "${lease.lease}"; stop that process first`] : []
  );
}

function scaleDown(deployment: string): string {
  const [namespace, name] = deployment.split("/");
  return `kubectl -n ${namespace} scale deployment ${name} --replicas=0`;
}

/** Returns why Operating System Manager counts as running, with the remedy; none if it is stopped. */
export async function osmAtWork(world: World, cluster: NamedCluster, profileNamespace: string): Promise<string[]> {
  const { osm } = await readAtWork(cluster.kube);
  // The cluster of the pools and the management cluster may each have a Lease of Operating System Manager.
  const namespaces = [...new Set([profileNamespace, sharedNamespace(cluster.kube, profileNamespace)])];
  const leases = namespaces.flatMap((namespace) => osmLeases.map((name) => ({ namespace, name })));
  return await whoIsAtWork(world, cluster, { what: "Operating System Manager", leases, deployments: osm });
}
