/**
 * Decides whether a node certainly belongs to the machine whose object names it: controllers that match machines and
 * nodes by address give one node to two machines when an address is used again.
 */

/** The claim of a machine on the node that its object names. */
export interface NodeClaim extends Claimant {
  /** Provider ID of the instance; "" while it is unknown. */
  instance: string;
  /** All other machines that name the same node, in any pool, the eldest first. */
  rivals: Rival[];
}

/** Another machine that names the same node. */
export interface Rival extends Claimant {
  uid: string;
  /** Whether this machine was created before the machine that makes the claim. */
  isElder: boolean;
}

interface Claimant {
  /** The machine, as "namespace/name". */
  machine: string;
  /** Provider IDs that only a node of this machine has. */
  ids: string[];
}

/** The node that a machine names. */
interface ClaimedNode {
  name: string;
  providerId?: string;
}

/**
 * Own: nothing contradicts the claim. Foreign: the node certainly belongs to the machine `owner`. Unclear: the node may
 * belong to either machine; `isFirst` is false if an elder machine names the node too.
 */
export type NodeStanding =
  | { state: "Own" }
  | { state: "Foreign"; says: string; owner: Rival }
  | { state: "Unclear"; says: string; isFirst: boolean; owner?: Rival };

/** Returns how certainly a node belongs to the machine with this claim; Own without a claim. Pure. */
export function standingOn({ name, providerId = "" }: ClaimedNode, claim: NodeClaim | undefined): NodeStanding {
  if (!claim) return { state: "Own" };
  const isOf = ({ ids }: Claimant): boolean => ids.some((id) => isSame(id, providerId));
  const isProven = isOf(claim);
  const owner = claim.rivals.find(isOf);
  if (isProven && !owner) return { state: "Own" };
  if (owner && !isProven) {
    const says = `node "${name}" belongs to machine "${owner.machine}", by provider ID "${providerId}"`;
    return { state: "Foreign", says, owner };
  }
  const [rival, ...rest] = claim.rivals;
  if (rival) {
    const more = rest.length > 0 ? ` and ${rest.length} more` : "";
    const says = `machines "${claim.machine}" and "${rival.machine}"${more} all name node "${name}"`;
    return { state: "Unclear", says, isFirst: !rival.isElder, owner: rival };
  }
  if (!isOther(claim.instance, providerId)) return { state: "Own" };
  const says = `node "${name}" has provider ID "${providerId}", but the instance of the machine is "${claim.instance}"`;
  return { state: "Unclear", says, isFirst: true };
}

/**
 * Returns whether the IDs have the same scheme and the same last part, which names the instance. The parts between them
 * are ignored, because only some controllers write zones into IDs.
 */
function isSame(id: string, other: string): boolean {
  return id !== "" && schemeOf(id) === schemeOf(other) && lastOf(id) === lastOf(other);
}

/** Returns whether the IDs certainly name two instances; IDs with different schemes cannot be compared. */
function isOther(id: string, other: string): boolean {
  return id !== "" && other !== "" && schemeOf(id) === schemeOf(other) && lastOf(id) !== lastOf(other);
}

function schemeOf(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf("://"))).toLowerCase();
}

function lastOf(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1).toLowerCase();
}
