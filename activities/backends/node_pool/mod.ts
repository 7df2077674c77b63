/** The backend of NodePools, whose nodes are updated in place; no controller creates the nodes. */
import type { Cluster } from "../../cluster.ts";
import { ensureNodeUncordoned } from "../../node/cordon.ts";
import type { With } from "../contract.ts";
import { ensureHeld, letNodePoolGo, releaseNodes } from "./clean_up.ts";
import { observeNodes, readMember, readOwnership, readState } from "./members.ts";
import { newsOfNodes, newsOfWanted } from "./news.ts";
import { readSubject, readWanted, restoreImage } from "./wanted.ts";
import { watchNodePools } from "./watch_all.ts";

/** Returns the backend of NodePools. */
export function nodePool(kube: Cluster): With<"boots"> {
  return {
    maker: "the NodePool",
    unseen: (node) => `the NodePool has not reported node "${node}" Ready`,
    clues: "see the log of the controller that created its machine",
    lookEvery: undefined,
    subject: (pool) => readSubject(kube, pool),
    wanted: (pool) => readWanted(kube, pool),
    observe: (pool) => observeNodes(kube, pool),
    member: (member) => readMember(kube, member),
    state: (member) => readState(kube, member),
    owns: (member) => readOwnership(kube, member),
    spare: ({ pool, machine }) => ensureNodeUncordoned(kube, { pool, node: machine }),
    releaseAll: (pool) => releaseNodes(kube, pool),
    restore: (order) => restoreImage(kube, order),
    watchAll: (deps) => watchNodePools(kube, deps),
    newsOfWanted: (pool) => newsOfWanted(kube, pool),
    newsOfPool: (pool, nodes) => newsOfNodes(kube, pool, nodes),
    newsOfMachines: ({ pool, names }) => newsOfNodes(kube, pool, () => new Set(names)),
    // An update in place creates and deletes no machine; `ensureNodeCordoned` annotates the node against scale-down.
    autoscaling: () => Promise.resolve(""),
    orders: undefined,
    boots: { publish: (order) => ensureHeld(kube, order), letGo: (pool) => letNodePoolGo(kube, pool) },
    // The machine of a NodePool is the Node itself, so it never names the node of another machine.
    standing: undefined,
    templates: undefined,
    welcome: undefined,
    relieve: undefined,
    seeOff: undefined,
    stamp: undefined,
    keep: undefined,
    endPin: undefined,
    waker: undefined,
  };
}
