/** The backend of ScalingGroups: a cloud makes the machines, from a template that we choose, and removes them when it is told to. */
import { lookEveryOf } from "../../clouds/cloud_of.ts";
import type { Kube } from "../../kube/client.ts";
import type { Backend, Waker } from "../contract.ts";
import { publishBoots } from "./boots.ts";
import { chooseMember, spareMember } from "./choice.ts";
import { releaseGroup, removeGroupFinalizer } from "./clean_up.ts";
import { newsOfGroup, newsOfMembers } from "./group_news.ts";
import { welcomeMember } from "./hand_over.ts";
import { observeGroup, readGroupMember, readGroupState } from "./observe.ts";
import { admitMember } from "./orders.ts";
import { relieveMember } from "./relieve.ts";
import { removeMember, seeMemberOff } from "./removals.ts";
import { restoreGroup } from "./restore.ts";
import { readSubject } from "./subject.ts";
import { readGroupWanted } from "./wanted.ts";

export function scalingGroup(kube: Kube): Backend {
  return {
    maker: "the scaling group",
    lookEvery: () => lookEveryOf(kube),
    boots: {
      publish: (order) => publishBoots(kube, order),
      letGo: (pool) => removeGroupFinalizer(kube, pool),
    },
    subject: (pool) => readSubject(kube, pool),
    wanted: (pool) => readGroupWanted(kube, pool),
    isSurelyUnsettled: () => false,
    isSurelyUnused: () => false,
    observe: (pool) => observeGroup(kube, pool),
    member: (member) => readGroupMember(kube, member),
    state: (member) => readGroupState(kube, member),
    admit: (order) => admitMember(kube, order),
    welcome: (member) => welcomeMember(kube, member),
    choose: (member) => chooseMember(kube, member),
    spare: (member) => spareMember(kube, member),
    relieve: (order) => relieveMember(kube, order),
    release: (member) => removeMember(kube, member),
    replace: (member) => removeMember(kube, member),
    seeOff: (member) => seeMemberOff(kube, member),
    releaseAll: (pool) => releaseGroup(kube, pool),
    restore: (order) => restoreGroup(kube, order),
    // Image and components are all that machines differ in, and both are of the target.
    stamp: () => Promise.resolve(),
    keep: undefined,
    beginToWatch: () => {},
    newsOfWanted: (pool) => newsOfGroup(kube, pool),
    newsOfPool: (pool, nodes) => newsOfMembers(kube, pool, nodes),
    newsOfMachines: ({ pool }, nodes = () => new Set()) => newsOfMembers(kube, pool, nodes),
    waker: (_, now) => lookingAgain(kube, now),
  };
}

/** Wakes nobody: it only looks, as the cloud tells no news. */
function lookingAgain(kube: Kube, now: number): Waker {
  let next = now + lookEveryOf(kube);
  return {
    lookBy: () => next,
    wake: (_, at) => {
      next = at + lookEveryOf(kube);
      return Promise.resolve();
    },
  };
}
