/**
 * Finds out which groups have control planes, and does what etcd requires before and after one of their machines is
 * replaced.
 */
import type { Cluster } from "../../cluster.ts";
import type {
  EtcdDoubt,
  EtcdMember,
  EtcdStanding,
  EtcdSurvey,
  Relieved,
  SnapshotKeep,
} from "../../../workflows/contracts/mod.ts";
import type { Instance } from "../../clouds/driver.ts";
import { bounded, doubtsOf, memberAt } from "../../etcd/judge.ts";
import { type Machine, type Place, placeOf } from "../../etcd/place.ts";
import { isHealthyVoter, isLastVoter, leavingDoubts, quorumOf, votersOf } from "../../etcd/quorum.ts";
import { moot, refused, unavailable } from "../../failures.ts";
import { listClusterObjects } from "../../kube/resources.ts";
import { attempting } from "../../kube/status.ts";
import { scalingGroups } from "../../kube/update_kinds.ts";
import { same } from "../../node_version/classify.ts";
import { openEtcd, readSurvey } from "../../node_version/cluster_etcd.ts";
import { findRules } from "../../policy/rules_for.ts";
import type { RelieveMember } from "../contract.ts";
import type { GroupNode } from "../../node_version/group_nodes.ts";
import { memberIdOf } from "./member.ts";
import { type Asked, type CloudSight, poolOfGroup, readAsked, readCloud } from "./sight.ts";
import { declaredSize } from "./size.ts";
import { askedBy, isControlPlane } from "../../node_version/version_release.ts";

type Seen = Pick<CloudSight, "cloud" | "instances" | "nodes">;

/**
 * Returns whether the group has control planes according to its role, which users write and may get wrong, to its
 * cloud, or to its nodes.
 */
export function isOfControlPlane({ group }: Pick<Asked, "group">, { cloud, instances, nodes }: Seen): boolean {
  const isNode = instances.some(({ providerId }) => nodes.get(providerId.toLowerCase())?.isControlPlane);
  return isControlPlane(group) || cloud.role === "ControlPlane" || isNode;
}

/**
 * Throws Refused if a control plane runs neither the components of the target nor those of the NodeVersion: control
 * planes are upgraded in place, one by one, and a replacement does not upgrade their Kubernetes. Also throws Refused if
 * the group has control planes but the role of workers, because the NodeVersion would be released to it together with
 * workers. `attempt` completes "Failed to …".
 */
export function refuseUnfit(asked: Asked, seen: Seen, attempt: string): void {
  if (!isOfControlPlane(asked, seen)) return;
  const { metadata, spec } = asked.group;
  if (!isControlPlane(asked.group)) {
    const state =
      `ScalingGroup "${metadata.name}" has control planes, but its role is "${spec.role}"; set it to "ControlPlane"`;
    throw refused("ControlPlaneRefused", `Failed to ${attempt}: ${state}`);
  }
  const wanted = asked.target?.components ?? "";
  const fit = [wanted, askedBy(asked.version).components];
  const other = [...seen.nodes.values()].find(({ isControlPlane: isOne, components }) =>
    isOne && components !== "" && !fit.some((each) => same(each, components))
  );
  if (!other) return;
  const state = `the target of ScalingGroup "${metadata.name}" has components "${wanted}", but node "${other.name}" ` +
    `runs "${other.components}"`;
  throw refused(
    "ControlPlaneRefused",
    `Failed to ${attempt}: ${state}; replacing control planes does not upgrade their Kubernetes`,
  );
}

/** Returns the status of etcd, inconclusive if it cannot be read; undefined for a group without control planes. */
export async function standingFor(kube: Cluster, asked: Asked, seen: Seen): Promise<EtcdStanding | undefined> {
  if (!isOfControlPlane(asked, seen)) return undefined;
  try {
    return standingOf(await readSurvey(kube), seen);
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    return { seats: [], quorum: { needed: 0, well: 0 }, doubts: [{ says }] };
  }
}

