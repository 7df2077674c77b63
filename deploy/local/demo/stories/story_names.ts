/** The stories besides the main job, by the names that `--story` takes. */
export const storyNames = [
  ...[
    "canary",
    "bad-image",
    "bad-profile",
    "pdb",
    "window",
    "abort",
    "scaling-group",
    "in-place",
    "installed",
  ] as const,
] as const;

export type StoryName = typeof storyNames[number];

/** Whether there is such a story. */
export function isStoryName(name: string): name is StoryName {
  return (storyNames as readonly string[]).includes(name);
}
