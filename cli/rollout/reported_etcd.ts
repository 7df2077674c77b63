/** The state of etcd from the Rollouts of control planes, because users have no certificate to query etcd itself. */
import { controlPlanesIn } from "../../activities/kubernetes/planes.ts";
import type { GroupNode } from "../../activities/node_version/group_nodes.ts";
import { groupOfPool } from "../../workflows/commands/start_options.ts";
import type { VersionRow } from "./node_versions.ts";
import type { EtcdRow } from "./pool_row.ts";

/** The etcd of the cluster as one Rollout reported it. */
export interface EtcdSeen {
  /** The ScalingGroup of the Rollout. */
  group: string;
  voters: number;
  healthy: number;
  /** Votes that a decision needs; 0 if the members are unknown. */
  quorum: number;
  doubts: string[];
}

/** A member of etcd. */
export interface MemberSeen {
  role: "Leader" | "Voter" | "Learner";
  /** Whether the member is a healthy voter. */
  healthy: boolean;
  version: string;
}

/** A report; each of its `seats` is a member of etcd with its node and machine. */
export interface ReportedEtcd {
  seen: EtcdSeen;
  seats: EtcdRow["seats"];
}

/**
 * Returns the report in which etcd is closest to the loss of its quorum: each group reports all members, but at its own
 * time. Returns undefined without a report.
 */
export function reportedEtcd({ groups }: VersionRow): ReportedEtcd | undefined {
  const reports = groups.ControlPlane.flatMap(({ pool, status }) =>
    status?.etcd ? [reportOf(groupOfPool(pool) ?? pool.name, status.etcd)] : []
  );
  const beyond = ({ seen: { healthy, quorum } }: ReportedEtcd): number => quorum === 0 ? -1 : healthy - quorum;
  return reports.sort((one, other) => beyond(one) - beyond(other))[0];
}

function reportOf(group: string, { seats, quorum, doubts }: EtcdRow): ReportedEtcd {
  const voters = seats.filter(({ role }) => role !== "Learner").length;
  const counts = { voters, healthy: quorum.well, quorum: quorum.needed };
  return { seen: { group, ...counts, doubts: doubts.map(({ says }) => says) }, seats };
}

/** Returns the etcd member on a node, found by the name of the node or of its machine; undefined if unknown. */
export function memberOn(etcd: ReportedEtcd | undefined, node: GroupNode): MemberSeen | undefined {
  const { seats = [] } = etcd ?? {};
  const seat = seats.find(({ name }) => name === node.name) ?? seats.find(({ machine }) => machine === machineOf(node));
  const { role, isWell, version } = seat ?? {};
  if (role !== "Leader" && role !== "Voter" && role !== "Learner") return undefined;
  return { role, healthy: isWell ?? false, version: version ?? "" };
}

/**
 * Returns the group and machine of each control plane, by the name of its node. For a control plane that no Rollout has
 * reported, the group is "", and the machine is read from the provider ID, because only Ostler's worker can query the
 * cloud.
 */
export function seatsOf(
  nodes: readonly GroupNode[],
  { groups }: VersionRow,
): Map<string, { group: string; machine: string }> {
  const reported = groups.ControlPlane.flatMap(({ pool, status }) =>
    (status?.etcd?.seats ?? []).filter(({ machine }) => machine !== "")
      .map(({ name, machine }) => [name, { group: groupOfPool(pool) ?? "", machine }] as const)
  );
  const others = controlPlanesIn(nodes).map((node) => [node.name, { group: "", machine: machineOf(node) }] as const);
  return new Map([...others, ...reported]);
}

/** Returns the last part of the provider ID, by which most clouds name a machine; without an ID, the node's name. */
function machineOf({ name, providerId }: GroupNode): string {
  return providerId.slice(providerId.lastIndexOf("/") + 1) || name;
}
