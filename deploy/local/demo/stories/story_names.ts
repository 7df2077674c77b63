/** The names of the stories that `--story` accepts. */
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

/** Returns whether a name is the name of a story. */
export function isStoryName(name: string): name is StoryName {
  return (storyNames as readonly string[]).includes(name);
}
