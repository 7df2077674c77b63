import { equal } from "node:assert/strict";
import { blockersText } from "../../../../../workflows/status/page/blockers.ts";

const why = "PodDisruptionBudget default/web allows 0 disruptions";
const web = { pod: "default/web-1", owner: "Deployment default/web", why };
const bare = { pod: "default/bare", owner: "", why: 'node "n" is unreachable' };

Deno.test("blockersText: names the first pod, its owner and the cause, and counts the others", () => {
  equal(blockersText([web]), `pod "default/web-1" of Deployment default/web (${why})`);
  equal(blockersText([web, bare, bare]), `pod "default/web-1" of Deployment default/web (${why}) and 2 more`);
  equal(blockersText([]), "");
});

Deno.test("blockersText: names only the pod when the pod does not have an owner", () => {
  equal(blockersText([bare]), 'pod "default/bare" (node "n" is unreachable)');
});
