import { testStory } from "./told_story.ts";

testStory("in-place");
