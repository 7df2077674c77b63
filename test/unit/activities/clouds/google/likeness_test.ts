import { equal, match, notEqual } from "node:assert/strict";
import { nameLike } from "../../../../../activities/clouds/google/templates.ts";

const properties = { machineType: "n2-standard-4" };

Deno.test("S4 templates: the name of a copy depends on the original's name and on the content, however often it is copied", () => {
  const first = nameLike({ name: "workers-template" }, properties);
  match(first, /^workers-template-o[0-9a-f]{12}$/);
  equal(nameLike({ name: first }, properties), first, "Names must not grow, and the same template must be made once");
  equal(nameLike({ name: "workers-template-17" }, properties).startsWith("workers-template-17-o"), true);
  notEqual(nameLike({ name: "workers-template" }, { machineType: "n2-standard-8" }), first);
  for (const name of ["a".repeat(63), `${"a".repeat(48)}-${"b".repeat(14)}`]) {
    match(nameLike({ name }, properties), /^[a-z]([-a-z0-9]{0,61}[a-z0-9])$/);
  }
});
