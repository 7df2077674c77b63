/**
 * Control planes join one at a time (K27): etcd takes one new member at a time, and a record of one stands in the way of the
 * next until its member votes and is well. Whoever gives join tickets gives none while such a record is there.
 */
import type { Cluster } from "../cluster.ts";
import type { EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { doubtsOf } from "../etcd/judge.ts";
import { type Place, placeOf } from "../etcd/place.ts";
import { failureTypeOf } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { listClusterObjects } from "../kube/resources.ts";
import { type JoiningNode, joiningNodes } from "../kube/update_kinds.ts";
import { readGroupNodes } from "../backends/scaling_group/group_nodes.ts";
import { readSurvey } from "./cluster_etcd.ts";

/** However long a record may stand: one whose node never comes keeps no other control plane out for longer. */
const longestMs = 3_600_000;

/**
 * The record that comes before this one of a control plane, in words; undefined where there is none. `isOver` tells of one
 * whose deadline has passed.
 */
export async function othersFirst(
  kube: Kube,
  record: JoiningNode,
  isOver: (record: JoiningNode) => boolean,
): Promise<string | undefined> {
  if (!record.spec.iscontrolplane) return undefined;
  const all = await listClusterObjects(kube, joiningNodes);
  const isOld = ({ metadata }: JoiningNode): boolean => Date.now() > Date.parse(metadata.creationTimestamp) + longestMs;
  const first = all.find((each) =>
    each.spec.iscontrolplane && isBefore(each.metadata, record.metadata) && !isOver(each) && !isOld(each)
  );
  return first &&
    `Waiting for control plane "${first.spec.name}" to join: JoiningNode "${first.metadata.name}" is older`;
}

function isBefore(one: JoiningNode["metadata"], other: JoiningNode["metadata"]): boolean {
  const [a, b] = [Date.parse(one.creationTimestamp), Date.parse(other.creationTimestamp)];
  return a < b || (a === b && one.name < other.name);
}

/** What a node lacks to be a control plane, in words. Where nobody gave access to etcd its kubelet is all that is known. */
export async function lackOf(kube: Cluster, node: string): Promise<string | undefined> {
  try {
    const survey = await readSurvey(kube);
    const nodes = await readGroupNodes(kube);
    const all = nodes.filter((each) => each.isControlPlane).map(({ name, addresses }) => ({ node: name, addresses }));
    const addresses = nodes.find(({ name }) => name === node)?.addresses ?? [];
    return wordsFor(survey, placeOf(survey, { addresses, node }, all));
  } catch (error) {
    if (failureTypeOf(error) === "EtcdAccessMissing") return undefined;
    throw error;
  }
}

function wordsFor(survey: EtcdSurvey, place: Place): string | undefined {
  if (place === "Outside") return undefined;
  if (place === "Absent") return "the node is not a member of etcd yet";
  if ("unknown" in place) return place.unknown;
  const { id, isLearner } = place.member;
  if (isLearner) return "its etcd member is not a voter yet";
  return doubtsOf(survey).find(({ member }) => member === id)?.says;
}
