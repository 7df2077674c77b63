/** The backend of NodePools: nobody makes their machines, which are nodes that are updated where they stand. */
import type { Cluster } from "../../cluster.ts";
import { refused } from "../../failures.ts";
import { ensureNodeUncordoned } from "../../node/cordon.ts";
import type { Backend, MemberRef, Waker } from "../contract.ts";
import { ensureHeld, letNodePoolGo, releaseNodes } from "./clean_up.ts";
import { observeNodes, readMember, readState } from "./members.ts";
import { newsOfNodes, newsOfWanted } from "./news.ts";
import { readSubject, readWanted, restoreImage } from "./wanted.ts";

export function nodePool(kube: Cluster): Backend {
  return {
    maker: "the NodePool",
    lookEvery: undefined,
    boots: { publish: (order) => ensureHeld(kube, order), letGo: (pool) => letNodePoolGo(kube, pool) },
    subject: (pool) => readSubject(kube, pool),
    wanted: (pool) => readWanted(kube, pool),
    isSurelyUnsettled: () => false,
    observe: (pool) => observeNodes(kube, pool),
    member: (member) => readMember(kube, member),
    state: (member) => readState(kube, member),
    admit: (member) => neverReplaced(member),
    welcome: () => Promise.resolve(),
    choose: (member) => neverReplaced(member),
    spare: ({ pool, machine }) => ensureNodeUncordoned(kube, { pool, node: machine }),
    relieve: undefined,
    release: (member) => neverReplaced(member),
    replace: (member) => neverReplaced(member),
    seeOff: (member) => readState(kube, member),
    releaseAll: (pool) => releaseNodes(kube, pool),
    restore: (order) => restoreImage(kube, order),
    // Nothing is rendered for its nodes.
    stamp: () => Promise.resolve(),
    keep: undefined,
    beginToWatch: () => {},
    newsOfWanted: (pool) => newsOfWanted(kube, pool),
    newsOfPool: (pool, nodes) => newsOfNodes(kube, pool, nodes),
    newsOfMachines: ({ pool, names }) => newsOfNodes(kube, pool, () => new Set(names)),
    waker: () => nobody,
  };
}

/** Nobody acts on nodes by itself. */
const nobody: Waker = { lookBy: () => Infinity, wake: () => Promise.resolve() };

// The planner asks it of no pool that cannot: an order of that kind is a fault, or a forgery.
function neverReplaced({ pool, machine }: MemberRef): Promise<never> {
  throw refused(
    "ObjectInvalid",
    `Failed to replace node "${machine}" of "${pool.namespace}/${pool.name}": no controller creates its nodes`,
  );
}
