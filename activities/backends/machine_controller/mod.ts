/** The backend of MachineDeployments: machine-controller (1.66) makes the machines, paced by annotations alone. */
import type { Kube } from "../../kube/client.ts";
import type { Backend } from "../contract.ts";
import { admitMachine, chooseMachine, releaseAll, releaseMachine, replaceMachine, spareMachine } from "./holds.ts";
import { keepMachines } from "./keep_machines.ts";
import { restoreLastGood } from "./last_good.ts";
import { LateSets } from "./late_sets.ts";
import { readMember, readState } from "./machine_state.ts";
import { observePool } from "./observe_pool.ts";
import {
  isSurelyUnsettled,
  isSurelyUnused,
  newsOfMachines,
  newsOfPool,
  newsOfTemplate,
  watchTemplates,
} from "./pool_watch.ts";
import { readSubject } from "./subject.ts";
import { stampTemplate } from "./template_stamp.ts";
import { readWanted } from "./wanted.ts";

export function machineController(kube: Kube): Backend {
  return {
    maker: "machine-controller",
    boots: undefined,
    lookEvery: undefined,
    subject: (pool) => readSubject(kube, pool),
    wanted: (pool, place) => readWanted(kube, pool, place),
    isSurelyUnsettled: (pool) => isSurelyUnsettled(kube, pool),
    isSurelyUnused: (pool) => isSurelyUnused(kube, pool),
    observe: (pool) => observePool(kube, pool),
    member: (member) => readMember(kube, member),
    state: (member) => readState(kube, member),
    admit: (member) => admitMachine(kube, member),
    // It has all from its config.
    welcome: () => Promise.resolve(),
    choose: (member) => chooseMachine(kube, member),
    spare: (member) => spareMachine(kube, member),
    relieve: undefined,
    release: (member) => releaseMachine(kube, member),
    replace: (member) => replaceMachine(kube, member),
    seeOff: (member) => readState(kube, member),
    releaseAll: (pool) => releaseAll(kube, pool),
    restore: (order, place) => restoreLastGood(kube, order, place),
    stamp: (stamp) => stampTemplate(kube, stamp),
    keep: (pool) => keepMachines(kube, pool),
    beginToWatch: () => watchTemplates(kube),
    newsOfWanted: (pool) => newsOfTemplate(kube, pool),
    newsOfPool: (pool, nodes) => newsOfPool(kube, pool, nodes),
    newsOfMachines: ({ pool, names }, nodes) => newsOfMachines(kube, { namespace: pool.namespace, names }, nodes),
    waker: (pool, now) => new LateSets(kube, pool, now),
  };
}
