/** Which machines are of a control plane, and what their etcd says about touching them. */
import type { EtcdDoubt, EtcdMember, EtcdStanding, EtcdSurvey } from "../../../workflows/contracts/mod.ts";
import type { Instance } from "../../clouds/driver.ts";
import { doubtsOf, memberAt } from "../../etcd/judge.ts";
import { type Machine, type Place, placeOf } from "../../etcd/place.ts";
import { isHealthyVoter, quorumOf } from "../../etcd/quorum.ts";
import { refused } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { readSurvey } from "../../node_version/cluster_etcd.ts";
import { isControlPlane } from "../../node_version/release.ts";
import type { GroupNode } from "./group_nodes.ts";
import { memberIdOf } from "./member.ts";
import type { Asked, CloudSight } from "./sight.ts";

type Seen = Pick<CloudSight, "cloud" | "instances" | "nodes">;

/** A role is written by people: cloud and nodes have a word too. */
export function isOfControlPlane({ group }: Pick<Asked, "group">, { cloud, instances, nodes }: Seen): boolean {
  const isNode = instances.some(({ providerId }) => nodes.get(providerId.toLowerCase())?.isControlPlane);
  return isControlPlane(group) || cloud.role === "ControlPlane" || isNode;
}

/**
 * Refused where control planes would come to run other components than they do: their Kubernetes is not upgraded by
 * replacing them (K23); and where a group is one of them though its role says something else, as it is released with others
 * then. `attempt` completes "Cannot …".
 */
export function refuseUnfit(asked: Asked, seen: Seen, attempt: string): void {
  if (!isOfControlPlane(asked, seen)) return;
  const { metadata, spec } = asked.group;
  if (!isControlPlane(asked.group)) {
    const state = `it is of group "${metadata.name}" of control planes, whose role is "${spec.role}"`;
    throw refused("ControlPlaneRefused", `Cannot ${attempt}: ${state}`);
  }
  const wanted = asked.target?.components ?? "";
  const others = [...seen.nodes.values()].filter(({ isControlPlane: isOne, components }) =>
    isOne && components !== "" && components.toLowerCase() !== wanted.toLowerCase()
  );
  const [other] = others;
  if (!other) return;
  const state = `"${wanted}" is wanted of control planes, and node "${other.name}" runs "${other.components}"`;
  throw refused(
    "ControlPlaneRefused",
    `Cannot ${attempt}: ${state}; their Kubernetes is not upgraded by replacing them`,
  );
}

/** Etcd in one look; undefined where it is none of this group's business. One that cannot be looked at is in doubt. */
export async function standingFor(kube: Kube, asked: Asked, seen: Seen): Promise<EtcdStanding | undefined> {
  if (!isOfControlPlane(asked, seen)) return undefined;
  try {
    return standingOf(await readSurvey(kube), seen);
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    return { seats: [], quorum: { needed: 0, well: 0 }, doubts: [{ says }] };
  }
}

/** Where an instance of the group stands in etcd, among all machines of control planes. */
export function placeIn(survey: EtcdSurvey, seen: Pick<Seen, "instances" | "nodes">, instance: Instance): Place {
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

/** Pure. */
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
