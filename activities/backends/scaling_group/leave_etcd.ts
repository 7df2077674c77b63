/** A machine is a member of etcd no more before its cloud is told to take it away: one that is gone would count for the quorum. */
import type { Cluster } from "../../cluster.ts";
import type { Instance } from "../../clouds/driver.ts";
import { unavailable } from "../../failures.ts";
import { openEtcd } from "../../node_version/cluster_etcd.ts";
import { placeIn } from "./boots.ts";
import { memberIdOf } from "./member.ts";
import type { CloudSight } from "./sight.ts";

/** Transient while nobody can tell which member it is, or those that would remain could decide nothing. */
export async function leaveEtcd(
  kube: Cluster,
  seen: Pick<CloudSight, "instances" | "nodes">,
  instance: Instance,
): Promise<void> {
  const etcd = await openEtcd(kube);
  const survey = await etcd.survey();
  const place = placeIn(survey, seen, instance);
  if (place === "Outside" || place === "Absent") return;
  if ("unknown" in place) {
    throw unavailable(`Failed to remove machine "${memberIdOf(instance)}" from etcd: ${place.unknown}`);
  }
  const { id } = place.member;
  if (id === survey.leader) await etcd.moveLeadership(id);
  await etcd.removeMember(id);
}
