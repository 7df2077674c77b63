import { equal, match, notEqual } from "node:assert/strict";
import { nameLike } from "../../../../../activities/clouds/google/templates.ts";

const properties = { machineType: "n2-standard-4" };

Deno.test("S4 a template is named after the one that it comes from and by what it is, however often that is done", () => {
  const first = nameLike({ name: "workers-template" }, properties);
  match(first, /^workers-template-o[0-9a-f]{12}$/);
  equal(nameLike({ name: first }, properties), first, "names do not grow, and the same is made once");
  equal(nameLike({ name: "workers-template-17" }, properties).startsWith("workers-template-17-o"), true);
  notEqual(nameLike({ name: "workers-template" }, { machineType: "n2-standard-8" }), first);
  for (const name of ["a".repeat(63), `${"a".repeat(48)}-${"b".repeat(14)}`]) {
    match(nameLike({ name }, properties), /^[a-z]([-a-z0-9]{0,61}[a-z0-9])$/);
  }
});
