import { abort } from "./abort.ts";
import { badImage } from "./bad_image.ts";
import { badProfile } from "./bad_profile.ts";
import { canary } from "./canary.ts";
import { pdb } from "./pdb.ts";
import { installed } from "./installed.ts";
import { scalingGroup } from "./scaling_group.ts";
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
  installed,
};
