import { deepEqual, equal } from "node:assert/strict";
import type { NodeClass } from "../../../../activities/node_version/classify.ts";
import { completionOf, type NodeCounts } from "../../../../activities/node_version/completion.ts";

type Given = Partial<Record<NodeClass, number>> & { joins?: number; leaves?: number };

function countsOf({ joins = 0, leaves = 0, ...given }: Given): NodeCounts {
  const classes: NodeClass[] = [
    ...["upToDate", "outdated", "donors", "heirs"] as const,
    ...["mints", "awaitingAnnotation", "obsolete", "invalid"] as const,
  ];
  const nodes = classes.map((each) => [each, Array.from({ length: given[each] ?? 0 }, (_, nth) => `${each}-${nth}`)]);
  return { nodes: Object.fromEntries(nodes), joins, leaves };
}

/** Budget, whether the NodeVersion is settled, and the condition Outdated. */
const cases: [string, Given, [number, boolean, string]][] = [
  ["B1", { outdated: 3 }, [1, false, "True"]],
  ["B2", { outdated: 3, joins: 1 }, [0, false, "True"]],
  ["B3", { outdated: 2, leaves: 1 }, [0, false, "True"]],
  ["B4", { donors: 1, heirs: 1, outdated: 2 }, [0, false, "True"]],
  ["B5", { awaitingAnnotation: 1, outdated: 1 }, [0, false, "True"]],
  ["B6", { mints: 1, joins: 1, outdated: 1 }, [0, false, "True"]],
  ["B7", { obsolete: 1 }, [1, false, "True"]],
  ["B8", { heirs: 1, leaves: 1 }, [0, false, "True"]],
  ["B9", { upToDate: 4 }, [1, true, "False"]],
  ["B10 is not settled while a node awaits its annotation, unlike with the Constellation operator", {
    awaitingAnnotation: 1,
  }, [0, false, "True"]],
  ["B11, K3 is not settled while an old node has a new node, unlike with the Constellation operator", {
    donors: 1,
    upToDate: 2,
  }, [1, false, "True"]],
  ["B12, K26 is not settled while a node is invalid, unlike with the Constellation operator", {
    invalid: 1,
    upToDate: 2,
  }, [
    1,
    false,
    "Unknown",
  ]],
];

for (const [what, given, wanted] of cases) {
  Deno.test(`completionOf: ${what}`, () => {
    const { budget, isSettled, outdated } = completionOf(countsOf(given));
    deepEqual([budget, isSettled, outdated.status], wanted);
  });
}

Deno.test("completionOf: subtracts two joining nodes and one leaving node from a limit of 5", () =>
  equal(completionOf(countsOf({ joins: 2, leaves: 1 }), 5).budget, 2));

Deno.test("completionOf: counts the remaining nodes by their state, and names at most five nodes of unknown version", () => {
  const under = completionOf(countsOf({ outdated: 3, heirs: 1, leaves: 2 }));
  equal(under.outdated.message, "Nodes not up to date: 3 outdated, 1 replacing another node, 2 leaving");
  const { message } = completionOf(countsOf({ invalid: 7 })).outdated;
  equal(
    message,
    `Cannot determine the version of nodes ${[0, 1, 2, 3, 4].map((nth) => `"invalid-${nth}"`).join(", ")} and 2 more`,
  );
  const one = completionOf(countsOf({ invalid: 1 })).outdated;
  equal(one.message, 'Cannot determine the version of node "invalid-0"');
  equal(completionOf(countsOf({ upToDate: 1 })).outdated.message, "The node is up to date");
});