/** Returns which member of etcd runs on an instance, by comparison with all machines of control planes. */
function placeIn(survey: EtcdSurvey, seen: Pick<Seen, "instances" | "nodes">, instance: Instance): Place {
  const others = [...seen.nodes.values()].filter((node) => node.isControlPlane);
  const known = seen.instances.map((each) => machineOf(each, seen.nodes));
  return placeOf(survey, machineOf(instance, seen.nodes), [
    ...known,
    ...others.map(({ addresses, name }) => ({ addresses, node: name })),
  ]);
}

function machineOf(instance: Instance, nodes: ReadonlyMap<string, GroupNode>): Machine {
  const node = nodes.get(instance.providerId.toLowerCase());
  return { addresses: [...instance.addresses, ...(node?.addresses ?? [])], node: node?.name ?? instance.node };
}

/** Returns the status of etcd from a survey; pure. */
function standingOf(survey: EtcdSurvey, { instances, nodes }: Seen): EtcdStanding {
  const seats = instances.flatMap((instance) => {
    const member = memberAt(survey, machineOf(instance, nodes));
    return member && member !== "Ambiguous" ? [{ machine: memberIdOf(instance), member: member.id }] : [];
  });
  const machineAt = (id: string): { machine?: string } => {
    const seat = seats.find(({ member }) => member === id);
    return seat ? { machine: seat.machine } : {};
  };
  const { needed, well } = quorumOf(survey);
  return {
    seats: survey.members.map((member) => ({
      ...{ name: member.name || member.id, ...machineAt(member.id), role: roleOf(survey, member) },
      ...{ isWell: isHealthyVoter(member, survey), version: member.status?.version ?? "" },
    })),
    quorum: { needed, well },
    doubts: doubtsOf(survey).map(({ member, says }): EtcdDoubt => ({ ...(member ? machineAt(member) : {}), says })),
  };
}

function roleOf({ leader }: EtcdSurvey, member: EtcdMember): "Leader" | "Voter" | "Learner" {
  if (member.isLearner) return "Learner";
  return member.id === leader ? "Leader" : "Voter";
}

/**
 * Returns what an instance lacks to be a voting, healthy member of etcd, as words; undefined if it lacks nothing.
 * Promotes a learner that is in sync, because the process that added it may have stopped before that.
 */
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
    if (answer === "NotInSync") return "the etcd member of the node is a learner that is not in sync yet";
    if (answer === "Promoted") return "the etcd member of the node was just promoted to a voter";
  }
  return doubtsOf(survey).find(({ member }) => member === id)?.says;
}

/**
 * Removes the etcd member of an instance before the cloud removes the instance, because the member would still count
 * for the quorum. Throws Transient while the member is unknown, or while the remaining members would have no quorum.
 */
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

/**
 * Prepares etcd for the deletion of a machine, or for its absence for a while (`returns`): moves the leadership away,
 * unless the machine is lost, and stores a snapshot if ordered. If the machine must not be stopped now, changes nothing
 * and returns the reasons.
 */
