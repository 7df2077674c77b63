import { deepEqual, equal } from "node:assert/strict";
import { JoinedNodes } from "../../../../activities/backends/joined_nodes.ts";

const web = { node: "w-1", pool: "fleet/web" };

Deno.test("JoinedNodes.place: reports a pool when a machine joins and when it is deleted, and nothing else", () => {
  const joined = new JoinedNodes();
  deepEqual(joined.place("fleet/m-1", undefined), []);
  deepEqual(joined.place("fleet/m-1", web), ["fleet/web"]);
  deepEqual(joined.place("fleet/m-1", { ...web }), []);
  deepEqual([joined.poolOf("w-1"), joined.nodesOf("fleet/web")], ["fleet/web", ["w-1"]]);
  deepEqual(joined.place("fleet/m-1", undefined), ["fleet/web"]);
  deepEqual([joined.poolOf("w-1"), joined.nodesOf("fleet/web")], [undefined, []]);
});

Deno.test("JoinedNodes.place: reports both pools when a machine moves to another pool", () => {
  const joined = new JoinedNodes();
  joined.place("fleet/m-1", web);
  deepEqual(joined.place("fleet/m-1", { ...web, pool: "fleet/db" }), ["fleet/web", "fleet/db"]);
  deepEqual([joined.nodesOf("fleet/web"), joined.nodesOf("fleet/db")], [[], ["w-1"]]);
});

Deno.test("JoinedNodes.poolOf: returns the pool of the new machine when a new machine has taken over the node name of an old one, which is deleted later", () => {
  const joined = new JoinedNodes();
  joined.place("fleet/old", web);
  joined.place("fleet/new", { ...web, pool: "fleet/db" });
  joined.place("fleet/old", undefined);
  equal(joined.poolOf("w-1"), "fleet/db");
});
