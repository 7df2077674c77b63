/** Reads the control planes of a NodeVersion, and what they run. */
import type { Cluster } from "../cluster.ts";
import type { ClusterObject, EtcdSurvey, PoolRef } from "../../workflows/contracts/mod.ts";
import { readSeats } from "../backends/registry.ts";
import { memberAt } from "../etcd/judge.ts";
import { sideBySide } from "../kube/status.ts";
import type { NodeVersion } from "../kube/update_kinds.ts";
import { readSurvey } from "../node_version/cluster_etcd.ts";
import { type GroupNode, readGroupNodes } from "../node_version/group_nodes.ts";
import { readSlotsOf } from "../pool/slots.ts";
import { holderOfUpgrade } from "../pool/upgraded_nodes.ts";
import { controlPlanesIn, type Planes, planesOf, readPartsOf } from "./planes.ts";

/**
 * Returns the state of each control plane, and the kubelet versions of all other nodes. A control plane counts as being
 * worked on while `holder`, by default the upgrade, has a slot of the shared budget for it.
 */
export async function readPlanes(
  { kube, profileNamespace }: { kube: Cluster; profileNamespace: string },
  { object, version, holder = holderOfUpgrade(object) }: {
    object: ClusterObject;
    version: NodeVersion;
    holder?: PoolRef;
  },
): Promise<Planes> {
  const [nodes, seats, etcd, slots] = await sideBySide(
    readGroupNodes(kube),
    readSeats(kube, { version: object.name }),
    readEtcd(kube),
    readSlotsOf({ kube, profileNamespace }, { pool: holder, of: "ControlPlanes" }),
  );
  const parts = await readPartsOf(kube, controlPlanesIn(nodes));
  const leads = (node: GroupNode): boolean => isLeader(etcd, node);
  return planesOf({ object, version }, { nodes, seats, parts, slots, leads });
}

/**
 * Returns undefined if etcd cannot be read: then no control plane counts as the leader of etcd, whose upgrade or
 * renewal otherwise comes last.
 */
async function readEtcd(kube: Cluster): Promise<EtcdSurvey | undefined> {
  try {
    return await readSurvey(kube);
  } catch {
    return undefined;
  }
}

function isLeader(etcd: EtcdSurvey | undefined, { name, addresses }: GroupNode): boolean {
  if (!etcd || etcd.leader === "") return false;
  const member = memberAt(etcd, { addresses, node: name });
  return member !== undefined && member !== "Ambiguous" && member.id === etcd.leader;
}