export function relieveMember(
  kube: Cluster,
  { pool, machine, isLost, returns, taken, snapshot }: RelieveMember,
): Promise<Relieved> {
  return attempting(`move the etcd leadership away from machine "${machine}"`, async () => {
    const nothing: Relieved = { state: "Relieved", snapshot: null };
    const asked = await readAsked(kube, pool);
    if (!asked) return nothing;
    const seen = await readCloud(kube, asked);
    const instance = seen.instances.find((each) => memberIdOf(each) === machine);
    if (!instance || !isOfControlPlane(asked, seen)) return nothing;
    const etcd = await openEtcd(kube);
    const survey = await etcd.survey();
    const place = placeIn(survey, seen, instance);
    // While one of two voters is stopped, etcd has no quorum. This is accepted for a machine that returns, unless a
    // declared control plane has not joined yet: as the third voter, it would keep the quorum.
    const isJoined = returns !== true || votersOf(survey).length >= await declaredMachines(kube, asked);
    const doubts = doubtsAbout(survey, place, { isLost, returns: returns === true, isJoined, taken });
    if (doubts.length > 0) return { state: "InDoubt", doubts: bounded(doubts) };
    const keep = snapshot && await snapshotPlace(kube, asked);
    const isUnknown = typeof keep === "string";
    if (isUnknown && !taken.includes(keep)) return { state: "InDoubt", doubts: [keep] };
    const id = typeof place !== "string" && "member" in place ? place.member.id : undefined;
    // If the machine returns and has the only voter of etcd, that voter stays the leader and takes the snapshot,
    // because no other member can lead or has the data.
    const isAlone = returns === true && id !== undefined && isLastVoter(survey, id);
    if (id !== undefined && !isLost && !isAlone) await etcd.moveLeadership(id);
    if (!snapshot || !keep || isUnknown) return nothing;
    const beside = isAlone ? "" : id ?? "";
    return { state: "Relieved", snapshot: await etcd.keepSnapshot({ beside, name: snapshot.name, keep }) };
  });
}

/**
 * Returns where the current policy of the group stores snapshots; throws Moot if it stores none any more. The place in
 * an order is not used, because a client of Temporal can forge orders, and a snapshot contains every Secret. Returns
 * text if policies conflict: the run keeps its rules meanwhile, so after Moot it would repeat the order without end.
 */
async function snapshotPlace(kube: Cluster, { group: { metadata } }: Asked): Promise<SnapshotKeep | string> {
  // The namespace in the order may be forged too, and may have a policy of the forger.
  const { namespace, name } = poolOfGroup(metadata.name);
  const { rules } = await findRules(kube, { metadata: { namespace, name, labels: metadata.labels } }, Date.now());
  if (rules.conflict !== null) return `cannot determine where to store a snapshot of etcd: ${rules.conflict}`;
  if (rules.etcd) return rules.etcd.snapshot;
  const state = "no RolloutPolicy sets etcd.snapshot for it";
  throw moot(
    "GenerationStale",
    `Failed to store a snapshot of etcd for ScalingGroup "${metadata.name}": ${state}`,
  );
}

/** Returns how many machines the groups of control planes of the same NodeVersion declare. */
async function declaredMachines(kube: Cluster, { group: { spec } }: Asked): Promise<number> {
  const all = await listClusterObjects(kube, scalingGroups);
  let declared = 0;
  for (const group of all.filter((each) => each.spec.nodeImage === spec.nodeImage && isControlPlane(each))) {
    const asked = await readAsked(kube, poolOfGroup(group.metadata.name));
    if (asked) declared += declaredSize(await readCloud(kube, asked), asked.ledger);
  }
  return declared;
}

/**
 * Returns the reasons against stopping a machine. The state of a lost machine's own member is not a reason, because it
 * is why the machine is removed. The absence of a member that returns is not a reason either, if all declared control
 * planes have joined (`isJoined`). Reasons that an administrator accepted (`taken`) are left out, unless the removal
 * would end etcd.
 */
function doubtsAbout(
  survey: EtcdSurvey,
  place: Place,
  { isLost, returns, isJoined, taken }: {
    isLost: boolean;
    returns: boolean;
    isJoined: boolean;
    taken: readonly string[];
  },
): string[] {
  const id = typeof place !== "string" && "member" in place ? place.member.id : undefined;
  const unknown = typeof place !== "string" && "unknown" in place
    ? [`cannot determine the etcd member of the machine: ${place.unknown}`]
    : [];
  const beside = doubtsOf(survey).filter(({ member }) => !isLost || id === undefined || member !== id);
  const isMissed = !isLost && !(returns && isJoined);
  const leaving = id === undefined || !isMissed ? [] : leavingDoubts(survey, id);
  const told = [...leaving, ...unknown, ...beside.map(({ says }) => says)];
  const isEnd = id !== undefined && !returns && isLastVoter(survey, id);
  return told.filter((says) => !taken.includes(says) || isEnd);
}
