/** A newcomer of a control plane has joined once its member of etcd votes and is well, not once its kubelet is Ready (K27). */
import type { Cluster } from "../../cluster.ts";
import type { Instance } from "../../clouds/driver.ts";
import { doubtsOf } from "../../etcd/judge.ts";
import { openEtcd } from "../../node_version/cluster_etcd.ts";
import { isOfControlPlane, placeIn } from "./boots.ts";
import type { Asked, CloudSight } from "./sight.ts";

/** What it lacks, in words. A learner that is in sync is given its vote: who joined it may have given up. */
export async function joinEtcd(
  kube: Cluster,
  { asked, seen }: { asked: Asked; seen: CloudSight },
  instance: Instance,
): Promise<string | undefined> {
  if (!isOfControlPlane(asked, seen)) return undefined;
  const etcd = await openEtcd(kube);
  const survey = await etcd.survey();
  const place = placeIn(survey, seen, instance);
  if (place === "Outside") return undefined;
  if (place === "Absent") return "the node is not a member of etcd yet";
  if ("unknown" in place) return `cannot determine whether the node is a member of etcd: ${place.unknown}`;
  const { id, isLearner } = place.member;
  if (isLearner) {
    const answer = await etcd.promoteLearner(id);
    if (answer === "NotInSync") return "its etcd member is a learner that is not in sync yet";
    if (answer === "Promoted") return "its etcd member was just promoted to a voter";
  }
  return doubtsOf(survey).find(({ member }) => member === id)?.says;
}
