/** Scaling groups are rolled on a real API server, a real Temporal, and a cloud that is played over HTTP. */
import { alpha, beta, tellGroupStories } from "./group_scene.ts";
import { everyday } from "./group_stories.ts";

Deno.test("scaling groups are rolled as their NodeVersion says", (t) =>
  tellGroupStories(t, { cast: [[alpha, 2], [beta, 0]], stories: everyday }));
