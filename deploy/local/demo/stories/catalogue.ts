import { abort } from "./abort.ts";
import { badImage } from "./bad_image.ts";
import { badProfile } from "./bad_profile.ts";
import { canary } from "./canary.ts";
import { pdb } from "./pdb.ts";
import { installed } from "./installed.ts";
import { inPlace } from "./in_place/in_place.ts";
import { inPlaceOnMachines } from "./in_place/in_place_on_machines.ts";
import { scalingGroup } from "./scaling_group.ts";
import type { MachinesOption } from "../options.ts";
import type { Story } from "./story.ts";
import type { StoryName } from "./story_names.ts";
import { window } from "./window.ts";

/** All stories by their names. */
export const stories: Record<StoryName, Story> = {
  canary,
  "bad-image": badImage,
  "bad-profile": badProfile,
  pdb,
  window,
  abort,
  "scaling-group": scalingGroup,
  "in-place": inPlace,
  installed,
};

/** The story of that name, as it is told of such machines. */
export function storyOf(name: StoryName, machines: MachinesOption): Story {
  return name === "in-place" && machines === "container" ? inPlaceOnMachines : stories[name];
}
