// Runs the story as a person does, in its own process: a worker with a cloud reads its groups without end, so it cannot
// share a test environment with other tests.
import { keepsPromises } from "../integration/stories/told_story.ts";

Deno.test("deno task demo --story scaling-group: keeps every promise that it checks", () => {
  return keepsPromises("scaling-group");
});
