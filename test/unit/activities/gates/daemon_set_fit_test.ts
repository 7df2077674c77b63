import { equal } from "node:assert/strict";
import { wantsPodOn } from "../../../../activities/gates/daemon_sets.ts";
import type { Placement } from "../../../../activities/gates/workloads.ts";

const labels = { os: "linux", cores: "8" };
const dedicated = { key: "dedicated", value: "db", effect: "NoSchedule" };

function requiring(...terms: object[]): Placement {
  return {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
  } as Placement;
}

function where(key: string, operator: string, ...values: string[]): object {
  return { matchExpressions: [{ key, operator, values }] };
}

const cases: [string, Placement, { key: string; value?: string; effect: string }[], boolean][] = [
  ["no placement", {}, [], true],
  ["a matching nodeSelector", { nodeSelector: { os: "linux" } }, [], true],
  ["a nodeSelector that does not match", { nodeSelector: { os: "windows" } }, [], false],
  ["affinity In", requiring(where("os", "In", "bsd", "linux")), [], true],
  ["affinity NotIn", requiring(where("os", "NotIn", "linux")), [], false],
  ["affinity NotIn of a missing label", requiring(where("gpu", "NotIn", "yes")), [], true],
  ["affinity Exists", requiring(where("gpu", "Exists")), [], false],
  ["affinity DoesNotExist", requiring(where("gpu", "DoesNotExist")), [], true],
  ["affinity Gt", requiring(where("cores", "Gt", "4")), [], true],
  ["affinity Lt", requiring(where("cores", "Lt", "4")), [], false],
  ["two terms, of which one matches", requiring(where("gpu", "Exists"), where("os", "Exists")), [], true],
  ["an empty term", requiring({}), [], false],
  [
    "a field selector with the node's name",
    requiring({ matchFields: [{ key: "metadata.name", operator: "In", values: ["w"] }] }),
    [],
    true,
  ],
  [
    "a field selector with the name of another node",
    requiring({ matchFields: [{ key: "metadata.name", operator: "In", values: ["x"] }] }),
    [],
    false,
  ],
  ["a taint without a toleration", {}, [dedicated], false],
  ["a taint with another value", { tolerations: [{ key: "dedicated", value: "web" }] }, [dedicated], false],
  ["a tolerated taint", { tolerations: [{ key: "dedicated", operator: "Equal", value: "db" }] }, [dedicated], true],
  ["a toleration of another effect", { tolerations: [{ key: "dedicated", value: "db", effect: "NoExecute" }] }, [
    dedicated,
  ], false],
  ["a toleration of every taint", { tolerations: [{ operator: "Exists" }] }, [dedicated], true],
  ["a cordoned node", {}, [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }], true],
  ["a taint with PreferNoSchedule", {}, [{ key: "slow", effect: "PreferNoSchedule" }], true],
  [
    "a node whose network is unavailable",
    {},
    [{ key: "node.kubernetes.io/network-unavailable", effect: "NoSchedule" }],
    false,
  ],
  [
    "a node whose network is unavailable, and pods with hostNetwork",
    { hostNetwork: true },
    [{ key: "node.kubernetes.io/network-unavailable", effect: "NoSchedule" }],
    true,
  ],
];

for (const [name, placement, taints, wanted] of cases) {
  Deno.test(`wantsPodOn: returns ${wanted} for ${name}`, () => {
    equal(wantsPodOn(placement, { metadata: { name: "w", labels }, spec: { taints } }), wanted);
  });
}
