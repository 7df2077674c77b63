// As a person runs it: a worker with a cloud's groups never stops reading, so its site is not shared.
import { keepsPromises } from "../integration/stories/told_story.ts";

Deno.test("deno task demo --story scaling-group: keeps every promise that it checks", () => {
  return keepsPromises("scaling-group");
});
