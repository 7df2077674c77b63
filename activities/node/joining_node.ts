/**
 * Whether who asks to be a node is one that a machine of ours is about to become. A token may say of which pool; the machine
 * says that its node is awaited. Pure: what it goes by is read by `approve_node.ts`.
 *
 * One that joined before is left to people, certificate lost or not: its name is worth having.
 */
import type { MemberPhase } from "../../workflows/contracts/mod.ts";
import type { Newcomer } from "../backends/contract.ts";
import { bootstrapGroup, isPoolGroup, poolGroupOf } from "../config/token_group.ts";
import type { NodeRequest } from "./node_requests.ts";

/** What is known of the node that is asked for. */
export interface JoinFacts {
  newcomer?: Newcomer;
  /** There is a Node of that name. */
  isNode: boolean;
  /** There are machines of that name in several namespaces. */
  isTwice: boolean;
}

/**
 * Who asks: a machine of the pool that has this group; of any pool, by the account that all share or a token that tells of
 * none, such as those of before the setting; or nobody of ours.
 */
export type Asker = { by: "Token"; group: string } | { by: "AnyPool" } | { by: "Stranger"; says: string };

const token = /^system:bootstrap:([a-z0-9]{6})$/;

/** Who asks; `account` is namespace/name of whom machines boot as in place of a token, "" for none. */
export function askerOf({ username, groups }: NodeRequest, account: string): Asker {
  if (account !== "" && username === `system:serviceaccount:${account.replace("/", ":")}`) return { by: "AnyPool" };
  const id = token.exec(username)?.[1];
  if (id === undefined) return { by: "Stranger", says: `"${username.slice(0, 100)}" is no bootstrap token` };
  const [group, ...more] = groups.filter(isPoolGroup);
  if (group !== undefined && more.length === 0) return { by: "Token", group };
  if (group === undefined && groups.includes(bootstrapGroup)) return { by: "AnyPool" };
  return { by: "Stranger", says: `bootstrap token "${id}" was made for no pool of ours` };
}

/** Why a request is not to be approved; undefined for one that is. */
export function faultOf(node: string, asker: Asker, { newcomer, isNode, isTwice }: JoinFacts): string | undefined {
  if (asker.by === "Stranger") return asker.says;
  if (isTwice) return `machines "${node}" stand in several namespaces`;
  if (!newcomer?.pool) return `no machine "${node}" of ours is there`;
  const whose = `machine "${newcomer.pool.namespace}/${node}"`;
  if (asker.by === "Token" && asker.group !== poolGroupOf(newcomer.pool)) return `${whose} is of another pool`;
  if (newcomer.isHeld) return `${whose} is held`;
  if (newcomer.phase !== "Booting") return `${whose} ${states[newcomer.phase]}`;
  return isNode ? `node "${node}" is there already` : undefined;
}

const states: Record<Exclude<MemberPhase, "Booting">, string> = {
  ...{ Held: "is held", Provisioning: "has no instance yet", Leaving: "is on its way out" },
  ...{ Joining: "has its node", Ready: "has its node", NotReady: "had its node" },
};
