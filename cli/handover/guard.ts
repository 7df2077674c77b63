/** Whether somebody else is at work who must not be: by their Lease, as seen for a while, and by their Deployments. */
import { osmLeases } from "../../activities/handover/names.ts";
import { type LeaseSeen, readAtWork, readLease } from "../../activities/handover/presence.ts";
import { sharedNamespace } from "../../activities/kube/client.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";

/** Milliseconds since the last renewal after which nobody is waited for: no two clocks are that far apart. */
const longGone = 3_600_000;

/** Reads a Lease until it is renewed, or has not been for as long as it lasts: then who held it has lost it. */
export async function renewedLease(
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

/** What is at work, in words, with what stops it; nothing where nothing is. */
export async function whoIsAtWork(
  world: World,
  cluster: NamedCluster,
  asked: { what: string; leases: { namespace: string; name: string }[]; deployments: string[] },
): Promise<string[]> {
  const { what, leases, deployments } = asked;
  const stops = deployments.map((name) => `\`${scaleDown(name)}\``);
  if (deployments.length > 0) {
    const names = deployments.map((name) => `"${name}"`).join(", ");
    return [`${what} is at work: Deployment ${names} is not scaled down; first ${stops.join(", ")}`];
  }
  const renewed = await Promise.all(leases.map((where) => renewedLease(world, cluster, where)));
  return renewed.flatMap((lease) =>
    lease ? [`${what} is at work: Lease "${lease.lease}" is renewed by "${lease.holder}"; stop that first`] : []
  );
}

function scaleDown(deployment: string): string {
  const [namespace, name] = deployment.split("/");
  return `kubectl -n ${namespace} scale deployment ${name} --replicas=0`;
}

/** Why nobody else may write now. */
export async function osmAtWork(world: World, cluster: NamedCluster, profileNamespace: string): Promise<string[]> {
  const { osm } = await readAtWork(cluster.kube);
  // Of two clusters each may have one.
  const namespaces = [...new Set([profileNamespace, sharedNamespace(cluster.kube, profileNamespace)])];
  const leases = namespaces.flatMap((namespace) => osmLeases.map((name) => ({ namespace, name })));
  return await whoIsAtWork(world, cluster, { what: "Operating System Manager", leases, deployments: osm });
}
