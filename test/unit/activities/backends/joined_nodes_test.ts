import { deepEqual, equal } from "node:assert/strict";
import { JoinedNodes } from "../../../../activities/backends/joined_nodes.ts";

const web = { node: "w-1", pool: "fleet/web" };

Deno.test("JoinedNodes.place tells of a pool when a machine joins and when it goes, and of nothing else", () => {
  const joined = new JoinedNodes();
  deepEqual(joined.place("fleet/m-1", undefined), []);
  deepEqual(joined.place("fleet/m-1", web), ["fleet/web"]);
  deepEqual(joined.place("fleet/m-1", { ...web }), []);
  deepEqual([joined.poolOf("w-1"), joined.nodesOf("fleet/web")], ["fleet/web", ["w-1"]]);
  deepEqual(joined.place("fleet/m-1", undefined), ["fleet/web"]);
  deepEqual([joined.poolOf("w-1"), joined.nodesOf("fleet/web")], [undefined, []]);
});

Deno.test("JoinedNodes.place tells of both pools when a machine moves to another", () => {
  const joined = new JoinedNodes();
  joined.place("fleet/m-1", web);
  deepEqual(joined.place("fleet/m-1", { ...web, pool: "fleet/db" }), ["fleet/web", "fleet/db"]);
  deepEqual([joined.nodesOf("fleet/web"), joined.nodesOf("fleet/db")], [[], ["w-1"]]);
});

Deno.test("JoinedNodes.poolOf stays with the machine that took over a node's name before the old one was seen to go", () => {
  const joined = new JoinedNodes();
  joined.place("fleet/old", web);
  joined.place("fleet/new", { ...web, pool: "fleet/db" });
  joined.place("fleet/old", undefined);
  equal(joined.poolOf("w-1"), "fleet/db");
});
