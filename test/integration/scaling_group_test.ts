/** Scaling groups are rolled on a real API server, a real Temporal, and a cloud simulated over HTTP. */
import { image } from "../support/group_everyday.ts";
import { alpha, beta } from "../support/group_story.ts";
import { tellGroupStories } from "./group_scene.ts";
import { troubles } from "./group_troubles.ts";

const F1 =
  "F1, K10, K24, K25 two groups take another image; new nodes have the labels of old ones, and the autoscaler is on again";

Deno.test("scaling groups: machines are replaced as their NodeVersion defines", (t) =>
  tellGroupStories(t, { cast: [[alpha, 2], [beta, 0]], stories: [[F1, image]] }));

Deno.test("scaling groups: machines are replaced despite failures of machines, the cloud and the API server", (t) =>
  tellGroupStories(t, { cast: [[alpha, 1]], stories: troubles, mayRevive: true }));
