/**
 * Decides whether a certificate request comes from a machine of Ostler that is about to become a node. The bootstrap
 * token may show the machine's pool, and the state of the machine shows whether its node is expected. Pure:
 * `approve_node.ts` reads the data. A request for a node that joined before is left to administrators, even if the node
 * has lost its certificate: under the node's name, an attacker could read the Secrets of the node's pods.
 */
import type { MemberPhase } from "../../workflows/contracts/mod.ts";
import type { Newcomer } from "../backends/contract.ts";
import { bootstrapGroup, isPoolGroup, poolGroupOf } from "../config/token_group.ts";
import type { NodeRequest } from "./node_requests.ts";

/** The known facts about the requested node. */
export interface JoinFacts {
  /** The machine with the requested name, if its pool exists. */
  newcomer?: Newcomer;
  /** Whether a Node of the requested name exists. */
  isNode: boolean;
  /** Whether machines of the requested name exist in several namespaces. */
  isTwice: boolean;
}

/**
 * The requester. Token: a machine of the pool whose bootstrap tokens have this group. AnyPool: a machine of any pool,
 * which used the shared service account or a token without a pool's group, such as a token that was created before
 * approve-joining-nodes was set. Stranger: any other requester; `says` is a clause that states why.
 */
export type Asker = { by: "Token"; group: string } | { by: "AnyPool" } | { by: "Stranger"; says: string };

const token = /^system:bootstrap:([a-z0-9]{6})$/;

/**
 * Returns the requester; `account` is namespace/name of the service account that machines boot with instead of a token,
 * "" for none.
 */
export function askerOf({ username, groups }: NodeRequest, account: string): Asker {
  if (account !== "" && username === `system:serviceaccount:${account.replace("/", ":")}`) return { by: "AnyPool" };
  const id = token.exec(username)?.[1];
  if (id === undefined) return { by: "Stranger", says: `user "${username.slice(0, 100)}" is not a bootstrap token` };
  const [group, ...more] = groups.filter(isPoolGroup);
  if (group !== undefined && more.length === 0) return { by: "Token", group };
  if (group === undefined && groups.includes(bootstrapGroup)) return { by: "AnyPool" };
  return { by: "Stranger", says: `bootstrap token "${id}" does not belong to a pool of Ostler` };
}

/** Returns why a request must not be approved; undefined if it may be. */
export function faultOf(node: string, asker: Asker, { newcomer, isNode, isTwice }: JoinFacts): string | undefined {
  if (asker.by === "Stranger") return asker.says;
  if (isTwice) return `machines named "${node}" exist in several namespaces`;
  if (!newcomer?.pool) return `no machine of Ostler is named "${node}"`;
  const whose = `machine "${newcomer.pool.namespace}/${node}"`;
  if (asker.by === "Token" && asker.group !== poolGroupOf(newcomer.pool)) {
    return `${whose} belongs to another pool than the bootstrap token`;
  }
  if (newcomer.isHeld) return `${whose} is held`;
  if (newcomer.phase !== "Booting") return `${whose} ${states[newcomer.phase]}`;
  return isNode ? `node "${node}" already exists` : undefined;
}

const states: Record<Exclude<MemberPhase, "Booting">, string> = {
  ...{ Held: "is held", Provisioning: "has no instance yet", Leaving: "is being deleted" },
  ...{ Joining: "has a node already", Ready: "has a node already", NotReady: "had a node before" },
};
