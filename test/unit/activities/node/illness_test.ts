import { deepEqual, equal } from "node:assert/strict";
import { illnessOf } from "../../../../activities/node/illness.ts";
import type { NodeFacts } from "../../../../activities/node/node_facts.ts";
import type { RepairRules } from "../../../../workflows/contracts/mod.ts";

const minute = 60_000;
const repair: RepairRules = {
  ...{ enabled: true, notReadyFor: 10 * minute, maxUnhealthy: 40 },
  conditions: [{ type: "KernelDeadlock", status: "True", for: 2 * minute }],
};
const sound: NodeFacts = {
  ...{
    name: "w",
    ready: true,
    reachable: true,
    readyReason: "KubeletReady",
    readyMessage: "",
    kubelet: "v1.35.3",
    initialising: [],
  },
  ...{ since: 0, conditions: [] },
};

Deno.test("illnessOf: returns nothing for a Ready node", () => {
  equal(illnessOf({ facts: sound }, repair), undefined);
});

Deno.test("illnessOf: makes a NotReady node due for repair when the duration in the policy is over, counted from its transition", () => {
  const facts = { ...sound, ready: false, readyReason: "NodeStatusUnknown", since: minute };
  deepEqual(illnessOf({ facts }, repair), {
    ...{ why: 'node "w" is not Ready (NodeStatusUnknown)', since: minute, due: 11 * minute },
  });
});

Deno.test("illnessOf: treats a node as unhealthy for a condition only when it has the status that the policy names", () => {
  const held = (status: string): NodeFacts => {
    return { ...sound, conditions: [{ type: "KernelDeadlock", status, since: 5 * minute }] };
  };
  equal(illnessOf({ facts: held("False") }, repair), undefined);
  deepEqual(illnessOf({ facts: held("True") }, repair), {
    ...{ why: 'node "w" has KernelDeadlock=True', since: 5 * minute, due: 7 * minute },
  });
});

Deno.test("illnessOf: returns the condition that is due first", () => {
  const conditions = [{ type: "KernelDeadlock", status: "True", since: 0 }];
  const facts = { ...sound, ready: false, conditions };
  deepEqual(illnessOf({ facts }, repair)?.due, 2 * minute);
});

Deno.test("illnessOf: treats a machine as unhealthy since its node was first found missing", () => {
  deepEqual(illnessOf({ goneSince: minute, node: "w" }, repair), {
    ...{ why: 'node "w" was deleted', since: minute, due: 11 * minute },
  });
});

Deno.test("illnessOf: returns an unhealthy node that is never due for repair, when repairs are disabled", () => {
  const ill = illnessOf({ facts: { ...sound, ready: false } }, { ...repair, enabled: false });
  deepEqual([ill?.since, ill?.due], [0, Number.MAX_SAFE_INTEGER]);
});
