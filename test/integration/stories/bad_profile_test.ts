import { testStory } from "./told_story.ts";

testStory("bad-profile");
