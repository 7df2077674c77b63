/**
 * Control planes join one at a time, because etcd accepts one new member at a time. The JoiningNode of a control plane
 * blocks the JoiningNodes of later control planes until its own control plane is a healthy voter of etcd. The join
 * service issues no join ticket for another control plane while such a JoiningNode exists.
 */
import type { Cluster } from "../cluster.ts";
import type { EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { doubtsOf } from "../etcd/judge.ts";
import { type Place, placeOf } from "../etcd/place.ts";
import { failureTypeOf } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { listClusterObjects } from "../kube/resources.ts";
import { type JoiningNode, joiningNodes } from "../kube/update_kinds.ts";
import { readGroupNodes } from "./group_nodes.ts";
import { readSurvey } from "./cluster_etcd.ts";

/** Maximum time (ms) for which a JoiningNode blocks other control planes, because its node may never join. */
const longestMs = 3_600_000;

/**
 * Returns a message about an older JoiningNode whose control plane must join first; undefined if there is none.
 * `isOver` returns whether the deadline of a JoiningNode has passed.
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
    `Waiting for control plane "${first.spec.name}" to join: its JoiningNode "${first.metadata.name}" is older`;
}

function isBefore(one: JoiningNode["metadata"], other: JoiningNode["metadata"]): boolean {
  const [a, b] = [Date.parse(one.creationTimestamp), Date.parse(other.creationTimestamp)];
  return a < b || (a === b && one.name < other.name);
}

/** Returns why a node is not a complete control plane; undefined if it is, or if Ostler has no access to etcd. */
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
