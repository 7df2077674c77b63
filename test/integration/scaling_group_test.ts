/** Scaling groups are rolled on a real API server, a real Temporal, and a cloud that is played over HTTP. */
import { everyday, tellGroupStories } from "./group_stories.ts";

Deno.test("scaling groups are rolled as their NodeVersion says", (t) => tellGroupStories(t, everyday));
