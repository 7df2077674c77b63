/** What goes wrong with machines, clouds and people while a scaling group is rolled; each with the id of the fault that it answers. */
import { control, controlPlaneStories } from "./group_control_planes.ts";
import { cloudTroubles } from "./group_cloud_troubles.ts";
import { machineTroubles } from "./group_machine_troubles.ts";
import { alpha, tellGroupStories } from "./group_scene.ts";

Deno.test("a scaling group is rolled whatever befalls its machines", (t) =>
  tellGroupStories(t, { cast: [[alpha, 1]], stories: machineTroubles, mayRevive: true }));

Deno.test("a scaling group is rolled whatever its cloud does", (t) =>
  tellGroupStories(t, { cast: [[alpha, 1]], stories: cloudTroubles }));

Deno.test("workers beside control planes are rolled as far as these allow it", (t) =>
  tellGroupStories(t, { cast: [[alpha, 1], [control, 0]], stories: controlPlaneStories }));
